"""When callers stop to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from firesteel.runtime.clock import Clock, Timer

__all__ = ["Deadlines"]

_CLOSE_S = 1e-9  # Sums of floats that mean the same moment differ by less.


class Deadlines:
    """Tells which answers are not there in time.

    All callers wait equally long, so whoever called first gives up first: one timer serves all of them, where one for
    each of ten thousand calls under way would cost more than the calls.

    Args:
        clock: The time.
        timeout_s: How long callers wait.
        expired: Called with each answer that is not there in time, and what was said about it.
    """

    def __init__(self, clock: Clock, timeout_s: float, expired: Callable[[asyncio.Future[Any], Any], object]) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._expired = expired
        self._waiting: dict[asyncio.Future[Any], tuple[float, Any]] = {}  # oldest first
        self._timer: Timer | None = None

    def watch(self, answer: asyncio.Future[Any], about: Any) -> None:
        """Wait for an answer from now on."""
        self._waiting[answer] = self._clock.monotonic_s() + self._timeout_s, about
        answer.add_done_callback(self._done)
        if self._timer is None:
            self._timer = self._clock.call_later(self._timeout_s, self._check)

    def _done(self, answer: asyncio.Future[Any]) -> None:
        self._waiting.pop(answer, None)
        if not self._waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Give up what is due, and look again when the oldest of the others is."""
        self._timer = None
        now_s = self._clock.monotonic_s()
        while self._waiting:
            answer = next(iter(self._waiting))
            deadline_s, about = self._waiting[answer]
            if deadline_s > now_s + _CLOSE_S:
                self._timer = self._clock.call_later(deadline_s - now_s, self._check)
                return
            del self._waiting[answer]
            self._expired(answer, about)
