"""High availability in an object store: files of values, slow answers, and damaged objects."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common.files.conditional_object import Tagged
from firesteel.common.files.remote_files import RemoteFileError, RemoteFileNotFoundError
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError, UntrustedObjectError
from firesteel.runtime.highavailability.object_entries import ObjectEntries
from firesteel.runtime.highavailability.object_lease import NOBODY, ObjectLease
from firesteel.runtime.highavailability.polled_election import PolledLeaderElectionDriver
from firesteel.runtime.highavailability.register import Register
from firesteel.runtime.highavailability.shared_election import Published
from firesteel.runtime.highavailability.storage import JOBS
from firesteel.runtime.thread_pools import HIGH_AVAILABILITY
from tests.runtime.highavailability.kinds import CODEC, eventually
from tests.runtime.highavailability.test_object_store import Object, Store

LARGE = "x" * 10_000
LEASE_S = 15.0


class Reliable(Store):
    """A store that fails only where a test says so."""

    def __init__(self) -> None:
        super().__init__(random.Random(0))
        self.files: dict[str, bytes] = {}
        self.before_listing: list[Callable[[], None]] = []
        self.after_lost_answer: list[Callable[[], None]] = []
        self.keeps_files = False
        self.answer_s = 0.0

    def access(self) -> None:
        self.now_s += self.answer_s


class LosingAnswers(Object):
    """An object whose write may take effect, be repeated, and find itself."""

    def replace(self, data: bytes, tag: str | None) -> str | None:
        found = self.store.objects.get(self.name)
        if (None if found is None else found.tag) != tag:
            return None
        self.store.number += 1
        self.store.objects[self.name] = Tagged(data, str(self.store.number))
        if isinstance(self.store, Reliable) and self.store.after_lost_answer:
            self.store.after_lost_answer.pop()()
            return None
        return str(self.store.number)


class ValueFile:
    def __init__(self, store: Reliable, name: str) -> None:
        self.store, self.name = store, name

    def create(self, data: bytes) -> None:
        self.store.files[self.name] = data

    def read_bytes(self) -> bytes:
        if self.name not in self.store.files:
            raise RemoteFileNotFoundError("read", self.name, "it does not exist")
        return self.store.files[self.name]

    def unlink(self) -> None:
        if self.store.keeps_files:
            raise RemoteFileError("remove", self.name, "the store refused")
        self.store.files.pop(self.name, None)


class Values:
    def __init__(self, store: Reliable) -> None:
        self.store = store

    def __truediv__(self, name: str) -> ValueFile:
        return ValueFile(self.store, name)

    def iterdir(self) -> Iterator[ValueFile]:
        if self.store.before_listing:
            self.store.before_listing.pop()()
        return iter([self / name for name in self.store.files])


def entries(store: Reliable) -> ObjectEntries:
    values: Any = Values(store)
    return ObjectEntries(LosingAnswers(store, "entries"), values, CODEC)


def lease(store: Reliable) -> ObjectLease:
    return ObjectLease(
        Register(LosingAnswers(store, "leader"), CODEC, NOBODY), entries(store), LEASE_S, lambda: store.now_s
    )


def test_a_leader_that_was_suspended_while_it_took_over_removes_no_file_of_its_successor() -> None:
    store = Reliable()
    first, second = entries(store), entries(store)

    def succeed() -> None:
        assert second.take_over("second", 2)
        second.write(JOBS, "job", LARGE, "second")

    store.before_listing.append(succeed)
    assert not first.take_over("first", 1)
    assert second.read(JOBS, "job", "second") == LARGE


def test_a_file_that_is_named_by_a_write_with_lost_answer_stays_for_the_successor() -> None:
    store = Reliable()
    first, second = entries(store), entries(store)
    assert first.take_over("first", 1)
    store.after_lost_answer.append(lambda: assert_true(second.take_over("second", 2)))
    with pytest.raises(StaleLeaderError):
        first.write(JOBS, "job", LARGE, "first")
    assert second.read(JOBS, "job", "second") == LARGE


def assert_true(value: bool) -> None:
    assert value


def test_a_write_that_finds_itself_after_another_one_keeps_its_file() -> None:
    store = Reliable()
    leader = entries(store)
    assert leader.take_over("first", 1)
    store.after_lost_answer.append(lambda: leader.write(JOBS, "other", LARGE, "first"))
    leader.write(JOBS, "job", LARGE, "first")
    assert leader.read(JOBS, "job", "first") == LARGE
    assert leader.read(JOBS, "other", "first") == LARGE
    assert len(store.files) == 2


def test_a_change_succeeds_although_the_former_file_can_not_be_removed() -> None:
    store = Reliable()
    leader = entries(store)
    assert leader.take_over("first", 1)
    leader.write(JOBS, "job", LARGE, "first")
    store.keeps_files = True
    leader.write(JOBS, "job", "small", "first")
    assert leader.take_over("second", 2)
    assert (leader.read(JOBS, "job", "second"), len(store.files)) == ("small", 1)
    store.keeps_files = False
    assert leader.take_over("third", 3)
    assert store.files == {}


def test_a_lease_whose_first_answer_was_slow_is_not_taken_over_early() -> None:
    store = Reliable()
    leader, contender = lease(store), lease(store)
    session_id = leader.acquire()
    assert session_id is not None
    store.answer_s = 3.0
    assert contender.acquire() is None  # At the time of the answer, 3 s, the lease was as it is.
    store.now_s, store.answer_s = LEASE_S + 1, 0.0
    assert contender.acquire() is None
    store.now_s = LEASE_S + 3
    assert contender.acquire() is not None


def test_a_leader_whose_lease_is_damaged_stops_leading_in_time_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Reliable()
    leader = lease(store)
    session_id = leader.acquire()
    assert session_id is not None
    store.objects["leader"] = Tagged(b"damaged", "another")
    assert leader.keeps(session_id)
    store.now_s = LEASE_S
    assert not leader.keeps(session_id)
    leader.release()
    assert leader.acquire() is None
    assert "is not signed with this cluster's secret, so nobody can lead" in caplog.text
    with pytest.raises(UntrustedObjectError):
        leader.leaders(("dispatcher",))


def test_a_lease_that_was_removed_is_taken_at_once_however_many_leaders_there_were() -> None:
    store = Reliable()
    former = lease(store)
    for _ in range(10):
        assert former.acquire() is not None
        former.release()
    del store.objects["leader"]
    assert lease(store).acquire() is not None


class Sessions:
    """Notes what an election tells."""

    def __init__(self) -> None:
        self.found: list[str | None] = []

    def granted(self, session_id: str) -> None:
        self.found.append(session_id)

    def revoked(self) -> None:
        self.found.append(None)

    def information_changed(self, component: str, published: Published) -> None:
        pass


async def test_a_store_that_blocks_all_threads_does_not_keep_a_leader_from_learning_that_its_lease_is_over() -> None:
    store, sessions = Reliable(), Sessions()
    driver = PolledLeaderElectionDriver(lease(store), 0.01)
    driver.start(sessions)
    await eventually(lambda: len(sessions.found) == 1)
    answered = threading.Event()
    blocked = [asyncio.create_task(HIGH_AVAILABILITY.run(answered.wait)) for _ in range(50)]
    try:
        await asyncio.sleep(0)
        store.objects["leader"] = Tagged(b"damaged", "another")
        store.now_s += LEASE_S
        await eventually(lambda: sessions.found[1:] == [None])
    finally:
        answered.set()
        await asyncio.gather(*blocked)
        await driver.close()


class Refusing(ObjectLease):
    """A lease that publishes nothing for a while."""

    def __init__(self, store: Reliable) -> None:
        register = Register(LosingAnswers(store, "leader"), CODEC, NOBODY)
        super().__init__(register, entries(store), LEASE_S, lambda: store.now_s)
        self.refuses, self.attempts = True, 0
        self.polls: list[int] = []

    def keeps(self, session_id: str) -> bool:
        self.polls.append(self.attempts)
        return super().keeps(session_id)

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        self.attempts += 1
        if self.refuses:
            raise RemoteFileError("write", "leader", "it took too long")
        super().publish(component, session_id, address)


async def test_a_poll_does_not_wait_for_more_than_one_address_that_can_not_be_published() -> None:
    store, sessions = Reliable(), Sessions()
    leadership = Refusing(store)
    driver = PolledLeaderElectionDriver(leadership, 0.01)
    driver.start(sessions)
    await eventually(lambda: len(sessions.found) == 1)
    polls = leadership.polls
    for number in range(20):
        driver.publish(f"job {number}", str(sessions.found[0]), f"address {number}")
    await eventually(lambda: len(polls) > 5)
    assert all(after - before <= 1 for before, after in itertools.pairwise(polls[1:]))
    leadership.refuses = False
    wanted = {f"job {number}": (f"address {number}", sessions.found[0]) for number in range(20)}
    await eventually(lambda: leadership.leaders(tuple(wanted)) == wanted)
    await driver.close()
