"""The search for a match of MATCH_RECOGNIZE that starts at one row. Flink: `NFA`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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


_Point = tuple[int, int, int, bool]
"""A place of the search to go on from: a step of the pattern, the number of rows of it and of the whole match so far,
and whether only the next row is to be tried, and not all ways from here."""


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
        self._points: list[_Point] = [(0, 0, 0, False)]
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
            step, taken, length, takes = point
            if len(matched.labels) > length:
                matched.back_to(length)
            if step == last:
                if length:
                    return matched
                continue
            current, ends = self._steps[step], None if takes else self.dead_ends
            # Without an upper bound it does not matter how many rows there are beyond the least number.
            least = min(taken, current.low) if current.high is None else taken
            if ends is not None and ends.has(step, least, matched.start + length):
                continue
            must_take = takes or taken < current.low
            is_taken = (must_take or current.is_greedy_loop) and self._takes(current, taken, length)
            if self.waits:  # as in Flink, for rows that may make a match that begins here, whatever else there is
                points.append(point)
                return None
            if ends is not None:
                ends.add(step, least, matched.start + length)
            if is_taken:
                points.append((step, taken + 1, length + 1, False))
            elif not must_take:
                if not (current.is_greedy_loop or taken == current.high):
                    points.append((step, taken, length, True))  # later: leaving the step comes first
                points.append((step + 1, 0, length, False))
        return None

    def _takes(self, current: Step, taken: int, length: int) -> bool:
        """Take the next row if it satisfies the condition of the step's variable, and return whether it does."""
        rows, start = self._matched.rows, self._matched.start
        if current.high is not None and taken >= current.high:
            return False
        if start + length >= len(rows):
            self.waits = not self._is_over
            return False
        if self._within is not None and rows[start + length][0] - rows[start][0] >= self._within:
            return False
        return self._take(current.name, self._matched)
