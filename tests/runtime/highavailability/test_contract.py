"""The contract of every kind of high availability (scenarios B, C, D)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import (
    HaStores,
    HighAvailabilityServices,
    JobGraphStore,
    LeaderElection,
)
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.running_jobs_registry import JobSchedulingStatus
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import Embedded, FileSystem, Kind, ObjectStore, ZooKeeper, eventually

pytestmark = pytest.mark.slow


class Contender:
    """Remembers its sessions; None: it was revoked."""

    def __init__(self) -> None:
        self.sessions: list[str | None] = []

    def grant_leadership(self, session_id: str) -> None:
        self.sessions.append(session_id)

    def revoke_leadership(self) -> None:
        self.sessions.append(None)

    @property
    def session_id(self) -> str | None:
        return self.sessions[-1] if self.sessions else None


class Listener:
    def __init__(self) -> None:
        self.leaders: list[tuple[str | None, str | None]] = []
        self.added: list[str] = []
        self.removed: list[str] = []

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        self.leaders.append((address, session_id))

    def on_added_job_graph(self, job_id: str) -> None:
        self.added.append(job_id)

    def on_removed_job_graph(self, job_id: str) -> None:
        self.removed.append(job_id)


@pytest.fixture(params=["embedded", "filesystem", "object store", "zookeeper"])
async def kind(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kind]:
    kind: Kind = {
        "embedded": Embedded,
        "filesystem": lambda: FileSystem(tmp_path / "ha" / "cluster"),
        "object store": lambda: ObjectStore(request.getfixturevalue("bucket")),
        "zookeeper": lambda: ZooKeeper(request.getfixturevalue("zookeeper_server").address, tmp_path / "files"),
    }[request.param]()
    yield kind
    for process in kind.processes:
        await process.close()


async def leading(process: HighAvailabilityServices, component: str = "x") -> tuple[LeaderElection, Contender, str]:
    """A contender of the process, once it leads."""
    election, contender = process.leader_election(component), Contender()
    await election.start(contender)
    await eventually(lambda: contender.session_id, "the grant")
    assert contender.session_id is not None
    return election, contender, contender.session_id


def retrieving(process: HighAvailabilityServices, component: str = "x") -> Listener:
    listener = Listener()
    process.leader_retrieval(component).start(listener)
    return listener


def tools(kind: Kind, **options: bool) -> HaStores:
    """The stores without a leader session; the job graph store runs."""
    stores = kind.process(**options).stores(None)
    stores.job_graphs.start()
    return stores


def jobs(kind: Kind, listener: Listener | None = None) -> JobGraphStore:
    store = kind.process().stores(None).job_graphs
    store.start(listener)
    return store


async def test_the_address_is_visible_in_other_processes_after_the_confirmation(kind: Kind) -> None:  # D01 D02 D08
    listener = retrieving(kind.process())
    election, _, session_id = await leading(kind.process())
    election.confirm_leadership("another", "nowhere")
    election.confirm_leadership(session_id, "here")
    election.confirm_leadership(session_id, "here")
    election.confirm_leadership(session_id, "there")
    await eventually(lambda: ("there", session_id) in listener.leaders)
    assert [leader for leader in listener.leaders if leader != ("here", session_id)] == [("there", session_id)]
    assert listener.leaders.count(("here", session_id)) <= 1


async def test_the_second_process_becomes_leader_when_the_first_leaves(kind: Kind) -> None:  # D04 D05 D07
    one, two = kind.process(), kind.process()
    election, first, session_id = await leading(one)
    listener, second = retrieving(two), Contender()
    await two.leader_election("x").start(second)
    election.confirm_leadership(session_id, "one")
    await eventually(lambda: listener.leaders == [("one", session_id)])
    assert second.sessions == []
    await election.close()
    await eventually(lambda: second.session_id is not None)
    assert second.session_id != session_id
    await eventually(lambda: listener.leaders[-1] == (None, None))
    assert first.sessions == [session_id]


async def test_a_deposed_leader_is_notified_and_cannot_confirm_any_more(kind: Kind) -> None:  # D03 D04 D15
    one, two = kind.process(), kind.process()
    election, first, session_id = await leading(one)
    second = Contender()
    await two.leader_election("x").start(second)
    await kind.depose(one)
    election.confirm_leadership(session_id, "too late")
    await eventually(lambda: None in first.sessions, "the revocation")
    await eventually(lambda: second.session_id)
    election.confirm_leadership(session_id, "too late")
    election_of_two: Any = two.leader_election("y")
    await election_of_two.start(Contender())
    listener = retrieving(kind.process(), "y")
    await eventually(lambda: election_of_two.has_leadership(second.session_id))
    election_of_two.confirm_leadership(second.session_id, "two")
    await eventually(lambda: listener.leaders == [("two", second.session_id)])
    assert retrieving(kind.process()).leaders == []


async def test_all_components_of_a_process_lead_in_one_session_and_later_ones_at_once(kind: Kind) -> None:  # D16
    process, other = kind.process(), Contender()
    dispatcher, resource_manager, job = Contender(), Contender(), Contender()
    await process.leader_election("dispatcher").start(dispatcher)
    await process.leader_election("resource_manager").start(resource_manager)
    await eventually(lambda: dispatcher.session_id and resource_manager.session_id)
    election = process.leader_election("job")
    await election.start(job)
    await eventually(lambda: job.session_id)
    assert dispatcher.session_id == resource_manager.session_id == job.session_id
    with pytest.raises(ValueError, match="'job' of this process already takes part in the election"):
        await process.leader_election("job").start(Contender())
    await kind.process().leader_election("job").start(other)
    await election.close()  # The process still leads with its other components.
    assert other.sessions == []
    await kind.depose(process)
    await eventually(lambda: dispatcher.sessions[1:2] == resource_manager.sessions[1:2] == [None])
    assert job.sessions == [dispatcher.sessions[0]]


async def test_writes_of_a_deposed_leader_are_refused(kind: Kind) -> None:  # D12
    one, two = kind.process(), kind.process()
    _, _, session_id = await leading(one)
    stale, second = one.stores(session_id), Contender()
    stale.job_graphs.start()
    kept = job_graph(("a", 1, []), name="kept")
    await stale.job_graphs.put(kept)
    await stale.job_results.create_dirty_result(JobResult("over", JobStatus.FINISHED, 1))
    await two.leader_election("x").start(second)
    await kind.depose(one)
    await eventually(lambda: second.session_id)
    for write in (
        lambda: stale.job_graphs.put(job_graph(("a", 1, []), name="other")),
        lambda: stale.job_graphs.put(kept),
        lambda: stale.job_graphs.remove(kept.job_id),
        lambda: stale.job_results.create_dirty_result(JobResult("j", JobStatus.FINISHED, 1)),
        lambda: stale.running_jobs.set_job_running("j"),
    ):
        with pytest.raises(StaleLeaderError, match=f"leader session '{session_id}' has ended"):
            await write()
    present = two.stores(second.session_id)
    present.job_graphs.start()
    assert await present.job_graphs.job_ids() == (kept.job_id,)
    assert [result.job_id for result in await present.job_results.dirty_results()] == ["over"]
    await present.job_graphs.put(job_graph(("a", 1, []), name="new"))
    await stale.job_graphs.stop()
    await present.job_graphs.stop()


async def test_a_stopped_store_rejects_calls(kind: Kind) -> None:  # B01
    store = kind.process().stores(None).job_graphs
    for call in (store.put(job_graph(("a", 1, []))), store.recover("j"), store.remove("j"), store.job_ids()):
        with pytest.raises(RuntimeError, match=r"JobGraphStore that does not run; start\(\) it first"):
            await call


async def test_a_job_that_is_put_again_is_replaced(kind: Kind) -> None:  # B02
    one, two = jobs(kind), jobs(kind)
    await one.put(job_graph(("a", 1, [])))
    await one.put(job_graph(("b", 1, [])))
    await two.put(job_graph(("c", 1, [])))
    assert await one.job_ids() == await two.job_ids() == (an_id("job"),)
    recovered = await one.recover(an_id("job"))
    assert recovered is not None
    assert [vertex.name for vertex in recovered.vertices] == ["c"]


async def test_jobs_of_others_are_reported_once_and_own_ones_never(kind: Kind) -> None:  # B03
    of_a, of_b = Listener(), Listener()
    a, b = jobs(kind, of_a), jobs(kind, of_b)
    await a.put(job_graph(("a", 1, []), name="one"))
    await a.put(job_graph(("b", 1, []), name="one"))
    await a.put(job_graph(("a", 1, []), name="two"))
    await eventually(lambda: sorted(of_b.added) == sorted([an_id("one"), an_id("two")]))
    await a.remove(an_id("one"))
    await b.put(job_graph(("a", 1, []), name="three"))
    await eventually(lambda: of_a.added == [an_id("three")])
    assert (of_a.removed, of_b.removed, len(of_b.added)) == ([], [], 2)


async def test_a_removed_job_is_gone_when_the_last_that_holds_it_releases_it(kind: Kind) -> None:  # B04
    of_b = Listener()
    a, b = jobs(kind), jobs(kind, of_b)
    await a.put(job_graph(("a", 1, [])))
    assert await b.recover(an_id("job")) is not None
    await eventually(lambda: of_b.added == [] or of_b.added == [an_id("job")])
    await a.remove(an_id("job"))
    await eventually(lambda: of_b.removed == [an_id("job")])
    assert await a.job_ids() == ()
    assert await a.recover(an_id("job")) is None
    assert await b.recover(an_id("job")) is not None
    await b.release(an_id("job"))
    assert await b.recover(an_id("job")) is None
    assert of_b.removed == [an_id("job")]


async def test_a_released_job_stays_for_others_and_a_removed_one_does_not(kind: Kind) -> None:  # B05 B07
    one, two = jobs(kind), jobs(kind)
    await one.put(job_graph(("a", 1, [])))
    await one.release(an_id("job"))
    assert await two.recover(an_id("job")) is not None
    await two.remove(an_id("job"))
    await two.remove(an_id("job"))
    await one.remove("never put")
    assert await one.recover(an_id("job")) is None


async def test_jobs_are_listed_oldest_first(kind: Kind) -> None:
    store = jobs(kind)
    for name in ("one", "two", "three"):
        await store.put(job_graph(("a", 1, []), name=name))
    assert await store.job_ids() == tuple(an_id(name) for name in ("one", "two", "three"))


async def test_a_result_is_dirty_until_it_is_marked_clean(kind: Kind) -> None:  # C06 C07
    results, failure = tools(kind).job_results, TaskFailure("ValueError: bad", operator_name="Map")
    result = JobResult("j", JobStatus.FAILED, 1, failure)
    assert not await results.has_job_result("j")
    with pytest.raises(KeyError, match="job j has no result"):
        await results.mark_result_as_clean("j")
    await results.create_dirty_result(result)
    with pytest.raises(ValueError, match="a job ends only once"):
        await results.create_dirty_result(result)
    assert await results.dirty_results() == (result,)
    assert await results.has_job_result("j")
    await results.mark_result_as_clean("j")
    await results.mark_result_as_clean("j")
    assert await results.dirty_results() == ()
    assert await results.has_job_result("j")


async def test_with_delete_on_commit_a_clean_result_leaves_no_trace(kind: Kind) -> None:  # C07
    results = tools(kind, delete_on_commit=True).job_results
    await results.create_dirty_result(JobResult("j", JobStatus.FINISHED, 1))
    await results.mark_result_as_clean("j")
    assert not await results.has_job_result("j")
    await results.create_dirty_result(JobResult("j", JobStatus.FINISHED, 2))


async def test_the_registry_has_the_status_of_a_job(kind: Kind) -> None:  # C01
    registry = tools(kind).running_jobs
    assert await registry.get_job_scheduling_status("j") is JobSchedulingStatus.PENDING
    await registry.set_job_running("j")
    assert await registry.get_job_scheduling_status("j") is JobSchedulingStatus.RUNNING
    await registry.set_job_finished("j")
    assert await registry.get_job_scheduling_status("j") is JobSchedulingStatus.DONE
    await registry.clear_job("j")
    assert await registry.get_job_scheduling_status("j") is JobSchedulingStatus.PENDING
