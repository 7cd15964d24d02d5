"""Timeouts of calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from firesteel.runtime.clock import Clock, Timer

__all__ = ["Deadlines"]

_CLOSE_S = 1e-9  # Tolerance for rounding errors of deadlines.


class Deadlines:
    """The deadlines of responses.

    All calls have the same timeout, so they expire in call order and one timer serves all of them. One timer for each
    of ten thousand pending calls would cost more than the calls.

    Args:
        clock: The clock.
        timeout_s: Timeout in seconds.
        expired: Called with each expired answer and its description.
    """

    def __init__(self, clock: Clock, timeout_s: float, expired: Callable[[asyncio.Future[Any], Any], object]) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._expired = expired
        self._waiting: dict[asyncio.Future[Any], tuple[float, Any]] = {}  # oldest first
        self._timer: Timer | None = None

    def watch(self, answer: asyncio.Future[Any], about: object) -> None:
        """Start the timeout of an answer."""
        self._waiting[answer] = self._clock.monotonic_s() + self._timeout_s, about
        answer.add_done_callback(self._done)
        if self._timer is None:
            self._timer = self._clock.call_later(self._timeout_s, self._check)

    def _done(self, answer: asyncio.Future[object]) -> None:
        self._waiting.pop(answer, None)
        if not self._waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Expire due answers, and reschedule for the oldest of the others."""
        self._timer = None
        now_s = self._clock.monotonic_s()
        while self._waiting:
            # The oldest: dicts keep the order in which calls came.
            answer = next(iter(self._waiting))
            deadline_s, about = self._waiting[answer]
            if deadline_s > now_s + _CLOSE_S:
                self._timer = self._clock.call_later(deadline_s - now_s, self._check)
                return
            del self._waiting[answer]
            self._expired(answer, about)
