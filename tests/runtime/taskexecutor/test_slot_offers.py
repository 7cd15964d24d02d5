"""A TaskExecutor and the JobMasters that it offers slots to (scenarios L)."""

from __future__ import annotations

import asyncio

import pytest

from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.jobmaster.job_master_gateway import TaskManagerRegistrationSuccess
from firesteel.runtime.registration.leader_connection import LeaderConnection
from firesteel.runtime.resourcemanager.resource_manager import ResourceManager
from firesteel.runtime.rpc import FencedRpcEndpoint, InMemoryRpcService, RpcTimeoutError
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotAllocationError,
    TaskSlotRequest,
)
from tests.runtime.helpers import job_graph, settle
from tests.runtime.simulated import Cluster, gateway_of, slots_available


class PlayedJobMaster:
    """Answers offers as the test says."""

    def __init__(self, cluster: Cluster, job_id: str = "job") -> None:
        self.cluster = cluster
        self.job_id = job_id
        self.session_id = ""
        self.offers: list[list[str]] = []
        self.answers: list[asyncio.Future[object]] = []
        self.failed: list[str] = []

    async def register_task_manager(self, task_manager_id: str, address: str, host: str) -> object:
        return TaskManagerRegistrationSuccess(self.job_id, self.session_id)

    async def offer_slots(self, task_manager_id: str, offers: tuple[SlotOffer, ...]) -> object:
        self.offers.append([offer.allocation_id for offer in offers])
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return await answer

    async def fail_slot(self, task_manager_id: str, allocation_id: str, cause: str) -> None:
        self.failed.append(allocation_id)

    async def lead(self, session_id: str) -> None:
        """Become the leader of the job under a session."""
        self.session_id = session_id
        endpoint = PlayedEndpoint(self.cluster.rpc, f"played-{session_id}", session_id, self)
        await endpoint.start()
        for connection in self.connections():
            connection.notify_leader(endpoint.address, session_id)
        await settle()

    def connections(self) -> list[LeaderConnection[TaskManagerRegistrationSuccess]]:
        jobs = self.cluster.task_executors["tm"]._jobs._jobs
        return [jobs[self.job_id]] if self.job_id in jobs else []

    async def ask_for_slot(self, index: int, allocation_id: str) -> None:
        """Let the ResourceManager give a slot to the job."""
        session_id = self.cluster.task_executors["tm"]._resource_manager.session_id
        assert session_id is not None
        await (await gateway_of(self.cluster)).request_slot(
            TaskSlotRequest(index, self.job_id, allocation_id, session_id)
        )
        await settle()

    async def answer(self, *accepted: str, error: Exception | None = None, offer: int = -1) -> None:
        """Answer an offer, the last one unless another is named."""
        if error is not None:
            self.answers[offer].set_exception(error)
        else:
            self.answers[offer].set_result(tuple(SlotOffer(allocation_id, 0) for allocation_id in accepted))
        await settle()

    def states(self) -> dict[str, str]:
        slots = self.cluster.task_executors["tm"]._table.slots_of(self.job_id)
        return {slot.allocation_id: slot.state.name for slot in slots}


class PlayedEndpoint(FencedRpcEndpoint):
    def __init__(self, rpc: InMemoryRpcService, address: str, session_id: str, player: PlayedJobMaster) -> None:
        super().__init__(rpc, address, session_id)
        self.register_task_manager = player.register_task_manager
        self.offer_slots = player.offer_slots
        self.fail_slot = player.fail_slot


@pytest.fixture
async def job_master(cluster: Cluster) -> PlayedJobMaster:
    return PlayedJobMaster(cluster)


async def test_a_slot_is_offered_once_its_job_has_a_leader_and_then_at_once(job_master: PlayedJobMaster) -> None:  # L03
    await job_master.ask_for_slot(0, "a")
    assert job_master.offers == []
    await job_master.lead("one")
    assert job_master.offers == [["a"]]
    await job_master.answer("a")
    await job_master.ask_for_slot(1, "b")
    assert job_master.offers == [["a"], ["b"]]


async def test_the_slot_stays_free_if_the_leader_cannot_be_found(  # L03
    cluster: Cluster, job_master: PlayedJobMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(job_id: str) -> None:
        raise OSError("no such directory")

    monkeypatch.setattr(cluster.ha, "leader_retrieval", broken)
    with pytest.raises(SlotAllocationError, match="can't find the leader of job job; slot 0 stays free: no such"):
        await job_master.ask_for_slot(0, "a")
    assert job_master.states() == {}
    assert cluster.runners["tm"].slots == {}


async def test_all_slots_not_accepted_yet_are_offered_together(job_master: PlayedJobMaster) -> None:  # L04
    await job_master.ask_for_slot(0, "a")
    await job_master.lead("one")
    await job_master.ask_for_slot(1, "b")
    assert job_master.offers == [["a"], ["a", "b"]]
    await job_master.answer("a", "b")
    assert job_master.states() == {"a": "ACTIVE", "b": "ACTIVE"}


async def test_an_offer_without_answer_is_made_again(cluster: Cluster, job_master: PlayedJobMaster) -> None:  # L05
    await job_master.ask_for_slot(0, "a")
    await job_master.lead("one")
    await job_master.answer(error=RpcTimeoutError("no answer"))
    assert job_master.offers == [["a"], ["a"]]
    await job_master.answer(error=ValueError("no"))
    assert job_master.states() == {}
    assert cluster.runners["tm"].slots == {}
    assert await slots_available(cluster) == 2


async def test_slots_become_active_or_free_as_the_job_master_answers(job_master: PlayedJobMaster) -> None:  # L06
    await job_master.ask_for_slot(0, "a")
    await job_master.ask_for_slot(1, "b")
    await job_master.lead("one")
    await job_master.answer("b")
    assert job_master.states() == {"b": "ACTIVE"}


async def test_a_slot_accepted_after_it_was_freed_is_reported_failed(  # L06
    cluster: Cluster, job_master: PlayedJobMaster
) -> None:
    await job_master.ask_for_slot(0, "a")
    await job_master.ask_for_slot(1, "b")
    await job_master.lead("one")
    await (await gateway_of(cluster)).free_slot("a", "test")
    await settle()
    await job_master.answer("a", "b")
    assert job_master.failed == ["a"]


async def test_answers_of_former_leaders_and_to_former_offers_are_ignored(
    job_master: PlayedJobMaster,
) -> None:  # L07
    await job_master.ask_for_slot(0, "a")
    await job_master.lead("one")
    await job_master.lead("two")
    assert job_master.offers == [["a"], ["a"]]
    await job_master.answer(offer=0)
    assert job_master.states() == {"a": "ALLOCATED"}
    await job_master.ask_for_slot(1, "b")
    await job_master.answer(offer=1)
    assert job_master.states() == {"a": "ALLOCATED", "b": "ALLOCATED"}
    await job_master.answer("a", "b")
    assert job_master.states() == {"a": "ACTIVE", "b": "ACTIVE"}


async def test_the_same_leader_again_changes_nothing_and_another_one_takes_over(  # L17
    cluster: Cluster, job_master: PlayedJobMaster
) -> None:
    await job_master.ask_for_slot(0, "a")
    await job_master.lead("one")
    await job_master.answer("a")
    (connection,) = job_master.connections()
    connection.notify_leader("played-one", "one")
    await settle()
    assert job_master.states() == {"a": "ACTIVE"}
    assert job_master.offers == [["a"]]
    await job_master.lead("two")
    assert job_master.states() == {"a": "ALLOCATED"}
    assert job_master.offers == [["a"], ["a"]]


async def test_if_the_job_master_is_lost_tasks_end_and_slots_wait_for_the_next_one(  # L18 L19
    cluster: Cluster, job_master: PlayedJobMaster
) -> None:
    await cluster.submit(job_graph(("a", 1, [])))
    (tdd,) = cluster.runners["tm"].deployed
    job_master.job_id = tdd.job_id
    for connection in job_master.connections():
        connection.notify_leader(None, None)
    await settle()
    assert cluster.runners["tm"].cancelled == [tdd.execution_attempt_id]
    assert job_master.states() == {tdd.allocation_id: "ALLOCATED"}
    await cluster.advance(9)
    assert job_master.states() == {tdd.allocation_id: "ALLOCATED"}
    await cluster.advance(1)
    assert job_master.states() == {}


async def test_a_silent_job_master_is_disconnected_and_registered_at_again(  # L21
    cluster: Cluster, job_master: PlayedJobMaster
) -> None:
    await job_master.ask_for_slot(0, "a")
    await job_master.lead("one")
    await job_master.answer("a")
    await cluster.advance(49)
    assert job_master.states() == {"a": "ACTIVE"}
    await cluster.advance(1)
    assert job_master.states() == {"a": "ALLOCATED"}
    assert job_master.offers == [["a"], ["a"]]
    await job_master.answer("a")
    assert job_master.states() == {"a": "ACTIVE"}


async def test_a_silent_resource_manager_is_disconnected_while_tasks_continue(cluster: Cluster) -> None:  # L21
    job_id = await cluster.submit(job_graph(("a", 1, [])))
    executor, slots = cluster.task_executors["tm"], dict(cluster.runners["tm"].slots)
    address = next(name for name in cluster.rpc._servers if name.startswith("resourcemanager-"))
    resource_manager = cluster.rpc._servers[address]
    assert isinstance(resource_manager, ResourceManager)
    resource_manager._worker_heartbeats.stop()
    cluster.rpc.unregister(address)
    for _ in range(4):
        await cluster.advance(10)
        assert executor._resource_manager.gateway is not None
    await cluster.advance(10)
    assert executor._resource_manager.gateway is None  # It looks for it again.
    assert cluster.runners["tm"].cancelled == []
    assert cluster.runners["tm"].slots == slots
    assert await cluster.gateway.request_job_status(job_id) is JobStatus.RUNNING


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def job_master_gained_leadership(self, job_id: str, gateway: object, success: object) -> None:
        self.heard.append(f"gained {job_id}")

    def job_master_lost_leadership(self, job_id: str, cause: str) -> None:
        self.heard.append(f"lost {job_id}: {cause}")


async def test_the_job_leader_service_tells_one_listener_of_each_job(  # L19
    cluster: Cluster, job_master: PlayedJobMaster
) -> None:
    service = cluster.task_executors["tm"]._jobs
    first, second = Listener(), Listener()
    service.add_job("job", first)
    await job_master.lead("one")
    assert first.heard == ["gained job"]
    service.add_job("job", second)
    await job_master.lead("two")
    assert (first.heard, second.heard) == (["gained job"], ["gained job"])
    (connection,) = job_master.connections()
    connection.notify_leader(None, None)
    assert second.heard == ["gained job", "lost job: the leader changed"]
    assert service.gateway("job") is None
    await job_master.lead("three")
    assert second.heard[2:] == ["gained job"]
    service.remove_job("job", "over", tell=False)
    connection.notify_leader("played-two", "two")
    await settle()
    assert second.heard[3:] == []
    assert "job" not in service
