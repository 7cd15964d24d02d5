"""The search for a match of MATCH_RECOGNIZE that starts at one row. Flink: `NFA`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from firesteel.columns.cells import Cell
from firesteel.columns.kernels.match.match_expressions import Matched
from firesteel.columns.kernels.match.match_pattern import Step

_SMALL = 1000
"""So many dead ends are not worth a look at which of them are of rows that are gone."""


class DeadEnds:
    """Steps of the pattern, with the number of their rows and the place of the next row, from where no match is found.

    Where conditions are about single rows, it does not matter which rows were matched before: a row is tried once for
    each step, however many matches may start before it.
    """

    def __init__(self) -> None:
        self._ends: set[tuple[int, int, int]] = set()
        self._removed = self._kept = 0

    def remove_rows(self, count: int) -> None:
        """Forget the first rows; the places of the others are counted from the first one that is left."""
        self._removed += count
        if len(self._ends) > 2 * self._kept + _SMALL:
            self._ends = {end for end in self._ends if end[2] >= self._removed}
            self._kept = len(self._ends)

    def has(self, step: int, taken: int, place: int) -> bool:
        """Return whether no match is found from somewhere."""
        return (step, taken, place + self._removed) in self._ends

    def add(self, step: int, taken: int, place: int) -> None:
        """Add where no match is found; if there is one after all, all dead ends are to be forgotten."""
        self._ends.add((step, taken, place + self._removed))


class _Point(NamedTuple):
    """A place of the search to go on from: a step of the pattern after some rows of it, and all rows before.

    Attributes:
        step: The step.
        taken: The number of rows of this step.
        length: The number of rows of the match.
        takes: Whether the next row is to be tried; otherwise all ways from here are.
    """

    step: int
    taken: int
    length: int
    takes: bool = False


class Search:
    """Searches for the match that starts at one row.

    The rules are those of Flink's NFA. A greedy loop (`A*`, `A+`, `A{n,}`, `A{n,m}`) takes every row that satisfies its
    condition, without backtracking if a later variable then finds no row. An optional variable (`A?`) and a reluctant
    loop (`A+?`) are left as early as possible, because the match that ends first wins.

    Args:
        steps: The steps of the pattern.
        take: Adds the next row as one of a variable if it satisfies its condition, and returns whether it does.
        groups: See `groups_of`.
        within: The maximum duration of a match (ms), or None.
        start: The place of the first row.
        dead_ends: What searches from earlier rows have found, to which this one adds; None if conditions are about
            more than a row.
    """

    def __init__(
        self,
        steps: tuple[Step, ...],
        take: Callable[[str, Matched], bool],
        groups: Mapping[str, Sequence[str]],
        within: int | None,
        start: int,
        dead_ends: DeadEnds | None,
    ) -> None:
        self._steps, self._take, self._within = steps, take, within
        self._matched = Matched(start, groups)
        self._points = [_Point(0, 0, 0)]
        self._is_over = False
        self.dead_ends = dead_ends
        self.waits = False

    def remove_rows(self, removed: int) -> None:
        """Forget the first rows, which are before the start."""
        self._matched.start -= removed
        if self.dead_ends is not None:
            self.dead_ends.remove_rows(removed)

    def run(self, rows: Sequence[Cell], now: int) -> Matched | None:
        """Return the match, or None; if the search waits for more rows it is to be run again when they have come.

        The points to go on from are a stack and no calls, as a match may have any number of rows.

        Args:
            rows: The rows of the partition, each with its time.
            now: The time up to which all rows have come.
        """
        self._matched.rows, self.waits = rows, False
        within = self._within
        self._is_over = within is not None and now - rows[self._matched.start][0] >= within
        points, matched, last = self._points, self._matched, len(self._steps)
        while points:
            point = points.pop()
            if len(matched.labels) > point.length:
                matched.back_to(point.length)
            if point.step == last:
                if point.length:
                    return matched
                continue
            ends = None if point.takes else self.dead_ends
            if ends is not None and ends.has(*self._end(point)):
                continue
            following = self._taken(point) if point.takes else self._ways(point)
            if self.waits:  # as in Flink, for rows that may make a match that begins here, whatever else there is
                points.append(point)
                return None
            if ends is not None:
                ends.add(*self._end(point))
            points += following
        return None

    def _end(self, point: _Point) -> tuple[int, int, int]:
        step = self._steps[point.step]
        # Without an upper bound it does not matter how many rows there are beyond the least number.
        taken = min(point.taken, step.low) if step.high is None else point.taken
        return point.step, taken, self._matched.start + point.length

    def _ways(self, point: _Point) -> list[_Point]:
        """Return the points after one, the one to be tried first last."""
        current = self._steps[point.step]
        if point.taken < current.low:
            return self._taken(point)
        if current.is_greedy_loop and (taken := self._taken(point)):
            return taken
        leaving = _Point(point.step + 1, 0, point.length)
        if current.is_greedy_loop or point.taken == current.high:
            return [leaving]
        return [_Point(point.step, point.taken, point.length, True), leaving]

    def _taken(self, point: _Point) -> list[_Point]:
        """Take the next row if it satisfies the condition of the step's variable, and return the point after it."""
        current, rows = self._steps[point.step], self._matched.rows
        place = self._matched.start + point.length
        if current.high is not None and point.taken >= current.high:
            return []
        if place >= len(rows):
            self.waits = not self._is_over
            return []
        within = self._within
        if within is not None and rows[place][0] - rows[self._matched.start][0] >= within:
            return []
        if not self._take(current.name, self._matched):
            return []
        return [_Point(point.step, point.taken + 1, point.length + 1)]
