"""The search for the matches that start at many rows at once. Flink: `NFA`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_memory import Memory
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_searches import Outcome, Searches
from firesteel.columns.kernels.match.match_steps import Followed, Steps
from firesteel.columns.kernels.match.match_threads import Threads
from firesteel.columns.kernels.rows.segments import first_of_segments, ranges

_FEW = 512
"""Fewer threads look at several rows at once."""

_AHEAD = 4096
"""How many rows these are in all."""

_IN_VAIN = 32
"""Searches are given up, but for the first one of each partition, once they take more rows on average."""


@dataclass(slots=True)
class _Tries:
    """Threads with their next rows, or with rows behind these, as if they had stayed in their loops until then.

    Attributes:
        firsts: The place of the first try of each search.
        nexts: The place of the row of each try.
        owners: The try of each thread.
        threads: The threads.
    """

    firsts: Array
    nexts: Array
    owners: Array
    threads: Threads

    @classmethod
    def of(cls, steps: Steps, rows: MatchRows, threads: Threads, owners: Array, nexts: Array, widths: Array) -> _Tries:
        """Return so many tries of each search.

        Args:
            steps: The steps of the pattern.
            rows: All rows.
            threads: The threads.
            owners: The place of the search of each.
            nexts: The place of the next row of each search.
            widths: The number of rows of each search; 1 if it has several threads.
        """
        firsts = np.cumsum(widths) - widths
        if len(firsts) == int(widths.sum()):
            return cls(firsts, nexts, owners, threads)
        ahead = np.arange(int(widths.sum())) - np.repeat(firsts, widths)
        copies = widths[owners]
        tries = ranges(firsts[owners], firsts[owners] + copies)
        return cls(firsts, np.repeat(nexts, widths) + ahead, tries, steps.ahead(threads, rows, nexts[owners], copies))

    @property
    def lasts(self) -> Array:
        """The place of the last try of each search."""
        lasts: Array = np.append(self.firsts[1:], len(self.nexts)) - 1
        return lasts

    def chosen(self, followed: Followed, is_complete: Array) -> Array:
        """Return the first try of each search in which more happens than that the loop goes on, or else the last."""
        lasts = self.lasts
        if len(lasts) == len(self.nexts):
            return lasts
        owners = self.owners[followed.parents]
        stays = (followed.threads.steps == self.threads.steps[followed.parents]) & ~is_complete
        count = len(self.nexts)
        goes_on = (np.bincount(owners, minlength=count) == 1) & (np.bincount(owners[stays], minlength=count) == 1)
        first = np.minimum.reduceat(np.where(goes_on, count, np.arange(count)), self.firsts)
        found: Array = np.minimum(first, lasts)
        return found


class Search:
    """Searches in the rows of partitions.

    The rules are those of Flink's NFA: all ways to match the rows so far are followed from row to row, so the match
    that ends first wins. Of those that end with the same row it is the one whose rows are of earlier variables.

    Args:
        steps: The steps of the pattern.
        rows: The rows, those of a partition one after the other.
        looks_ahead: Whether conditions may be asked about rows that a match does not reach.
        are_local: Whether conditions are about single rows only, so that it does not matter which rows were taken.
        memory: What searches know of one another; None if they differ.
    """

    def __init__(
        self, steps: Steps, rows: MatchRows, looks_ahead: bool, are_local: bool, memory: Memory | None
    ) -> None:
        self._steps, self._rows = steps, rows
        self._looks_ahead, self._are_local, self._memory = looks_ahead, are_local, memory

    def begin(self, searches: Array) -> Threads:
        """Return a thread without rows for each search."""
        return self._steps.begin(searches)

    def run(self, searches: Searches, threads: Threads) -> None:
        """Follow threads until each search has an outcome, or is given up as others that are before it are long."""
        if self._memory is not None:
            self._memory.begin(searches)
        # A search that was long before it waited goes on for long: it looks as far ahead as it has come.
        ahead = max(1, int((searches.nexts - searches.starts).min()))
        left = _IN_VAIN * len(searches.starts)
        while len(threads := searches.without_ended(threads)):
            left -= len(threads)
            if left < 0 and self._memory is None and not (are_first := searches.are_first[threads.searches]).all():
                # Those that remember one another stop by themselves.
                threads = threads.take(np.flatnonzero(are_first))
                continue
            is_few = self._looks_ahead and len(threads) < _FEW
            ahead = max(1, min(ahead, _AHEAD // len(threads))) if is_few else 1
            is_first = first_of_segments(threads.searches)
            numbers, owners = threads.searches[is_first], np.cumsum(is_first) - 1
            widths = self._widths(searches, threads, numbers, owners, ahead)
            tries = _Tries.of(self._steps, self._rows, threads, owners, searches.nexts[numbers], widths)
            threads, is_at_end = self._advance(searches, numbers, tries)
            ahead = 2 * ahead if is_at_end else 1
        if self._memory is not None:
            self._memory.settle(searches)

    def _widths(self, searches: Searches, threads: Threads, numbers: Array, owners: Array, ahead: int) -> Array:
        widths = np.ones(len(numbers), np.int64)
        if ahead > 1:
            can_loop = self._steps.is_unbounded[threads.steps] & (np.bincount(owners)[owners] == 1)
            loops = owners[can_loop]
            widths[loops] = np.minimum(ahead, (searches.limits - searches.nexts)[numbers[loops]])
        return widths

    def _advance(self, searches: Searches, numbers: Array, tries: _Tries) -> tuple[Threads, bool]:
        """Take a row in each search; return the threads that go on, and whether all may look further ahead."""
        starts, nexts = searches.starts[tries.threads.searches], tries.nexts[tries.owners]
        followed = self._steps.follow(self._rows, tries.threads, starts, nexts)
        is_complete = self._steps.are_complete(followed)
        chosen = tries.chosen(followed, is_complete)
        rows = tries.nexts[chosen]
        searches.nexts[numbers] = rows + 1
        is_at_end = True
        if len(chosen) < len(tries.nexts):
            is_chosen = np.zeros(len(tries.nexts), bool)
            is_chosen[chosen] = True
            kept = np.flatnonzero(is_chosen[tries.owners[followed.parents]])
            followed, is_complete = followed.take(kept), is_complete[kept]
            is_at_end = bool((chosen == tries.lasts).all())
        self._decide(searches, numbers, rows, followed, is_complete)
        is_unknown = searches.outcomes[followed.threads.searches] == Outcome.UNKNOWN
        if not is_unknown.all():
            followed = followed.take(np.flatnonzero(is_unknown))
        if self._are_local and len(followed.parents):
            followed = self._distinct(searches, followed)
        return followed.threads, is_at_end

    def _decide(self, searches: Searches, numbers: Array, rows: Array, followed: Followed, is_complete: Array) -> None:
        """Note the matches, and which searches have no threads left."""
        left = np.zeros(len(searches.starts), bool)
        left[followed.threads.searches] = True
        has_failed = ~left[numbers]
        searches.decide(numbers[has_failed], rows[has_failed], Outcome.FAILED)
        places = np.flatnonzero(is_complete)
        if len(places):
            places = places[first_of_segments(followed.threads.searches[places])]
            found = followed.threads.take(places)
            ends = searches.nexts[found.searches]
            is_behind = np.arange(searches.steps) >= found.steps[:, None]
            searches.ends[found.searches] = np.where(is_behind, ends[:, None], found.ends)
            searches.decide(found.searches, ends - 1, Outcome.MATCHED)

    def _distinct(self, searches: Searches, followed: Followed) -> Followed:
        """Return one of the threads of a search that find the same, and none of those that others have found."""
        states = self._steps.states(followed)
        numbers = followed.threads.searches
        is_first = first_of_segments(numbers)
        if not is_first.all():
            _, kept = np.unique(numbers * self._steps.state_count + states, return_index=True)
            if len(kept) < len(numbers):
                kept.sort()
                followed, states = followed.take(kept), states[kept]
                numbers, is_first = numbers[kept], is_first[kept]
        if self._memory is None:
            return followed
        relies = self._memory.visit(searches, numbers, is_first, states)
        return followed.take(np.flatnonzero(~relies)) if relies.any() else followed
