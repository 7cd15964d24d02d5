"""Clocks, injected so that tests need not wait."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

__all__ = ["Clock", "ManualClock", "SystemClock", "Timer", "sleep", "with_timeout"]

T = TypeVar("T")


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback; no effect after it ran."""


class Clock(Protocol):
    """A source of timestamps and timers. Flink: `util.clock.Clock` with `ScheduledExecutor`."""

    def now_ms(self) -> int:
        """Return the time in ms since the epoch, for timestamps shown to users."""
        ...

    def monotonic_s(self) -> float:
        """Return the monotonic time in seconds, for durations and deadlines."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` on the loop after `delay_s` seconds, never in the caller's stack."""
        ...


class SystemClock:
    """The system clock, with the timers of the running event loop."""

    def now_ms(self) -> int:
        """Return the time in ms since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return the monotonic time in seconds."""
        return time.monotonic()

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` on the running loop after `delay_s` seconds."""
        return asyncio.get_running_loop().call_later(delay_s, callback)


class ManualClock:
    """A clock that is advanced explicitly. Flink: `util.clock.ManualClock`.

    Example:
        >>> clock, rung = ManualClock(), []
        >>> _ = clock.call_later(5, lambda: rung.append(clock.now_ms()))
        >>> clock.advance(10)
        >>> rung
        [5000]
    """

    def __init__(self, now_ms: int = 0) -> None:
        self._now_s = now_ms / 1000
        self._timers: list[tuple[float, int, _ManualTimer]] = []
        self._order = itertools.count()

    def now_ms(self) -> int:
        """Return the time in ms since the start given to the constructor."""
        return round(self._now_s * 1000)

    def monotonic_s(self) -> float:
        """Return the same time in seconds."""
        return self._now_s

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        """Run `callback` when the clock has been advanced by `delay_s` seconds."""
        timer = _ManualTimer(callback)
        heapq.heappush(self._timers, (self._now_s + delay_s, next(self._order), timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Advance the clock and run the due timers in the order of their deadlines."""
        end_s = self._now_s + seconds
        while self._timers and self._timers[0][0] <= end_s:
            self._now_s, _, timer = heapq.heappop(self._timers)
            timer.fire()
        self._now_s = end_s


class _ManualTimer:
    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def fire(self) -> None:
        if self._callback is not None:
            self._callback()


async def sleep(clock: Clock, delay_s: float) -> None:
    """Wait for `delay_s` seconds of `clock`."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_later(delay_s, lambda: None if done.done() else done.set_result(None))
    try:
        await done
    finally:
        timer.cancel()


async def with_timeout(clock: Clock, timeout_s: float, awaitable: Awaitable[T]) -> T:
    """Return the result of `awaitable`.

    Raises:
        TimeoutError: it took longer than `timeout_s` seconds of `clock`; `awaitable` was cancelled.
    """
    work = asyncio.ensure_future(awaitable)
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = work.cancel()

    timer = clock.call_later(timeout_s, expire)
    try:
        return await work
    except asyncio.CancelledError:
        if expired:
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None
        work.cancel()
        raise
    finally:
        timer.cancel()
