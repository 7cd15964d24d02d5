"""Elections and stores in memory (scenarios B, C, D)."""

from __future__ import annotations

import pytest

from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from tests.runtime.helpers import job_graph, settle

pytestmark = pytest.mark.slow


class Contender:
    def __init__(self) -> None:
        self.sessions: list[str | None] = []

    def grant_leadership(self, session_id: str) -> None:
        self.sessions.append(session_id)

    def revoke_leadership(self) -> None:
        self.sessions.append(None)


class Listener:
    def __init__(self) -> None:
        self.leaders: list[tuple[str | None, str | None]] = []

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        self.leaders.append((address, session_id))


@pytest.fixture
def ha() -> EmbeddedHaServices:
    return EmbeddedHaServices()


async def test_the_address_is_visible_after_the_confirmation_only(ha: EmbeddedHaServices) -> None:  # D01 D02 D08
    contender, listener = Contender(), Listener()
    election = ha.leader_election("x")
    ha.leader_retrieval("x").start(listener)
    await election.start(contender)
    await settle()
    (session_id,) = contender.sessions
    assert listener.leaders == []
    election.confirm_leadership("another", "nowhere")
    election.confirm_leadership(session_id, "here")
    election.confirm_leadership(session_id, "here")
    await settle()
    assert listener.leaders == [("here", session_id)]


async def test_a_revocation_clears_the_address_and_late_confirmations_are_ignored(
    ha: EmbeddedHaServices,
) -> None:  # D03 D04 D05
    contender, listener = Contender(), Listener()
    election = ha.leader_election("x")
    ha.leader_retrieval("x").start(listener)
    await election.start(contender)
    await settle()
    first = contender.sessions[0]
    election.confirm_leadership(first, "here")
    await settle()
    ha.revoke_leadership("x")
    await settle()
    election.confirm_leadership(first, "here")
    ha.grant_leadership("x")
    await settle()
    assert listener.leaders == [("here", first), (None, None)]
    assert contender.sessions[1] is None
    assert contender.sessions[2] not in {None, first}


async def test_a_stopped_contender_is_not_called_and_the_next_leads(ha: EmbeddedHaServices) -> None:  # D07
    one, two = Contender(), Contender()
    election = ha.leader_election("x")
    await election.start(one)
    await ha.leader_election("x").start(two)
    await election.close()
    await settle()
    assert one.sessions == []
    assert len(two.sessions) == 1


class Process:
    address = "here"

    def __init__(self, session_id: str, log: list[str]) -> None:
        self.session_id = session_id
        self.log = log

    async def start(self) -> None:
        self.log.append("start")

    async def stop(self) -> None:
        await settle(5)
        self.log.append("stop")


async def test_a_new_process_starts_only_after_the_old_one_stopped(ha: EmbeddedHaServices) -> None:  # D13 E03
    log: list[str] = []

    async def create(session_id: str) -> Process:
        log.append("create")
        return Process(session_id, log)

    runner = LeaderRunner(ha.leader_election("x"), create, print)
    await runner.start()
    await settle()
    ha.revoke_leadership("x")
    ha.grant_leadership("x")
    await settle()
    assert log == ["create", "start", "stop", "create", "start"]
    await runner.close()
    assert log[-1] == "stop"


async def test_an_outdated_leadership_grant_creates_no_job_master(ha: EmbeddedHaServices) -> None:  # D14 E19
    made: list[str] = []

    async def create(session_id: str) -> Process:
        made.append(session_id)
        return Process(session_id, [])

    runner = LeaderRunner(ha.leader_election("x"), create, print)
    await runner.start()
    ha.revoke_leadership("x")
    ha.grant_leadership("x")
    await settle()
    assert len(made) == 1
    await runner.close()


async def test_a_leader_that_lost_its_session_while_starting_is_not_published(
    ha: EmbeddedHaServices,
) -> None:  # E05 D15
    listener = Listener()
    ha.leader_retrieval("x").start(listener)

    class Slow(Process):
        async def start(self) -> None:
            ha.revoke_leadership("x")

    async def create(session_id: str) -> Process:
        return Slow(session_id, [])

    runner = LeaderRunner(ha.leader_election("x"), create, print)
    await runner.start()
    await settle()
    assert listener.leaders == []
    await runner.close()


async def test_a_job_put_twice_is_replaced_and_removed_for_all(ha: EmbeddedHaServices) -> None:  # B02 B05 B07
    store, first, second = ha.job_graph_store, job_graph(("a", 1, [])), job_graph(("b", 1, []))
    await store.put(first)
    await store.put(second)
    assert await store.job_ids() == (first.job_id,)
    assert await store.recover(first.job_id) is second
    await store.release(first.job_id)
    assert await store.recover(first.job_id) is second
    await store.remove(first.job_id)
    await store.remove(first.job_id)
    assert await store.recover(first.job_id) is None


async def test_a_result_is_dirty_until_it_is_marked_clean(ha: EmbeddedHaServices) -> None:  # C06 C07
    store, result = ha.job_result_store, JobResult("j", JobStatus.FINISHED, 1)
    with pytest.raises(KeyError):
        await store.mark_result_as_clean("j")
    await store.create_dirty_result(result)
    with pytest.raises(ValueError, match="a job ends only once"):
        await store.create_dirty_result(result)
    assert await store.dirty_results() == (result,)
    await store.mark_result_as_clean("j")
    await store.mark_result_as_clean("j")
    assert await store.dirty_results() == ()
    assert await store.has_job_result("j")
