"""High availability in an object store: leases, compare and swap, and stores that fail."""

from __future__ import annotations

import random
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from firesteel.common.files.conditional_object import ConditionalObject, Tagged
from firesteel.common.files.remote_files import RemoteFileError
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices, JobGraphStore
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, StaleLeaderError
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.object_lease import NOBODY, ObjectLease
from firesteel.runtime.highavailability.register import Register
from firesteel.runtime.highavailability.storage import JOBS
from tests.objects.server import Bucket
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import CODEC, SECRET, ObjectStore, eventually
from tests.runtime.highavailability.programs import line, paused_leader
from tests.runtime.highavailability.test_contract import leading, retrieving

pytestmark = pytest.mark.slow


@pytest.fixture
async def kind(bucket: Bucket) -> AsyncIterator[ObjectStore]:
    kind = ObjectStore(bucket)
    yield kind
    for process in kind.processes:
        await process.close()


def options(bucket: Bucket) -> dict[str, str]:
    return bucket.options | {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": bucket.uri("ha"),
        "high-availability.cluster-id": "cluster",
        "high-availability.object-store.lease-duration": "1 s",
        "high-availability.object-store.retry-period": "50 ms",
    }


def running(process: HighAvailabilityServices) -> JobGraphStore:
    store = process.stores(None).job_graphs
    store.start()
    return store


async def test_a_paused_leader_that_resumes_after_a_takeover_writes_nothing(bucket: Bucket, kind: ObjectStore) -> None:
    leader = await paused_leader(options(bucket))
    assert leader.stdin is not None
    try:
        former = await line(leader)
        leader.stdin.write(b"early\n")
        assert await line(leader) == "stored"
        leader.send_signal(signal.SIGSTOP)
        leader.stdin.write(b"late\n")
        process = kind.process()
        _, _, session_id = await leading(process)
        assert session_id != former
        leader.send_signal(signal.SIGCONT)
        assert {await line(leader), await line(leader)} == {"StaleLeaderError", "revoked"}
        assert await running(process).job_ids() == (an_id("early"),)
    finally:
        leader.kill()
        await leader.wait()


async def test_a_leader_that_can_not_renew_its_lease_stops_leading_and_leads_again_later(
    bucket: Bucket, kind: ObjectStore
) -> None:
    _, contender, session_id = await leading(kind.process())
    with bucket.server.failing(lambda *asked: "refused"):
        await eventually(lambda: contender.sessions == [session_id, None])
    await eventually(lambda: len(contender.sessions) == 3)
    assert contender.session_id not in (None, session_id)


async def test_lost_answers_and_short_refusals_end_no_leadership(bucket: Bucket, kind: ObjectStore) -> None:
    kind.lease_s = 20  # The library waits for seconds before it asks again.
    process = kind.process()
    election, contender, session_id = await leading(process)
    chances = random.Random(1)
    listener, store = retrieving(kind.process()), process.stores(session_id).job_graphs
    store.start()
    with bucket.server.failing(lambda *asked: chances.choice(["lost", "refused", *[None] * 8])):
        election.confirm_leadership(session_id, "here")
        for name in ("one", "two", "three"):
            await store.put(job_graph(("a", 1, []), name=name))
        await eventually(lambda: ("here", session_id) in listener.leaders)
    assert await store.job_ids() == tuple(an_id(name) for name in ("one", "two", "three"))
    assert contender.sessions == [session_id]


@pytest.mark.parametrize("lacks", ["HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"])
async def test_a_store_without_conditional_writes_is_refused_at_the_start(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    app: Callable[..., Any] = bucket.server._app
    monkeypatch.setattr(bucket.server, "_app", lambda environ, start: app(_without(environ, lacks), start))
    with pytest.raises(InvalidOptionError, match=r"storageDir'.*ignores the conditions of writes \(If-Match, If-None-"):
        ha_services(options(bucket), SECRET)
    assert bucket.names() == []


def _without(environ: dict[str, Any], header: str) -> dict[str, Any]:
    return {name: value for name, value in environ.items() if name != header}


async def test_other_file_systems_and_short_leases_are_refused(bucket: Bucket) -> None:
    elsewhere = options(bucket) | {"high-availability.storageDir": "memory://ha"}
    with pytest.raises(InvalidOptionError, match="conditional writes are known of S3"):
        ha_services(elsewhere, SECRET)
    hasty = options(bucket) | {"high-availability.object-store.lease-duration": "90 ms"}
    with pytest.raises(InvalidOptionError, match=r"lease-duration is 0\.09 s, expected at least twice"):
        ha_services(hasty, SECRET)


async def test_large_entries_have_files_which_go_with_them(bucket: Bucket, kind: ObjectStore) -> None:
    entries = kind.entries()
    entries.write(JOBS, "large", "x" * 10_000, None)
    entries.write(JOBS, "large", "y" * 10_000, None)
    entries.write(JOBS, "small", "z", None)
    (file,) = bucket.names("ha/cluster/values")
    assert entries.read(JOBS, "large", None) == "y" * 10_000
    bucket.put("ha/cluster/values/orphan", b"of a leader that was killed")
    assert entries.take_over("session", 1)
    assert bucket.names("ha/cluster/values") == [file]
    bucket.put(file, b"forged")
    with pytest.raises(CorruptEntryError, match="are not those written"):
        entries.read(JOBS, "large", None)
    entries.delete(JOBS, "large", "session")
    assert bucket.names("ha/cluster/values") == []
    assert entries.read(JOBS, "small", None) == "z"


# Two writers, never


@dataclass
class Store:
    """Objects in memory; before each access other processes may do something, as if this one had been suspended."""

    chances: random.Random
    now_s: float = 0.0
    others: list[Callable[[], None]] = field(default_factory=list)
    objects: dict[str, Tagged] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    depth: int = 0
    number: int = 0

    def access(self) -> None:
        while self.depth < 3 and self.others and self.chances.random() < 0.3:
            self.depth += 1
            self.now_s += self.chances.choice([0.0, 0.1, 1.0, 6.0])
            self.chances.choice(self.others)()
            self.depth -= 1
        if self.chances.random() < 0.02:
            raise RemoteFileError("write", "an object", "the store refused")


class Object(ConditionalObject):
    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name
        self.path: Any = self

    def read(self) -> Tagged | None:
        self.store.access()
        return self.store.objects.get(self.name)

    def replace(self, data: bytes, tag: str | None) -> str | None:
        self.store.access()
        found = self.store.objects.get(self.name)
        if (None if found is None else found.tag) != tag:
            return None
        self.store.number += 1
        self.store.objects[self.name] = Tagged(data, str(self.store.number))
        if self.name == "entries":
            self.store.written.append(data.decode(errors="replace").partition('"session": "')[2][:32])
        if self.store.chances.random() < 0.02:
            raise RemoteFileError("write", self.name, "the answer was lost")
        return str(self.store.number)


class Values:
    """No entry is large."""

    def iterdir(self) -> Iterator[Any]:
        return iter(())


class Process:
    """Contends, writes and stops leading, one step at a time; it is never two steps at once."""

    def __init__(self, store: Store) -> None:
        self.entries = ObjectEntries(Object(store, "entries"), Values(), CODEC)  # type: ignore[arg-type]
        lease = Register(Object(store, "leader"), CODEC, NOBODY)
        self.lease = ObjectLease(lease, self.entries, 5.0, lambda: store.now_s)
        self.store, self.is_busy = store, False
        self.session_id: str | None = None

    def step(self) -> None:
        if self.is_busy:
            return
        self.is_busy = True
        try:
            self._step()
        except RemoteFileError:
            pass  # The next step tries again.
        finally:
            self.is_busy = False

    def _step(self) -> None:
        if self.session_id is None:
            self.session_id = self.lease.acquire()
        elif self.store.chances.random() < 0.4:
            session_id = self.session_id
            try:
                self.entries.write(JOBS, "job", session_id, session_id)
            except StaleLeaderError:
                self.session_id = None
        elif self.store.chances.random() < 0.05 or not self.lease.keeps(self.session_id):
            self.session_id = None
            self.lease.release()


@pytest.mark.parametrize("seed", range(60))
def test_a_session_that_was_followed_by_another_one_writes_nothing_more(seed: int) -> None:
    store = Store(random.Random(seed))
    processes = [Process(store) for _ in range(3)]
    store.others = [process.step for process in processes]
    for _ in range(600):
        store.now_s += 0.1
        store.chances.choice(processes).step()
    sessions = [one for one, before in zip(store.written, ["", *store.written], strict=False) if one != before]
    assert len(sessions) > 5
    assert len(sessions) == len(set(sessions)), "a former session wrote after its successor"
