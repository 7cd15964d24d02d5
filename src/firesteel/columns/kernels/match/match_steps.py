"""One row further in many matches at once. Flink: `NFA.computeNextStates`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_pattern import Step
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_threads import Taken, Threads
from firesteel.columns.orders import stable_order

Condition = Callable[[Taken], Array]
"""Returns which matches satisfy the condition of the variable of their last row."""


class Followed(NamedTuple):
    """What becomes of threads with their next rows.

    Attributes:
        threads: The threads that go on, those of one thread after the other.
        parents: The place of the former thread of each.
        counts: How many rows each has of its step.
    """

    threads: Threads
    parents: Array
    counts: Array

    def take(self, places: Array) -> Followed:
        """Return some of them."""
        return Followed(self.threads.take(places), self.parents[places], self.counts[places])


class Steps:
    """The steps of a pattern.

    Args:
        steps: The steps.
        conditions: The conditions of variables; without one, each row satisfies it.
    """

    def __init__(self, steps: Sequence[Step], conditions: Mapping[str, Condition]) -> None:
        self._steps = steps
        self._conditions = [conditions.get(step.name) for step in steps]
        self.lows = np.array([step.low for step in steps])
        self.is_unbounded = np.array([step.high is None for step in steps])
        # The last step that must have a row.
        self.last = int(np.flatnonzero(self.lows).max())
        self._counted = np.array([step.counted for step in steps])
        *firsts, self.state_count = np.cumsum([0, *(self._counted + 1)]).tolist()
        self._first_states = np.array(firsts)

    def __len__(self) -> int:
        return len(self._steps)

    def states(self, followed: Followed) -> Array:
        """Return a number for what threads may do with further rows, where conditions are about single rows."""
        steps = followed.threads.steps
        states: Array = self._first_states[steps] + np.minimum(followed.counts, self._counted[steps])
        return states

    def are_complete(self, followed: Followed) -> Array:
        """Return which threads are matches."""
        steps = followed.threads.steps
        complete: Array = (steps >= self.last) & (followed.counts >= self.lows[steps])
        return complete

    def follow(self, rows: MatchRows, threads: Threads, starts: Array, nexts: Array) -> Followed:
        """Return the ways in which threads take their next rows, the preferred ones first.

        A greedy loop (`A*`, `A+`, `A{n,}`, `A{n,m}`) takes every row that satisfies its condition, and the row after it
        must not satisfy it, even if the loop may have no further row.

        Args:
            rows: All rows.
            threads: The threads.
            starts: The place of the first row of each.
            nexts: The place of the next row of each.
        """
        found: list[tuple[int, Array, Array, Array]] = []
        # Those that may go on to a step, with the ends of their steps up to there.
        passed, passed_ends = np.zeros(0, np.int64), threads.ends[:0]
        for number, step in enumerate(self._steps):
            places = np.flatnonzero(threads.steps == number)
            ends = threads.ends[places]
            counts = nexts[places] - (ends[:, number - 1] if number else starts[places])
            if len(passed):
                places, ends = np.concatenate([places, passed]), np.concatenate([ends, passed_ends])
                counts = np.concatenate([counts, np.zeros(len(passed), np.int64)])
            if not len(places):
                continue
            tried = np.ones(len(places), bool)
            if step.high is not None and not step.is_greedy_loop:
                tried = counts < step.high
            takes = self._takes(number, rows, starts, nexts, places, ends, tried)
            leaves = counts >= step.low
            if step.is_greedy_loop:
                leaves &= ~takes
                if step.high is not None:
                    takes &= counts < step.high
            taking, leaving = np.flatnonzero(takes), np.flatnonzero(leaves)
            if len(taking):
                found.append((number, places[taking], ends[taking], counts[taking] + 1))
            passed, passed_ends = places[leaving], ends[leaving]
            passed_ends[:, number] = nexts[passed]
        return _in_order(found, threads)

    def _takes(
        self, step: int, rows: MatchRows, starts: Array, nexts: Array, places: Array, ends: Array, tried: Array
    ) -> Array:
        """Return which threads take their next row as one of a step."""
        condition = self._conditions[step]
        if condition is None:
            return tried
        if not tried.all():
            places, ends = places[tried], ends[tried]
        holds = condition(Taken(rows, starts[places], ends, nexts[places], step))
        if len(holds) == len(tried):
            return holds
        takes = np.zeros(len(tried), bool)
        takes[tried] = holds
        return takes


def _in_order(found: list[tuple[int, Array, Array, Array]], threads: Threads) -> Followed:
    if not found:
        none = np.zeros(0, np.int64)
        return Followed(threads.take(none), none, none)
    parents, ends, counts = (np.concatenate(part) for part in list(zip(*found, strict=True))[1:])
    steps = np.repeat([number for number, *_ in found], [len(places) for _, places, _, _ in found])
    if len(found) > 1 or (np.diff(parents) < 0).any():
        order = stable_order(parents)  # Steps ascend: what stays in a loop is preferred.
        parents, ends, counts, steps = parents[order], ends[order], counts[order], steps[order]
    return Followed(Threads(threads.searches[parents], steps, ends), parents, counts)
