"""Searches for matches, each of which starts at a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_threads import Threads


class Outcome(IntEnum):
    """What becomes of a search."""

    UNKNOWN = 0
    """As long as it runs, and if it is given up."""
    FAILED = 1
    MATCHED = 2
    WAITING = 3
    """For further rows."""


@dataclass(slots=True)
class Searches:
    """Searches for the match that starts at a row, each in its partition.

    Attributes:
        starts: The place of the first row of each match.
        limits: The place behind the last row that may belong to it.
        are_open: Whether further rows may belong to it.
        nexts: The place of the next row of each.
        steps: The number of steps of the pattern.
        are_first: Whether each surely counts, as it is the first one of its partition. Others may be given up.
        is_exact: Whether they must not rely on what others find.
        outcomes: What has become of each.
        decided: The place of the row that has decided that; `limits` if there is none.
        ends: Of a match, the place behind the last row of each step.
        rely: Which of them have the outcome of others, without `ends` and threads of their own.
        waiting: The threads of those that wait.
    """

    starts: Array
    limits: Array
    are_open: Array
    nexts: Array
    steps: int
    are_first: Array
    is_exact: bool = False
    outcomes: Array = field(init=False)
    decided: Array = field(init=False)
    ends: Array = field(init=False)
    rely: Array = field(init=False)
    waiting: list[Threads] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outcomes, self.decided = np.zeros(len(self.starts), np.int8), self.limits.copy()
        self.ends = np.zeros((len(self.starts), self.steps), np.int64)
        self.rely = np.zeros(len(self.starts), bool)

    def again(self, places: Array) -> Searches:
        """Return some of them anew, which rely on no others."""
        starts, limits, are_open = self.starts[places], self.limits[places], self.are_open[places]
        return Searches(starts, limits, are_open, starts.copy(), self.steps, np.ones(len(places), bool), is_exact=True)

    def without_ended(self, threads: Threads) -> Threads:
        """Return the threads of searches that go on; the others have no more rows."""
        is_out = self.nexts[threads.searches] >= self.limits[threads.searches]
        if not is_out.any():
            return threads
        out, numbers = threads.take(np.flatnonzero(is_out)), threads.searches[is_out]
        self.outcomes[numbers] = np.where(self.are_open[numbers], Outcome.WAITING, Outcome.FAILED)
        self.waiting.append(out)
        return threads.take(np.flatnonzero(~is_out))

    def decide(self, numbers: Array, rows: Array, outcome: Outcome) -> None:
        """Note that rows have decided searches."""
        self.outcomes[numbers], self.decided[numbers] = outcome, rows
