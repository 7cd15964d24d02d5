"""TaskExecutor and its slots (scenarios L)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.high_availability import RESOURCE_MANAGER
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotAllocationError,
    TaskNotFoundError,
    TaskSlotRequest,
    TaskSubmissionError,
)
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster, gateway_of, slots_available


async def test_only_the_present_resource_manager_gives_slots_away(cluster: Cluster) -> None:  # L01
    with pytest.raises(SlotAllocationError, match="not at former, which asked for slot 0"):
        await (await gateway_of(cluster)).request_slot(TaskSlotRequest(0, "job", "a", "former"))
    assert cluster.runners["tm"].slots == {}


async def test_an_unused_slot_is_freed_after_its_timeout(cluster: Cluster) -> None:  # L09
    session_id = cluster.task_executors["tm"]._resource_manager.session_id
    assert session_id is not None
    await (await gateway_of(cluster)).request_slot(TaskSlotRequest(0, "no such job", "a", session_id))
    await settle()
    assert cluster.runners["tm"].slots == {"a": 0}
    await cluster.advance(10)
    assert cluster.runners["tm"].slots == {}


async def test_an_accepted_slot_is_kept(cluster: Cluster) -> None:  # L06 L08
    await cluster.submit(job_graph(("a", 2, [])))
    await cluster.advance(20)
    assert len(cluster.runners["tm"].slots) == 2
    assert await slots_available(cluster) == 0


async def test_invalid_submissions_are_rejected(cluster: Cluster) -> None:  # L14 L15
    await cluster.submit(job_graph(("a", 1, [])))
    (tdd,) = cluster.runners["tm"].deployed
    gateway = await gateway_of(cluster)
    job_master_id = cluster.task_executors["tm"]._jobs.session_id(tdd.job_id)
    assert job_master_id is not None
    for changed, by, text in (
        ({"job_id": "other"}, job_master_id, "has no connection to a JobMaster of job other"),
        ({}, "former", "not at former, which submitted a"),
        ({"allocation_id": "x"}, job_master_id, "allocation x is not a slot of job"),
        ({}, job_master_id, "runs execution attempt .* already"),
    ):
        with pytest.raises(TaskSubmissionError, match=text):
            await gateway.submit_task(replace(tdd, **changed), by)


async def test_an_unknown_task_cannot_be_cancelled(cluster: Cluster) -> None:  # L25
    with pytest.raises(TaskNotFoundError, match="taskmanager-tm runs no execution attempt nothing"):
        await (await gateway_of(cluster)).cancel_task("nothing")


async def test_a_freed_slot_fails_its_tasks_and_is_reported(cluster: Cluster) -> None:  # L10 L11
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    (tdd,) = cluster.runners["tm"].deployed
    await (await gateway_of(cluster)).free_slot(tdd.allocation_id, "test")
    await settle()
    result = await cluster.gateway.request_job_result(job_id)
    assert result.failure is not None
    assert result.failure.message == "the slot was freed: test"
    assert await slots_available(cluster) == 2
    assert job_id not in cluster.task_executors["tm"]._jobs


async def test_slots_the_job_master_does_not_know_are_freed(cluster: Cluster) -> None:  # L23
    job_id = await cluster.submit(job_graph(("a", 2, [])))
    kept, lost = cluster.runners["tm"].deployed
    await (await gateway_of(cluster)).heartbeat_from_job_master(job_id, (SlotOffer(kept.allocation_id, 0),))
    await settle()
    assert lost.allocation_id not in cluster.runners["tm"].slots


async def test_a_new_resource_manager_learns_of_the_slots_and_the_job_continues(
    cluster: Cluster,
) -> None:  # L20 K20 J09
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    cluster.ha.revoke_leadership(RESOURCE_MANAGER)
    await settle()
    cluster.ha.grant_leadership(RESOURCE_MANAGER)
    await settle()
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING
    assert await slots_available(cluster) == 1


async def test_an_unexpected_report_is_answered_by_giving_the_task_up(cluster: Cluster) -> None:  # N07 E16
    await cluster.submit(job_graph(("a", 1, [])))
    (tdd,) = cluster.runners["tm"].deployed
    cluster.runners["tm"].listener.task_state_changed(tdd.execution_attempt_id, ExecutionState.RUNNING)
    await settle()
    assert cluster.runners["tm"].cancelled == [tdd.execution_attempt_id]
