"""High availability with a real ZooKeeper server that is killed, restarted, and expires sessions."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooState
from kazoo.exceptions import ConnectionLoss

from firesteel.common.files.file_systems import Files
from firesteel.runtime.highavailability.high_availability import JobGraphStore
from firesteel.runtime.highavailability.high_availability_errors import (
    CorruptEntryError,
    HighAvailabilityError,
    StaleLeaderError,
)
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from firesteel.runtime.highavailability.storage import JOBS, REMOVED_JOBS
from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from firesteel.runtime.highavailability.zookeeper_storage import MAX_INLINE_BYTES, ZooKeeperStorage
from tests.objects.server import Bucket
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import CODEC, GIVE_UP_S, ZooKeeper, eventually
from tests.runtime.highavailability.programs import line, paused_leader
from tests.runtime.highavailability.test_contract import Contender, leading, retrieving
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.slow


@pytest.fixture
async def kind(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> AsyncIterator[ZooKeeper]:
    kind = ZooKeeper(zookeeper_server.address, tmp_path / "files")
    yield kind
    for process in kind.processes:
        await process.close()


def running(process: ZooKeeperHaServices) -> JobGraphStore:
    store = process.stores(None).job_graphs
    store.start()
    return store


async def put_large(store: JobGraphStore, name: str, fill: str = "x") -> None:
    await store.put(job_graph(("a", 1, []), name=name, configuration={"fill": fill * MAX_INLINE_BYTES}))


async def test_a_process_whose_session_expired_leads_again_in_a_new_one(kind: ZooKeeper) -> None:  # D04 D05
    process = kind.process()
    election, contender, session_id = await leading(process)
    listener = retrieving(kind.process())
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])
    await kind.depose(process)
    await eventually(lambda: len(contender.sessions) == 3)
    assert contender.sessions[:2] == [session_id, None]
    assert contender.session_id not in {session_id, None}
    await eventually(lambda: listener.leaders[-1] == (None, None))
    assert contender.session_id is not None
    election.confirm_leadership(contender.session_id, "here again")
    await eventually(lambda: listener.leaders[-1] == ("here again", contender.session_id))


async def test_everything_continues_after_an_outage_of_the_ensemble(
    kind: ZooKeeper, zookeeper_server: ZooKeeperServer
) -> None:
    one, two = kind.process(), kind.process()
    election, contender, session_id = await leading(one)
    other, second = two.leader_election("x"), Contender()
    await other.start(second)
    listener, store = retrieving(kind.process()), running(one)
    await store.put(job_graph(("a", 1, []), name="before"))
    election.confirm_leadership(session_id, "one")
    await eventually(lambda: listener.leaders == [("one", session_id)])
    await asyncio.to_thread(zookeeper_server.kill)
    await eventually(lambda: None in contender.sessions, "the revocation")
    await eventually(lambda: listener.leaders[-1] == (None, None))
    await asyncio.to_thread(zookeeper_server.start)
    await store.put(job_graph(("a", 1, []), name="after"))
    assert await running(two).job_ids() == (an_id("before"), an_id("after"))
    await eventually(lambda: second.session_id or contender.session_id, "a leader")
    leading_election, present = (election, contender.session_id) if contender.session_id else (other, second.session_id)
    assert present not in {None, session_id}
    leading_election.confirm_leadership(str(present), "somewhere")
    await eventually(lambda: listener.leaders[-1] == ("somewhere", present))


def _losing_connections(call: Callable[..., Any], times: int) -> Callable[..., Any]:
    losses = iter(range(times))

    def lose(*arguments: Any, **named: Any) -> Any:
        if next(losses, None) is not None:
            raise ConnectionLoss
        return call(*arguments, **named)

    return lose


async def test_a_process_leads_again_after_two_short_losses(kind: ZooKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    process = kind.process()
    _, contender, session_id = await leading(process)
    connection = process._connection
    monkeypatch.setattr(connection.client, "delete", _losing_connections(connection.client.delete, 20))
    connection._state_changed(KazooState.SUSPENDED)  # The session lives on, and so does the latch.
    await eventually(lambda: contender.session_id not in {session_id, None}, "another session")


async def test_an_address_that_could_not_be_published_is_published_later(
    kind: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = kind.process()
    election, _, session_id = await leading(process)
    listener = retrieving(kind.process())
    client = process._connection.client
    monkeypatch.setattr(client, "transaction", _losing_connections(client.transaction, 20))
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])


async def test_a_paused_leader_that_resumes_after_a_takeover_writes_nothing(kind: ZooKeeper) -> None:  # D12
    leader = await paused_leader(
        {
            "high-availability.type": "zookeeper",
            "high-availability.storageDir": str(kind.files),
            "high-availability.cluster-id": "cluster",
            "high-availability.zookeeper.quorum": kind.options.quorum,
            "high-availability.zookeeper.path.root": kind.options.path.removesuffix("/cluster"),
            "high-availability.zookeeper.client.session-timeout": "500 ms",
            "high-availability.zookeeper.client.retry-wait": "500 ms",
        }
    )
    assert leader.stdin is not None
    try:
        former = await line(leader)
        leader.stdin.write(b"early\n")
        assert await line(leader) == "stored"
        leader.send_signal(signal.SIGSTOP)
        leader.stdin.write(b"late\n")
        kind.options = ZooKeeperOptions(kind.options.quorum, f"{kind.options.path}/cluster", 2, 20, 0.02)
        process = kind.process()
        _, _, session_id = await leading(process)
        assert session_id != former
        leader.send_signal(signal.SIGCONT)
        assert {await line(leader), await line(leader)} == {"StaleLeaderError", "revoked"}
        assert await running(process).job_ids() == (an_id("early"),)
    finally:
        leader.kill()
        await leader.wait()


async def test_a_write_is_refused_by_zookeeper_itself_when_the_latch_is_gone(kind: ZooKeeper) -> None:  # D12
    process = kind.process()
    connection, session = process._connection, ("s", process._connection.path("election", "latch"))
    storage = ZooKeeperStorage(connection, kind.files, CODEC, "s", dict([session]).get)
    await connection.run(lambda: connection.client.create(session[1], ephemeral=True, makepath=True))
    for name in ("kept", "moved"):
        await storage.write(JOBS, name, "first")
    await connection.run(lambda: connection.client.delete(session[1]))  # The storage takes itself for the leader's.
    for change in (
        storage.write(JOBS, "new", "second"),
        storage.write(JOBS, "kept", "second"),
        storage.move("moved", JOBS, REMOVED_JOBS),
        storage.delete(JOBS, "kept"),
    ):
        with pytest.raises(StaleLeaderError, match="leader session 's' has ended"):
            await change
    assert await storage.names(JOBS) == ("kept", "moved")
    assert await storage.read(JOBS, "kept") == "first"


async def test_a_leader_whose_latch_was_deleted_leads_no_longer(kind: ZooKeeper) -> None:
    process = kind.process()
    _, contender, _ = await leading(process)
    session = process._driver._session
    assert session is not None
    await process._connection.run(lambda: process._connection.client.delete(session[1]))
    await eventually(lambda: len(contender.sessions) == 3)
    assert contender.sessions[1] is None


async def test_a_leader_restores_its_overwritten_address(kind: ZooKeeper) -> None:  # D06
    process = kind.process()
    election, _, session_id = await leading(process)
    listener = retrieving(kind.process())
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])
    connection = process._connection
    path = connection.path("leaders", "x")
    await connection.run(lambda: connection.client.set(path, b'{"address": "elsewhere", "session": "s"}'))
    await eventually(lambda: len(listener.leaders) > 1 and listener.leaders[-1] == ("here", session_id))
    assert ("elsewhere", "s") in listener.leaders or (None, None) in listener.leaders


async def test_large_jobs_are_files_which_go_with_their_entries(kind: ZooKeeper) -> None:
    store, files = running(kind.process()), kind.files
    await put_large(store, "large")
    await put_large(store, "large", fill="y")
    await store.put(job_graph(("a", 1, []), name="small"))
    assert len(list(files.iterdir())) == 1
    other = running(kind.process())
    recovered = await other.recover(an_id("large"))
    assert recovered is not None
    assert recovered.configuration["fill"][0] == "y"
    await other.stop()
    await store.remove(an_id("large"))
    assert list(files.iterdir()) == []


async def test_large_jobs_are_signed_objects_in_s3(zookeeper_server: ZooKeeperServer, bucket: Bucket) -> None:
    call = asyncio.to_thread
    files = await call(Files(bucket.options).path, bucket.uri("ha"))
    kind = ZooKeeper(zookeeper_server.address, files)
    store = running(kind.process())
    await put_large(store, "large")
    other = running(kind.process())
    assert await other.recover(an_id("large")) is not None
    await other.stop()
    (name,) = await call(bucket.names, "ha")
    await call(bucket.put, name, (await call(bucket.read, name))[:-1] + b"!")
    with pytest.raises(CorruptEntryError, match=r"bytes of its file s3://.* are not those written"):
        await running(kind.process()).recover(an_id("large"))
    await call(lambda: bucket.fs.rm_file(bucket.uri(name)))
    with pytest.raises(CorruptEntryError, match=r"cannot read s3://.*/ha/.*: it does not exist"):
        await running(kind.process()).recover(an_id("large"))
    await put_large(store, "other")
    await store.remove(an_id("other"))
    assert await call(bucket.names, "ha") == []
    for process in kind.processes:
        await process.close()


async def test_a_large_job_that_a_full_disk_refused_leaves_no_file(
    kind: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = running(kind.process())

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            await put_large(store, "large")
    assert list(kind.files.iterdir()) == []
    assert await store.job_ids() == ()


async def test_the_error_of_a_damaged_entry_names_its_job(kind: ZooKeeper) -> None:  # B06
    process = kind.process()
    store, connection = running(process), process._connection
    await put_large(store, "gone")
    (file,) = kind.files.iterdir()
    file.unlink()
    await put_large(store, "bad")
    (file,) = kind.files.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    for name in ("good", "worse"):
        await store.put(job_graph(("a", 1, []), name=name))
    await connection.run(lambda: connection.client.set(connection.path("jobs", an_id("worse")), b""))
    for name in ("gone", "bad", "worse"):
        with pytest.raises(CorruptEntryError, match=rf"the entry of job {an_id(name)} in 'jobs' can't be read"):
            await store.recover(an_id(name))
    assert await store.recover(an_id("good")) is not None
    assert len(await store.job_ids()) == 4


async def test_an_ensemble_that_does_not_answer_is_named(tmp_path: Path) -> None:
    process = ZooKeeperHaServices(ZooKeeperOptions("127.0.0.1:1", "/x", connection_timeout_s=0.1), tmp_path, CODEC)
    with pytest.raises(HighAvailabilityError, match=r"no ZooKeeper answers at 127.0.0.1:1 within 0.1 s; look at"):
        await running(process).job_ids()
    await process.close()
    with pytest.raises(HighAvailabilityError, match="was closed"):
        await running(process).job_ids()


class HoldingLeader:
    """A leader that holds a job until it stops."""

    address = "here"

    def __init__(self, store: JobGraphStore) -> None:
        self.store = store
        self.has_stopped = False

    async def start(self) -> None:
        if await self.store.recover(an_id("job")) is None:
            await self.store.put(job_graph(("a", 1, []), name="job"))

    async def stop(self) -> None:
        await self.store.stop()
        self.has_stopped = True


async def test_a_leader_follows_the_next_one_after_an_outage_in_which_it_lets_go(
    kind: ZooKeeper, zookeeper_server: ZooKeeperServer
) -> None:
    process, errors = kind.process(), []
    leaders: list[HoldingLeader] = []

    async def create(session_id: str) -> HoldingLeader:
        leaders.append(HoldingLeader(running_in(process, session_id)))
        return leaders[-1]

    listener = retrieving(kind.process())
    runner = LeaderRunner(process.leader_election("x"), create, errors.append)
    await runner.start()
    await eventually(lambda: listener.leaders and listener.leaders[-1][0] == "here", "a leader")
    await asyncio.to_thread(zookeeper_server.kill)
    await eventually(lambda: leaders[0].has_stopped, "the leader stops while nobody answers")
    await asyncio.to_thread(zookeeper_server.start)
    await eventually(lambda: len(leaders) > 1 and listener.leaders[-1][0] == "here", "the next session")
    other = ZooKeeperStorage(process._connection, kind.files, CODEC, None, lambda _: None)
    await runner.close()
    assert errors == []
    assert not await other.is_held(an_id("job"))


async def test_what_a_leader_lets_go_during_an_outage_is_gone_afterwards(
    kind: ZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session survives, and with it the node that marks the job as used."""
    process = kind.process()
    await leading(process)
    store = running(process)
    await store.put(job_graph(("a", 1, []), name="job"))
    client = process._connection.client
    monkeypatch.setattr(client, "delete", _losing_connections(client.delete, 20))
    await store.stop()
    other = ZooKeeperStorage(process._connection, kind.files, CODEC, None, lambda _: None)
    async with asyncio.timeout(GIVE_UP_S):
        while await other.is_held(an_id("job")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def running_in(process: ZooKeeperHaServices, session_id: str) -> JobGraphStore:
    store = process.stores(session_id).job_graphs
    store.start()
    return store
