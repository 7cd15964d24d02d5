"""A JobMaster and its TaskExecutors (scenarios E)."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.jobmaster.job_master_gateway import (
    JobMasterGateway,
    TaskManagerRegistrationSuccess,
    UnknownTaskManagerError,
)
from firesteel.runtime.registration.retrying_registration import Declined
from firesteel.runtime.rpc.rpc_errors import EndpointStoppedError, FencingTokenError
from firesteel.runtime.slotpool.slot import SlotOffer
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster


def job_master_of(cluster: Cluster, job: JobGraph) -> JobMaster:
    def terminated(job: ArchivedExecutionGraph) -> None:
        """Nobody waits for it."""

    return JobMaster(cluster.rpc, "session-1", job, cluster.ha, cluster.data_plane, {}, terminated)


async def gateway_of(cluster: Cluster, job_master: JobMaster) -> JobMasterGateway:
    gateway: JobMasterGateway = await cluster.rpc.connect(job_master.address, JobMasterGateway, "session-1")
    return gateway


async def test_a_second_start_changes_nothing(cluster: Cluster) -> None:  # E10
    job_master = job_master_of(cluster, job_graph(("a", 1, [])))
    await job_master.start()
    await settle()
    events = len(job_master.graph.history)
    await job_master.start()
    await settle()
    assert len(job_master.graph.history) == events
    assert job_master.graph.status is JobStatus.RUNNING
    await job_master.stop()


async def test_a_suspended_job_cancels_its_requests_and_keeps_its_slots(cluster: Cluster) -> None:  # E13 E12
    job_id = await cluster.submit(job_graph(("a", 3, [])))
    address = next(address for address in cluster.rpc._servers if address.startswith("jobmanager-"))
    job_master = cluster.rpc._servers[address]
    assert isinstance(job_master, JobMaster)
    slots = dict(cluster.runners["tm"].slots)
    assert len(slots) == 2
    gateway: JobMasterGateway = await cluster.rpc.connect(address, JobMasterGateway, job_master.fencing_token)
    await job_master.stop()
    await settle()
    assert job_master.graph.status is JobStatus.SUSPENDED
    assert job_master.pool.slots() == []
    assert job_master.fencing_token is None
    assert job_master._resource_manager.gateway is None
    assert cluster.runners["tm"].slots == slots
    with pytest.raises(EndpointStoppedError):
        await gateway.request_job_status()
    events = len(job_master.graph.history)
    await job_master.stop()
    assert len(job_master.graph.history) == events
    assert job_id == job_master.job_id


async def test_a_suspended_endpoint_has_no_token_that_calls_could_carry(cluster: Cluster) -> None:  # E13
    job_master = job_master_of(cluster, job_graph(("a", 1, [])))
    await job_master.start()
    await job_master.on_stop()
    with pytest.raises(FencingTokenError):
        await (await gateway_of(cluster, job_master)).request_job_status()
    await job_master.stop()


async def test_a_task_executor_registers_once_under_the_same_job_master(cluster: Cluster) -> None:  # E14
    job_master = job_master_of(cluster, job_graph(("a", 1, [])))
    await job_master.start()
    gateway = await gateway_of(cluster, job_master)
    success = TaskManagerRegistrationSuccess(job_master.job_id, "session-1")
    for _ in range(2):
        assert await gateway.register_task_manager("tm", "taskmanager-tm", "host") == success
    assert job_master.pool.task_managers == {"tm"}
    await job_master.stop()


async def test_a_task_executor_that_cannot_be_reached_is_declined(cluster: Cluster) -> None:  # E14
    job_master = job_master_of(cluster, job_graph(("a", 1, [])))
    await job_master.start()
    gateway = await gateway_of(cluster, job_master)
    answer = await gateway.register_task_manager("other", "nowhere")
    assert isinstance(answer, Declined)
    assert "can't connect to the TaskExecutor at nowhere" in answer.reason
    assert job_master.pool.task_managers == frozenset()
    await job_master.stop()


async def test_slot_reports_of_an_unregistered_task_executor_change_nothing(cluster: Cluster) -> None:  # E15
    job_master = job_master_of(cluster, job_graph(("a", 2, [])))
    await job_master.start()
    gateway = await gateway_of(cluster, job_master)
    await gateway.register_task_manager("tm", "taskmanager-tm")
    await gateway.offer_slots("tm", (SlotOffer("x", 0),))
    with pytest.raises(UnknownTaskManagerError, match="TaskExecutor other is not registered"):
        await gateway.offer_slots("other", (SlotOffer("y", 0),))
    await gateway.fail_slot("other", "x", "no reason")
    assert [slot.allocation_id for slot in job_master.pool.slots()] == ["x"]
    await job_master.stop()


async def test_a_listener_that_exits_changes_neither_the_job_nor_the_jobmanager(cluster: Cluster) -> None:
    cluster.listener.job_status_changed = lambda job_id, event: sys.exit(3)  # type: ignore[method-assign]
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    await cluster.finish_query()
    assert (await cluster.gateway.request_job_result(job_id)).status is JobStatus.FINISHED


async def test_a_failed_check_of_idle_slots_does_not_end_later_ones(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    dispatcher: Any = cluster.dispatcher._process
    checks: list[float] = []

    def fail(now_s: float, idle_timeout_s: float) -> None:
        checks.append(now_s)
        raise RuntimeError("unexpected")

    monkeypatch.setattr(dispatcher._runners[job_id]._job_master.pool, "release_idle", fail)
    for count in (1, 2):
        with pytest.raises(RuntimeError, match="unexpected"):
            await cluster.advance(50)
        assert len(checks) == count


async def test_tasks_get_options_of_the_cluster_that_the_job_graph_does_not_record(clock: ManualClock) -> None:
    secret = {"s3.secret-key": "hidden"}
    cluster = Cluster(clock, {**secret, "task.cancellation.timeout": "1 s", "security.rest.token.admin": "t" * 16})
    await cluster.start(tm=1)
    job = job_graph(("a", 1, []), configuration={"task.cancellation.timeout": "2 s"})
    job_id = await cluster.submit(job)
    (task,) = cluster.runners["tm"].deployed
    assert task.configuration == {**secret, "task.cancellation.timeout": "2 s"}
    assert "hidden" not in str(pickle.loads(task.serialized_job_graph).configuration)
    stored = await cluster.ha.job_graph_store.recover(job_id)
    assert stored is not None
    assert stored.configuration == {"task.cancellation.timeout": "2 s"}
    assert "hidden" not in str(await cluster.gateway.request_job(job_id))
    await cluster.stop()
