"""What a client reports that waits for a job of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from firesteel.client.progress import progress_reporter, set_progress_reporter
from firesteel.client.progress_reporter import Restart
from firesteel.client.remote_job_client import RemoteJobClient
from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.rest.progress_message import details_of, progress_of
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import JobDetails, JobVertexDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from tests.rest.rest_cluster import LOCAL_TOKEN, Rest
from tests.runtime.helpers import job_graph, settle


class Recorded:
    """A reporter that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def serves(self, address: str) -> None:
        raise AssertionError(address)

    def detached(self, job_id: str) -> None:
        raise AssertionError(job_id)

    def submitted(self, job_id: str) -> None:
        self._tell("submitted")

    def restarts(self, restart: Restart) -> None:
        self._tell(str(restart))

    def progressed(self, details: JobDetails) -> None:
        self._tell(details.status.name)

    def ended(self, details: JobDetails) -> None:
        self._tell(f"ended {details.status.name}, {details.vertices[0].tasks}")

    def _tell(self, text: str) -> None:
        self.told += [text] if self.told[-1:] != [text] else []


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    before, reporter = progress_reporter(), Recorded()
    set_progress_reporter(reporter)
    yield reporter
    set_progress_reporter(before)


async def until(recorded: Recorded, told: str) -> None:
    for _ in range(100):
        await asyncio.sleep(0.05)
        if recorded.told[-1:] == [told]:
            return
    raise AssertionError(recorded.told)


async def test_a_job_of_a_cluster_is_followed_to_its_end(rest: Rest, recorded: Recorded) -> None:
    job = job_graph(("source", 1, []), name="job")
    job.configuration["restart-strategy.type"] = "fixed-delay"
    cluster = RestClusterClient(rest.server.address, LOCAL_TOKEN)
    client = await asyncio.to_thread(RemoteJobClient, cluster, job)
    waited = asyncio.create_task(asyncio.to_thread(client.wait))
    await settle()  # Before time passes: calls under way would take too long.
    await rest.cluster.advance(10)
    await until(recorded, "RUNNING")
    await rest.cluster.fail_query(TaskFailure("ValueError: bad", operator_name="Map"))
    await until(recorded, "RESTARTING")
    rest.cluster.clock.advance(2)
    await until(recorded, "RUNNING")
    await asyncio.to_thread(cluster.cancel, job.job_id)
    await settle()
    with pytest.raises(Exception, match="cancelled"):
        await waited
    end = f"ended CANCELED, {{{ExecutionState.CANCELED!r}: 1}}"
    restart = "restart 1: operator 'Map' failed: ValueError: bad"
    told = [one for one in recorded.told if one not in ("CREATED", "INITIALIZING", "CANCELLING")]
    assert told == ["submitted", "RUNNING", "RESTARTING", restart, "RUNNING", "CANCELED", end]


async def test_the_progress_of_an_unknown_job_is_an_error(rest: Rest) -> None:
    cluster = RestClusterClient(rest.server.address)
    with pytest.raises(ClusterClientError, match="there is no job"):
        await asyncio.to_thread(cluster.progress, "0" * 32)


def test_progress_goes_through_json() -> None:
    vertex = JobVertexDetails("v", "Source", 2, 128, {ExecutionState.RUNNING: 2}, 3, 4, 5, None, 6, 7, 8, 9, 0.5)
    failure = TaskFailure("ValueError: bad")
    details = JobDetails("a" * 32, "orders", JobStatus.RUNNING, {}, 1, None, 1500, 2, failure, (vertex,))
    assert details_of(progress_of(details)) == details  # type: ignore[arg-type]
