"""Measurement of the working time of a slot's subtasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from firesteel.operators.chain.subtask import Subtask


class Stopwatch:
    """A stopwatch that adds the time of nested blocks to `busy_s` of the innermost block's subtask.

    A block spans a whole buffer or chunk of a source, so that there is no cost per record.
    """

    def __init__(self, now_s: Callable[[], float] = time.perf_counter) -> None:
        self._now_s = now_s
        self._at_work: Subtask | None = None
        self._since_s = 0.0

    @property
    def at_work(self) -> Subtask | None:
        """The subtask of the innermost block; None between blocks. May be read by other threads."""
        return self._at_work

    @contextmanager
    def within(self, subtask: Subtask) -> Iterator[None]:
        """Count the time of the block for the subtask."""
        outer = self._at_work
        self._hand_to(subtask)
        try:
            yield
        finally:
            self._hand_to(outer)

    def _hand_to(self, subtask: Subtask | None) -> None:
        now_s = self._now_s()
        if self._at_work is not None:
            self._at_work.busy_s += now_s - self._since_s
        self._at_work, self._since_s = subtask, now_s
