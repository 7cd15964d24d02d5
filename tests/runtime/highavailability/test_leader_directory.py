"""Leader queries to the JobManager over TCP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from firesteel.runtime.highavailability import leader_directory
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.leader_directory import LeaderDirectory, StandaloneClientHaServices
from firesteel.runtime.rpc import TcpRpcService
from tests.runtime.highavailability.kinds import eventually
from tests.runtime.highavailability.test_contract import Contender, Listener

pytestmark = pytest.mark.slow

SECRET = b"sixteen bytes or more"


@pytest.fixture
async def job_manager() -> AsyncIterator[TcpRpcService]:
    service = TcpRpcService(SECRET)
    await service.start()
    yield service
    await service.stop()


async def test_other_processes_learn_of_a_leader_also_after_an_outage_of_the_job_manager(
    job_manager: TcpRpcService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_directory, "RETRY_DELAY_S", 0.01)
    ha, contender, listener = EmbeddedHaServices(), Contender(), Listener()
    await LeaderDirectory(job_manager, ha).start()
    client = TcpRpcService(SECRET)
    await client.start()
    retrieval = StandaloneClientHaServices(client, job_manager.address).leader_retrieval("x")
    retrieval.start(listener)
    election = ha.leader_election("x")
    await election.start(contender)
    await eventually(lambda: contender.session_id)
    leader = ("here", contender.session_id)
    election.confirm_leadership(str(contender.session_id), "here")
    await eventually(lambda: listener.leaders == [leader])
    ha.revoke_leadership("x")
    await eventually(lambda: listener.leaders == [leader, (None, None)])
    ha.grant_leadership("x")
    await eventually(lambda: len(contender.sessions) == 3)
    election.confirm_leadership(str(contender.session_id), "there")
    await eventually(lambda: listener.leaders[2:] == [("there", contender.session_id)])
    for connection in list(job_manager._incoming):
        connection._channel._writer.transport.abort()
    await eventually(lambda: listener.leaders[3:] == [(None, None), ("there", contender.session_id)])
    retrieval.stop()
    await client.stop()
