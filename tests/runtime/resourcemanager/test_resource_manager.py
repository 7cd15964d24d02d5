"""ResourceManager: registration, and the life cycle of workers (scenarios K)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from firesteel.runtime.clock import ManualClock
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.process_usage import NO_USAGE, ProcessUsage
from firesteel.runtime.registration.retrying_registration import Declined, Rejected
from firesteel.runtime.resourcemanager.driver import WorkerListener
from firesteel.runtime.resourcemanager.resource_manager import ResourceManager
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    JobMasterRegistration,
    JobMasterRegistrationSuccess,
    ResourceManagerError,
    ResourceManagerGateway,
    TaskExecutorRegistration,
    TaskExecutorRegistrationSuccess,
)
from firesteel.runtime.resourcemanager.slot_report import (
    SlotReport,
    SlotRequest,
    SlotStatus,
    TaskExecutorHeartbeatPayload,
)
from firesteel.runtime.resourcemanager.workers import (
    FrameworkAction,
    ReleaseContainer,
    RequestContainers,
    StartProcess,
    StopProcess,
)
from firesteel.runtime.rpc import FencedRpcEndpoint, InMemoryRpcService, RpcEndpoint
from firesteel.runtime.slotpool.resource_profile import ANY, ResourceProfile
from firesteel.runtime.slotpool.slot import UnfulfillableSlotRequestError
from firesteel.runtime.taskexecutor.task_executor_gateway import TaskSlotRequest
from tests.runtime.helpers import settle

JOB = "job"


class Framework:
    """A cluster's framework that grants when the test says so."""

    worker_slot = ANY

    def __init__(self) -> None:
        self.actions: list[FrameworkAction] = []
        self.recovered: list[str] = []
        self.start_error: Exception | None = None
        self.listener: WorkerListener | None = None

    async def start(self, listener: WorkerListener) -> Sequence[str]:
        self.listener = listener
        return self.recovered

    async def perform(self, action: FrameworkAction) -> None:
        self.actions.append(action)
        if isinstance(action, StartProcess) and self.start_error is not None:
            raise self.start_error

    async def close(self) -> None:
        pass

    def of(self, kind: type) -> list[FrameworkAction]:
        return [action for action in self.actions if isinstance(action, kind)]


class SimulatedJobMaster(FencedRpcEndpoint):
    """Records the events that it receives."""

    def __init__(self, rpc: InMemoryRpcService, address: str, token: str) -> None:
        super().__init__(rpc, address, token)
        self.disconnected: list[str] = []
        self.failed: list[tuple[str, str]] = []

    async def heartbeat_from_resource_manager(self) -> None:
        pass

    async def disconnect_resource_manager(self, cause: str) -> None:
        self.disconnected.append(cause)

    async def notify_allocation_failure(self, allocation_id: str, cause: str) -> None:
        self.failed.append((allocation_id, cause))


USAGE = ProcessUsage(4, 1000, 300, 200, 1.5, 7)


class SimulatedTaskExecutor(RpcEndpoint):
    """Gives every slot."""

    def __init__(self, rpc: InMemoryRpcService, address: str) -> None:
        super().__init__(rpc, address)
        self.given: list[TaskSlotRequest] = []
        self.disconnected: list[str] = []
        self.is_releasable = True

    async def request_slot(self, request: TaskSlotRequest) -> None:
        self.given.append(request)

    async def heartbeat_from_resource_manager(self) -> TaskExecutorHeartbeatPayload:
        return TaskExecutorHeartbeatPayload(SlotReport(()), USAGE)

    async def can_be_released(self) -> bool:
        return self.is_releasable

    async def disconnect_resource_manager(self, cause: str) -> None:
        self.disconnected.append(cause)


class SlowRpcService(InMemoryRpcService):
    """Connecting takes a moment, as over a network."""

    async def connect(self, address: str, gateway_type: type, fencing_token: str | None = None) -> Any:
        await asyncio.sleep(0)
        return await super().connect(address, gateway_type, fencing_token)


class Managed:
    """A ResourceManager and the processes that register at it."""

    def __init__(self, driver: Framework | None, configuration: dict[str, str]) -> None:
        self.clock = ManualClock()
        self.rpc = SlowRpcService(self.clock, serialize_calls=True)
        self.ha = EmbeddedHaServices()
        self.errors: list[BaseException] = []
        self.manager = ResourceManager(
            self.rpc, "session", self.ha, configuration, driver, on_fatal_error=self.errors.append
        )
        self.gateway: ResourceManagerGateway

    async def start(self) -> None:
        await self.manager.start()
        self.gateway = await self.rpc.connect(self.manager.address, ResourceManagerGateway, "session")

    async def lead(self, address: str = "jobmaster") -> SimulatedJobMaster:
        """A JobMaster becomes the leader of the job."""
        election = self.ha.leader_election(JOB)
        contender = _Contender()
        await election.start(contender)
        await settle()
        job_master = SimulatedJobMaster(self.rpc, address, contender.session_id)
        await job_master.start()
        election.confirm_leadership(contender.session_id, address)
        self.election = election
        await settle()
        return job_master

    async def register_job_master(self, job_master: SimulatedJobMaster) -> object:
        assert job_master.fencing_token is not None
        registration = JobMasterRegistration(JOB, job_master.fencing_token, job_master.address)
        return await self.gateway.register_job_master(registration)

    async def register_worker(self, name: str, report: SlotReport) -> tuple[SimulatedTaskExecutor, str]:
        worker = SimulatedTaskExecutor(self.rpc, f"taskmanager-{name}")
        await worker.start()
        success = await self.gateway.register_task_executor(TaskExecutorRegistration(name, worker.address))
        assert isinstance(success, TaskExecutorRegistrationSuccess)
        await self.gateway.send_slot_report(name, success.instance_id, report)
        return worker, success.instance_id


class _Contender:
    session_id = ""

    def grant_leadership(self, session_id: str) -> None:
        self.session_id = session_id

    def revoke_leadership(self) -> None:
        pass


FREE = SlotReport((SlotStatus(0),))


def request(job_master: SimulatedJobMaster, allocation_id: str) -> SlotRequest:
    return SlotRequest(JOB, allocation_id, job_master.address)


@pytest.fixture
async def standalone() -> AsyncIterator[Managed]:
    cluster = Managed(None, {})
    await cluster.start()
    yield cluster
    await cluster.manager.stop()


@pytest.fixture
def framework() -> Framework:
    return Framework()


@pytest.fixture
async def active(framework: Framework) -> AsyncIterator[Managed]:
    """A cluster whose workers, with two slots each, come from a framework."""
    cluster = Managed(framework, {"taskmanager.numberOfTaskSlots": "2"})
    await cluster.start()
    yield cluster
    await cluster.manager.stop()


async def test_slots_are_given_to_registered_job_masters_of_the_right_session_only(standalone: Managed) -> None:  # K01
    job_master = await standalone.lead()
    with pytest.raises(ResourceManagerError, match="job job has no JobMaster registered"):
        await standalone.gateway.request_slot(job_master.fencing_token, request(job_master, "a"))
    await standalone.register_job_master(job_master)
    text = f"job job is led by JobMaster {job_master.fencing_token}, not by stranger"
    with pytest.raises(ResourceManagerError, match=text):
        await standalone.gateway.request_slot("stranger", request(job_master, "a"))
    worker, _ = await standalone.register_worker("tm", FREE)
    await standalone.gateway.request_slot(job_master.fencing_token, request(job_master, "a"))
    await settle()
    assert [given.allocation_id for given in worker.given] == ["a"]


async def test_only_the_leading_job_master_is_registered(standalone: Managed) -> None:  # K02
    job_master = await standalone.lead()
    stranger = SimulatedJobMaster(standalone.rpc, "stranger", "other-session")
    await stranger.start()
    declined = await standalone.register_job_master(stranger)
    assert isinstance(declined, Declined)
    assert "is led by JobMaster" in str(declined)
    assert await standalone.register_job_master(job_master) == JobMasterRegistrationSuccess("session")


async def test_a_job_master_that_cannot_be_reached_is_declined(standalone: Managed) -> None:  # K02
    job_master = await standalone.lead()
    await job_master.stop()
    assert isinstance(await standalone.register_job_master(job_master), Declined)


async def test_a_job_master_registers_again_without_effect_and_a_new_leader_replaces_it(
    standalone: Managed,
) -> None:  # K03
    first = await standalone.lead("first")
    for _ in range(2):
        assert await standalone.register_job_master(first) == JobMasterRegistrationSuccess("session")
    assert first.disconnected == []
    await standalone.election.close()
    second = await standalone.lead("second")
    assert await standalone.register_job_master(second) == JobMasterRegistrationSuccess("session")
    await settle()
    assert len(first.disconnected) == 1
    with pytest.raises(ResourceManagerError, match="not by"):
        await standalone.gateway.request_slot(first.fencing_token, request(first, "a"))


async def test_the_latest_of_overlapping_registrations_wins(standalone: Managed) -> None:  # K04
    worker = SimulatedTaskExecutor(standalone.rpc, "taskmanager")
    await worker.start()
    registration = TaskExecutorRegistration("tm", worker.address)
    first = standalone.gateway.register_task_executor(registration)
    second = standalone.gateway.register_task_executor(registration)
    assert isinstance(await first, Declined)
    assert isinstance(await second, TaskExecutorRegistrationSuccess)


async def test_a_task_executor_that_registers_again_is_a_new_instance(standalone: Managed) -> None:  # K05 K07 K08
    worker, former = await standalone.register_worker("tm", FREE)
    success = await standalone.gateway.register_task_executor(TaskExecutorRegistration("tm", worker.address))
    assert success.instance_id != former
    assert (await standalone.gateway.request_resource_overview()).slots_total == 0
    with pytest.raises(ResourceManagerError, match=f"instance {former} of TaskExecutor tm is not registered"):
        await standalone.gateway.send_slot_report("tm", former, FREE)
    await standalone.gateway.notify_slot_available(former, 0, "a")
    await standalone.gateway.notify_slot_available("nobody", 0, "a")


async def test_a_worker_that_the_framework_did_not_start_is_unrecognized(active: Managed) -> None:  # K06
    worker = SimulatedTaskExecutor(active.rpc, "taskmanager")
    await worker.start()
    declined = await active.gateway.register_task_executor(TaskExecutorRegistration("stranger", worker.address))
    assert isinstance(declined, Rejected)
    assert "unrecognized" in str(declined)


async def test_no_worker_is_requested_for_an_unfulfillable_profile(
    active: Managed, framework: Framework
) -> None:  # K09
    framework.worker_slot = ResourceProfile(cpu_cores=1)
    cluster = Managed(framework, {})
    await cluster.start()
    job_master = await cluster.lead()
    await cluster.register_job_master(job_master)
    big = SlotRequest(JOB, "a", job_master.address, ResourceProfile(cpu_cores=8))
    with pytest.raises(UnfulfillableSlotRequestError):
        await cluster.gateway.request_slot(job_master.fencing_token, big)
    assert framework.of(RequestContainers) == []
    await cluster.manager.stop()


async def asked_for(active: Managed, *allocations: str) -> SimulatedJobMaster:
    job_master = await active.lead()
    await active.register_job_master(job_master)
    for allocation_id in allocations:
        await active.gateway.request_slot(job_master.fencing_token, request(job_master, allocation_id))
    await settle()
    return job_master


async def test_requests_obtain_workers_whose_slots_serve_them(active: Managed, framework: Framework) -> None:  # K10 K13
    await asked_for(active, "a", "b", "c")
    assert framework.of(RequestContainers) == [RequestContainers(1), RequestContainers(1)]
    active.manager.containers_granted(["c1", "c2", "c3"], pending_at_framework=2)
    await settle()
    assert framework.of(StartProcess) == [StartProcess("c1"), StartProcess("c2")]
    assert framework.of(ReleaseContainer) == [ReleaseContainer("c3")]
    worker, _ = await active.register_worker("c1", SlotReport((SlotStatus(0), SlotStatus(1))))
    await settle()
    assert [given.allocation_id for given in worker.given] == ["a", "b"]


async def test_a_worker_that_does_not_start_is_replaced(active: Managed, framework: Framework) -> None:  # K12
    await asked_for(active, "a")
    framework.start_error = OSError("no disk")
    active.manager.containers_granted(["c1"])
    await settle()
    assert framework.of(ReleaseContainer) == [ReleaseContainer("c1")]
    assert framework.of(RequestContainers) == [RequestContainers(1), RequestContainers(1)]


async def test_a_worker_whose_container_ended_is_gone_at_once(active: Managed, framework: Framework) -> None:  # K14
    job_master = await asked_for(active, "a")
    active.manager.containers_granted(["c1"])
    worker, _ = await active.register_worker("c1", SlotReport((SlotStatus(0, JOB, "a"), SlotStatus(1))))
    active.manager.container_completed("c1", "out of memory")
    await settle()
    assert worker.disconnected == ["out of memory"]
    assert job_master.failed == [("a", "out of memory")]
    assert (await active.gateway.request_resource_overview()).task_managers == 0


async def test_a_container_that_ends_before_its_worker_registered_is_replaced(
    active: Managed, framework: Framework
) -> None:  # K14
    await asked_for(active, "a")
    active.manager.containers_granted(["c1"])
    active.manager.container_completed("c1", "evicted")
    await settle()
    assert framework.of(RequestContainers) == [RequestContainers(1), RequestContainers(1)]


async def test_idle_workers_are_stopped_and_their_containers_go_back(
    active: Managed, framework: Framework
) -> None:  # K15 J24
    framework.recovered = []
    await asked_for(active, "a")
    active.manager.containers_granted(["c1"])
    await active.gateway.cancel_slot_request("a")
    worker, _ = await active.register_worker("c1", SlotReport((SlotStatus(0), SlotStatus(1))))
    worker.is_releasable = False
    active.clock.advance(30)
    await settle()
    assert framework.of(StopProcess) == []
    worker.is_releasable = True
    active.clock.advance(30)
    await settle()
    assert framework.of(StopProcess) == [StopProcess("c1")]
    active.manager.container_completed("c1", "stopped")
    await settle()
    assert framework.of(RequestContainers) == [RequestContainers(1)]


async def test_a_different_count_at_the_framework_is_fatal(active: Managed) -> None:  # K16
    await asked_for(active, "a")
    active.manager.containers_granted(["c1"], pending_at_framework=7)
    assert [str(error) for error in active.errors] == ["1 workers are pending here, but 7 at the cluster's framework"]


async def test_workers_of_a_former_leader_register_again(framework: Framework) -> None:  # K18
    framework.recovered = ["old"]
    cluster = Managed(framework, {})
    await cluster.start()
    await cluster.register_worker("old", FREE)
    assert (await cluster.gateway.request_resource_overview()).slots_total == 1
    assert framework.of(RequestContainers) == []
    await cluster.manager.stop()


async def test_a_job_whose_leader_is_lost_is_disconnected(standalone: Managed) -> None:  # K03
    job_master = await standalone.lead()
    await standalone.register_job_master(job_master)
    await standalone.election.close()
    await settle()
    assert job_master.disconnected == ["its JobMaster is no longer the leader"]


async def test_heartbeats_tell_what_a_task_executor_uses(standalone: Managed) -> None:
    await standalone.register_worker("one", FREE)
    (info,) = await standalone.gateway.request_task_managers()
    assert info.usage == NO_USAGE
    standalone.clock.advance(10)
    await settle()
    (info,) = await standalone.gateway.request_task_managers()
    assert info.usage == USAGE


async def test_a_failed_periodic_check_does_not_end_later_ones(cluster: Managed) -> None:
    resource_manager: Any = cluster.resource_manager._process
    checks: list[float] = []

    def fail(now_s: float) -> None:
        checks.append(now_s)
        raise RuntimeError("unexpected")

    resource_manager._repeat(1, fail)
    for count in (1, 2):
        with pytest.raises(RuntimeError, match="unexpected"):
            await cluster.advance(1)
        assert len(checks) == count
