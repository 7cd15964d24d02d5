"""The timer queue stays small under any registrations and deletions and fires the remaining timers in order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.timers import EVENT_TIME, PROCESSING_TIME, InternalTimerService

STEPS = st.lists(
    st.tuples(st.sampled_from(["register", "register", "delete", "fire"]), st.integers(0, 3), st.integers(0, 9)),
    max_size=200,
)


def service() -> tuple[KeyedStateBackend, InternalTimerService]:
    backend = KeyedStateBackend(None, 128)
    return backend, InternalTimerService(backend)


def test_deleted_timers_do_not_stay_queued() -> None:
    backend, timers = service()
    for key in range(100):
        backend.current_key = key
        for timestamp in range(1000):
            timers.register_event_time_timer(timestamp)
            timers.register_processing_time_timer(timestamp)
            if timestamp:
                timers.delete_event_time_timer(timestamp - 1)
                timers.delete_processing_time_timer(timestamp - 1)
    assert timers.queued() <= 2 * (2 * 100 + 64)
    assert [key for key, _, _ in timers.due(EVENT_TIME, 2000)] == list(range(100))
    assert timers.next_processing_time() == 999


@given(STEPS)
def test_timers_fire_once_in_order_of_time(steps: list[Any]) -> None:
    backend, timers = service()
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
