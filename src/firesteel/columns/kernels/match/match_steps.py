"""One row further in many matches at once. Flink: `NFA.computeNextStates`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_pattern import Step
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_running import RunningValues
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
        running: The aggregates of conditions.
    """

    def __init__(self, steps: Sequence[Step], conditions: Mapping[str, Condition], running: RunningValues) -> None:
        self._steps = steps
        self._running = running
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

    def begin(self, searches: Array) -> Threads:
        """Return a thread without rows for each search."""
        return Threads.beginning(searches, len(self._steps), self._running.initial)

    def ahead(self, threads: Threads, rows: MatchRows, places: Array, counts: Array) -> Threads:
        """Return each thread before each of so many rows from a place on, as if it stayed in its loop."""
        copied = threads.take(np.repeat(np.arange(len(threads)), counts))
        return replace(copied, fields=self._running.ahead(threads, rows, places, counts)) if copied.fields else copied

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
        found: list[tuple[Array, ...]] = []
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
            fields = tuple([part[places] for part in threads.fields])
            fields = self._running.after(fields, rows, nexts[places], number)
            takes = self._takes(Taken(rows, starts[places], ends, nexts[places], number, fields), tried)
            leaves = counts >= step.low
            if step.is_greedy_loop:
                leaves &= ~takes
                if step.high is not None:
                    takes &= counts < step.high
            taking, leaving = np.flatnonzero(takes), np.flatnonzero(leaves)
            if len(taking):
                steps = np.full(len(taking), number)
                taken = [part[taking] for part in fields]
                found.append((places[taking], counts[taking] + 1, steps, ends[taking], *taken))
            passed, passed_ends = places[leaving], ends[leaving]
            passed_ends[:, number] = nexts[passed]
        return _in_order(found, threads)

    def _takes(self, taken: Taken, tried: Array) -> Array:
        """Return which threads take their next row as one of a step, of those that may."""
        condition = self._conditions[taken.step]
        if condition is None:
            return tried
        if tried.all():
            return condition(taken)
        takes = np.zeros(len(tried), bool)
        takes[tried] = condition(taken.take(np.flatnonzero(tried)))
        return takes


def _in_order(found: list[tuple[Array, ...]], threads: Threads) -> Followed:
    if not found:
        none = np.zeros(0, np.int64)
        return Followed(threads.take(none), none, none)
    parts = [np.concatenate(part) for part in zip(*found, strict=True)]
    if len(found) > 1 or (np.diff(parts[0]) < 0).any():
        order = stable_order(parts[0])  # Steps ascend: what stays in a loop is preferred.
        parts = [part[order] for part in parts]
    parents, counts, *rest = parts
    return Followed(Threads.of([threads.searches[parents], *rest]), parents, counts)
