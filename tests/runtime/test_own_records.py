"""Jobs whose tasks move their records themselves, on a cluster in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from tests.plan import slot_programs
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster

GOLDEN = Path(__file__).parent.parent / "plan" / "golden"
RUNS = [
    # Cluster c3x2tasks spreads tasks over TaskManagers, which moves them to other slots.
    run
    for run in json.loads((GOLDEN / "slots.json").read_text())
    if run["slots"] and run["cluster"] == "a2x2"
]
ALWAYS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "1 s",
}


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    cluster = Cluster(clock, ALWAYS, has_queries=False)
    await cluster.start(tm1=2, tm2=2)
    yield cluster
    await cluster.stop()
    assert cluster.fatal_errors == []
    assert cluster.data_plane.queries == []


def golden_job(program: str) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"parallelism.default": "4"}))
    getattr(slot_programs, program)(env)
    return env.get_stream_graph().get_job_graph()


def running(cluster: Cluster) -> dict[str, str]:
    """Name and attempt of each task that runs -> the slot's TaskExecutor."""
    return {
        f"{tdd.vertex_name}#{tdd.subtask_index}/{tdd.attempt_number}": name
        for name, executor in cluster.task_executors.items()
        for tdd in cluster.runners[name].deployed
        if executor._table.slot_of_task(tdd.execution_attempt_id) is not None
    }


async def report(cluster: Cluster, name: str, state: ExecutionState, failure: TaskFailure | None = None) -> None:
    """Let the task of that name end."""
    for runner in cluster.runners.values():
        for tdd in runner.deployed:
            if f"{tdd.vertex_name}#{tdd.subtask_index}/{tdd.attempt_number}" == name:
                runner.listener.task_state_changed(tdd.execution_attempt_id, state, failure)
    await settle()


async def status(cluster: Cluster, job_id: str) -> JobStatus:
    return await cluster.gateway.request_job_status(job_id)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["program"])
async def test_subtasks_share_slots_as_on_a_flink_cluster(cluster: Cluster, run: dict[str, Any]) -> None:  # H20
    await cluster.submit(golden_job(run["program"]))
    shared: dict[str, list[str]] = {}
    for runner in cluster.runners.values():
        for tdd in runner.deployed:
            shared.setdefault(tdd.allocation_id, []).append(f"{tdd.vertex_name}#{tdd.subtask_index}")
    assert sorted(map(sorted, shared.values())) == sorted(map(sorted, run["slots"].values()))


async def test_tasks_that_finish_make_the_job_finish_and_give_their_slots_back(cluster: Cluster) -> None:  # O02 N12
    job_id = await cluster.submit(job_graph(("a", 2, [])))
    await report(cluster, "a#0/0", ExecutionState.FINISHED)
    assert await status(cluster, job_id) is JobStatus.RUNNING
    await report(cluster, "a#1/0", ExecutionState.FINISHED)
    assert await status(cluster, job_id) is JobStatus.FINISHED
    assert all(runner.slots == {} for runner in cluster.runners.values())


async def test_a_failed_pipeline_restarts_while_the_other_one_runs_on(cluster: Cluster) -> None:  # P05 P09
    job_id = await cluster.submit(job_graph(("a", 1, []), ("b", 1, []), groups={"a": "one", "b": "two"}))
    assert set(running(cluster)) == {"a#0/0", "b#0/0"}
    await report(cluster, "a#0/0", ExecutionState.FAILED, TaskFailure("ValueError: bad"))
    assert await status(cluster, job_id) is JobStatus.RESTARTING
    assert set(running(cluster)) == {"b#0/0"}
    await cluster.advance(1)
    assert await status(cluster, job_id) is JobStatus.RUNNING
    assert set(running(cluster)) == {"a#0/1", "b#0/0"}
    assert (await cluster.gateway.request_job_details(job_id)).restarts == 1


async def test_a_restarted_task_returns_to_its_task_executor(cluster: Cluster) -> None:  # I06 N12
    await cluster.submit(job_graph(("a", 4, [])))
    before = running(cluster)
    for index in (3, 0):
        await report(cluster, f"a#{index}/0", ExecutionState.FAILED, TaskFailure("bad"))
    await cluster.advance(1)
    after = running(cluster)
    assert after["a#0/1"] == before["a#0/0"]
    assert after["a#3/1"] == before["a#3/0"]


async def test_results_lost_with_a_task_executor_are_produced_again(clock: ManualClock) -> None:  # P03 M11
    cluster = Cluster(clock, ALWAYS, has_queries=False)
    await cluster.start(tm1=1)
    job_id = await cluster.submit(job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "BLOCKING")]), job_type="BATCH"))
    await report(cluster, "a#0/0", ExecutionState.FINISHED)
    assert set(running(cluster)) == {"b#0/0"}
    await cluster.add_task_executor("tm2", 1)
    await cluster.task_executors.pop("tm1").stop()
    for _ in range(8):
        await cluster.advance(10)
    assert set(running(cluster)) == {"a#0/1"}
    await report(cluster, "a#0/1", ExecutionState.FINISHED)
    assert set(running(cluster)) == {"b#0/1"}
    await report(cluster, "b#0/1", ExecutionState.FINISHED)
    assert await status(cluster, job_id) is JobStatus.FINISHED
    await cluster.stop()


async def test_a_batch_region_waits_for_slots_that_others_will_leave(clock: ManualClock) -> None:  # M12 G06 G07
    cluster = Cluster(clock, {**ALWAYS, "slot.request.timeout": "10 s"}, has_queries=False)
    await cluster.start(tm1=1)
    job_id = await cluster.submit(job_graph(("a", 2, []), job_type="BATCH"))
    assert len(running(cluster)) == 1
    for _ in range(20):
        await cluster.advance(10)
    assert await status(cluster, job_id) is JobStatus.RUNNING
    (first,) = running(cluster)
    await report(cluster, first, ExecutionState.FINISHED)
    (second,) = running(cluster)
    assert first != second
    await report(cluster, second, ExecutionState.FINISHED)
    assert await status(cluster, job_id) is JobStatus.FINISHED
    await cluster.stop()


async def test_a_batch_region_that_never_fits_fails_after_the_timeout(clock: ManualClock) -> None:  # M12
    cluster = Cluster(clock, {"slot.request.timeout": "10 s"}, has_queries=False)
    await cluster.start(tm1=1)
    job = job_graph(("a", 2, []), ("b", 1, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), job_type="BATCH")
    job_id = await cluster.submit(job)
    await cluster.advance(10)
    result = await cluster.gateway.request_job_result(job_id)
    assert result.failure is not None
    assert "Slot request bulk is not fulfillable!" in result.failure.message
    assert "(tasks that need slots: 3, that obtained one: 2)" in result.failure.message
    await cluster.stop()


async def test_a_lazy_consumer_starts_with_the_first_record_of_its_producer(clock: ManualClock) -> None:  # M05
    cluster = Cluster(clock, {"jobmanager.scheduler.scheduling-strategy": "lazy-from-sources"}, has_queries=False)
    await cluster.start(tm1=4)
    await cluster.submit(job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "PIPELINED_BOUNDED")])))
    assert set(running(cluster)) == {"a#0/0"}
    (tdd,) = cluster.runners["tm1"].deployed
    cluster.runners["tm1"].listener.task_progress(tdd.execution_attempt_id, 5, 0)
    await cluster.advance(1)
    assert set(running(cluster)) == {"a#0/0"}
    cluster.runners["tm1"].listener.task_progress(tdd.execution_attempt_id, 6, 1)
    await cluster.advance(1)
    assert set(running(cluster)) == {"a#0/0", "b#0/0"}
    await cluster.stop()


async def test_slots_may_be_shared_by_locality(clock: ManualClock) -> None:  # H11
    options = {"jobmanager.scheduler.slot-sharing-strategy": "location-preferred"}
    cluster = Cluster(clock, options, has_queries=False)
    await cluster.start(tm1=2, tm2=2)
    inputs = [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]
    await cluster.submit(job_graph(("a", 4, []), ("b", 4, inputs), ("c", 2, inputs)))
    assert len(running(cluster)) == 10
    assert sorted(len(runner.slots) for runner in cluster.runners.values()) == [2, 2]
    await cluster.stop()
