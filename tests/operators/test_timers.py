"""The timer queue stays small under any registrations and deletions and fires the remaining timers in order."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.keys.canonical_keys import canonical_key
from firesteel.datastream.window import TimeWindow
from firesteel.operators.state import timers_on_disk
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.keyed_state_backend import TIMERS_TABLE, KeyedStateBackend
from firesteel.operators.state.timers import EVENT_TIME, PROCESSING_TIME, InternalTimerService

STEPS = st.lists(
    st.tuples(st.sampled_from(["register", "register", "delete", "fire"]), st.integers(0, 3), st.integers(0, 9)),
    max_size=200,
)


ON_DISK = {"state.backend.rocksdb.memory.fixed-per-slot": "1b"}
"""Timers go to disk after each 64."""

STORES = pytest.mark.parametrize("options", [None, ON_DISK], ids=["memory", "disk"])


def service(options: dict[str, str] | None = None) -> tuple[KeyedStateBackend, InternalTimerService]:
    backend = KeyedStateBackend(None, 128, None if options is None else DiskStore(options))
    return backend, InternalTimerService(backend)


@STORES
def test_deleted_timers_do_not_stay_queued(options: dict[str, str] | None) -> None:
    backend, timers = service(options)
    for key in range(100):
        backend.current_key = key
        for timestamp in range(1000):
            timers.register_event_time_timer(timestamp)
            timers.register_processing_time_timer(timestamp)
            if timestamp:
                timers.delete_event_time_timer(timestamp - 1)
                timers.delete_processing_time_timer(timestamp - 1)
    assert timers.queued() <= 2 * (2 * 100 + 64)
    assert sorted(key for key, _, _ in timers.due(EVENT_TIME, 2000)) == list(range(100))
    assert timers.next_processing_time() == 999


@STORES
@given(steps=STEPS)
def test_timers_fire_once_in_order_of_time(options: dict[str, str] | None, steps: list[Any]) -> None:
    backend, timers = service(options)
    model: set[tuple[int, int]] = set()
    for step, key, timestamp in steps:
        backend.current_key = key
        if step == "register":
            timers.register_processing_time_timer(timestamp)
            model.add((timestamp, key))
        elif step == "delete":
            timers.delete_processing_time_timer(timestamp)
            model.discard((timestamp, key))
        else:
            fired = [(time, fired_key) for fired_key, _, time in timers.due(PROCESSING_TIME, timestamp)]
            assert [time for time, _ in fired] == sorted(time for time, _ in fired)
            assert sorted(fired) == sorted(entry for entry in model if entry[0] <= timestamp)
            model = {entry for entry in model if entry[0] > timestamp}
        assert timers.next_processing_time() == min((time for time, _ in model), default=None)
        assert timers.queued() <= 2 * len(model) + 2 * 64


def test_many_timers_on_disk_fire_in_order_and_are_in_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are read at once, in both domains, with negative times, long keys and namespaces."""
    monkeypatch.setattr(timers_on_disk, "_BATCH", 50)
    monkeypatch.setattr(timers_on_disk, "_REMOVED", 70)
    backend, timers = service(ON_DISK)
    random, model = Random(7), set()
    for _ in range(2_000):
        backend.current_key = random.choice(["a", "b" * 600, canonical_key(1.0)])
        timers.namespace, timestamp = TimeWindow(0, random.randrange(50)), random.randrange(-200, 200)
        timers.register_event_time_timer(timestamp)
        timers.register_processing_time_timer(timestamp)
        model.add((timestamp, backend.current_key, timers.namespace))
        if random.random() < 0.3:
            timers.delete_event_time_timer(timestamp)
            model.discard((timestamp, backend.current_key, timers.namespace))
    fired = []
    for until in range(-250, 100, 50):
        fired += [(time, key, namespace) for key, namespace, time in timers.due(EVENT_TIME, until)]
    assert [time for time, _, _ in fired] == sorted(time for time, _, _ in fired)
    assert sorted(fired, key=str) == sorted((timer for timer in model if timer[0] <= 50), key=str)

    again = KeyedStateBackend(None, 128, DiskStore(ON_DISK))
    for delta in backend.full():
        again.load(delta)
        again.load(delta)  # a timer of two versions is one
    restored = InternalTimerService(again)
    left = [(time, key, namespace) for key, namespace, time in restored.due(EVENT_TIME, 1_000)]
    assert sorted(left, key=str) == sorted(model - set(fired), key=str)
    assert restored.next_processing_time() == timers.next_processing_time() is not None


def test_timers_of_state_on_disk_may_be_in_memory() -> None:
    backend, _ = service({"state.backend.rocksdb.timer-service.factory": "HEAP"})
    assert isinstance(backend.table(TIMERS_TABLE).data, dict)
