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

    def add(self, step: int, taken: int, place: int) -> bool:
        """Add where no match is found, and return whether that is new.

        If there is one after all, all dead ends are to be forgotten.
        """
        end = (step, taken, place + self._removed)
        if end in self._ends:
            return False
        self._ends.add(end)
        return True


_Thread = tuple[int, int, Matched]
"""A match so far: the step of its last row, or the first step, the number of rows of that step, and all rows."""


class Search:
    """Searches for the match that starts at one row.

    The rules are those of Flink's NFA: all ways to match the rows so far are followed from row to row, so the match
    that ends first wins. Of those that end with the same row it is the one whose rows are of earlier variables. A
    greedy loop (`A*`, `A+`, `A{n,}`, `A{n,m}`) takes every row that satisfies its condition, and the row after it must
    not satisfy it, even if the loop may have no further row.

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
        # The last step that must have a row.
        self._last = max((place for place, step in enumerate(steps) if step.low), default=0)
        self._start, self._length = start, 0
        self._threads: list[_Thread] = [(0, 0, Matched(start, groups))]
        self.dead_ends = dead_ends
        self.waits = False

    def remove_rows(self, removed: int) -> None:
        """Forget the first rows, which are before the start."""
        self._start -= removed
        for _, _, matched in self._threads:
            matched.start = self._start
        if self.dead_ends is not None:
            self.dead_ends.remove_rows(removed)

    def run(self, rows: Sequence[Cell], now: int) -> Matched | None:
        """Return the match, or None; if the search waits for more rows it is to be run again when they have come.

        Args:
            rows: The rows of the partition, each with its time.
            now: The time up to which all rows have come.
        """
        begun, within = rows[self._start][0], self._within
        self.waits = False
        while self._threads:
            place = self._start + self._length
            if place >= len(rows):
                # As in Flink, for rows that may make a match that begins here.
                self.waits = within is None or now - begun < within
                return None
            if within is not None and rows[place][0] - begun >= within:
                return None
            threads, self._threads = self._threads, []
            for step, taken, matched in threads:
                matched.rows = rows
                self._threads += self._followed(step, taken, matched, True)
            self._length += 1
            for step, taken, matched in self._threads:
                if step >= self._last and taken >= self._steps[step].low:
                    return matched
        return None

    def _followed(self, step: int, taken: int, matched: Matched, is_last: bool) -> list[_Thread]:
        """Return the ways in which a match takes the next row, the first one is the one to be preferred.

        Args:
            step: The step of its last row, or one that it may go on to.
            taken: The number of its rows of the step.
            matched: The match, which stays as it is unless this is its last use.
            is_last: Whether it is.
        """
        if step == len(self._steps):
            return []
        current, ends = self._steps[step], self.dead_ends
        # Without an upper bound it does not matter how many rows there are beyond the least number.
        least = min(taken, current.low) if current.high is None else taken
        if ends is not None and not ends.add(step, least, self._start + self._length):
            return []
        may_leave, is_full = taken >= current.low, current.high is not None and taken >= current.high
        later: list[_Thread] = []
        if may_leave and not current.is_greedy_loop:
            later = self._followed(step + 1, 0, matched, False)
        if (current.is_greedy_loop or not is_full) and self._take(current.name, matched):
            taking = matched if is_last or is_full else matched.copy()
            if taking is not matched or is_full:
                matched.back_to(self._length)
            return later if is_full else [(step, taken + 1, taking), *later]
        if may_leave and current.is_greedy_loop:
            return self._followed(step + 1, 0, matched, is_last)
        return later
