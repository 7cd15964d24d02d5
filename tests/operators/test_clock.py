from __future__ import annotations

import time

import pytest

from firesteel.operators.chain import clock
from firesteel.operators.chain.clock import SteadyClock

HOUR_NS = 3_600 * 10**9


class Clocks:
    """A wall clock that somebody sets, and elapsed time."""

    def __init__(self) -> None:
        self.wall_ns, self.steady_ns = 1_000 * HOUR_NS, 7
        self.steady = SteadyClock(lambda: self.wall_ns, lambda: self.steady_ns)

    def pass_ms(self, milliseconds: int) -> None:
        self.wall_ns += milliseconds * 1_000_000
        self.steady_ns += milliseconds * 1_000_000


@pytest.mark.parametrize("step_ns", [-HOUR_NS, HOUR_NS])
def test_a_step_of_the_wall_clock_changes_nothing(step_ns: int) -> None:
    clocks = Clocks()
    begun_ms = clocks.steady.now_ms()
    assert begun_ms == clocks.wall_ns // 1_000_000
    clocks.pass_ms(100)
    clocks.wall_ns += step_ns
    clocks.pass_ms(100)
    assert clocks.steady.now_ms() == begun_ms + 200


def test_a_new_clock_follows_the_wall_clock() -> None:
    clocks = Clocks()
    clocks.wall_ns -= HOUR_NS
    again = SteadyClock(lambda: clocks.wall_ns, lambda: clocks.steady_ns)
    assert again.now_ms() == clocks.wall_ns // 1_000_000


def test_a_slot_follows_the_clock_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_of_process", SteadyClock())
    clock.follow(5_000)
    assert 5_000 <= clock.now_ms() < 60_000


def test_the_clock_of_the_process_starts_with_the_wall_clock() -> None:
    assert abs(SteadyClock().now_ms() - time.time() * 1000) < 60_000


def test_a_thread_that_has_to_wait_between_two_readings_does_not_turn_back_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running_ns = iter([0, 5_000_000_000])  # The second one is read after a pause of five seconds.
    monkeypatch.setattr(clock, "running_ns", lambda: next(running_ns))
    current = clock.Millisecond()
    current.tick()
    assert 0 < current.until_ns <= 1_000_000
