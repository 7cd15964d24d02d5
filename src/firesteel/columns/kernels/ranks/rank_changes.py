"""What rows that come and go, one after the other, change among the best rows of their partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.ranks.prefix_ranks import PrefixRanks
from firesteel.columns.kernels.rows.changes import HIDDEN, hidden, replacements
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.rows.live_rows import are_equal
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.rows import DELETE, INSERT, UPDATE_BEFORE

_AT_ONCE = 1 << 18
"""Number of changed ranks that are emitted together, about."""

Taken = tuple[ColumnBatch, list[Array]]


@dataclass(frozen=True)
class RankEvents:
    """Rows that come and go, sorted by partition and time; rows that were there before come first.

    Attributes:
        elements: The place of each row among those of its partition, in the order by which they are ranked.
        starts: Where the events of the same partition begin.
        signs: 1 for a row that comes, -1 for one that goes; None if all come.
        rows: The ids of the ranked rows, by partition and place.
        firsts: Where the rows of the partition of each event begin in `rows`.
        take: Returns the rows with some ids, and for each array of ids their places there; -1 stands for no row.
    """

    elements: Array
    starts: Array
    signs: Array | None
    rows: Array
    firsts: Array
    take: Callable[[Array, Array], Taken]


class RankChanges:
    """What steps change, in their order; in each a row goes, another comes, or both at once.

    Args:
        events: The events.
        gone: The event of each step by which a row goes; -1 for none.
        come: The one by which a row comes, which follows the other one if there are both.
        ends: The number of rows of its partition that are among the best, for each step.
        emits_before: Whether `-U` comes before an update.
    """

    def __init__(self, events: RankEvents, gone: Array, come: Array, ends: Array, emits_before: bool) -> None:
        self._events, self._ends, self._emits_before = events, ends, emits_before
        self._goes, self._comes = gone >= 0, come >= 0
        self._gone, self._come = gone, come
        self._first = np.where(self._goes, gone, come)
        self._before = self._first - events.starts[self._first]
        self._after = np.where(self._comes, come, gone) + 1 - events.starts[self._first]

    @cached_property
    def _prefixes(self) -> PrefixRanks:
        return PrefixRanks(self._events.elements, self._events.starts, self._events.signs)

    @cached_property
    def _counts(self) -> Array:
        """Return how many rows the partition of each step has before it."""
        return self._prefixes.counts(self._first, self._before)

    def _elements(self, events: Array, is_there: Array, missing: int) -> Array:
        return np.where(is_there, self._events.elements[events], missing)

    def _at(self, chosen: Array, ranks: Array, missing: int) -> Array:
        """Return the place of the row with a rank before each chosen step; `missing` for the others."""
        found, steps = np.full(len(chosen), missing), np.flatnonzero(chosen)
        found[steps] = self._prefixes.at(self._first[steps], self._before[steps], ranks[steps])
        return found

    def _ids(self, steps: Array, elements: Array) -> Array:
        """Return the ids of rows of the partitions of steps by their places; -1 for a negative place."""
        found = self._events.rows[self._events.firsts[self._first[steps]] + np.maximum(elements, 0)]
        return np.where(elements < 0, -1, found)

    def parts(self, start: int, outputs_rank: bool, kinds: tuple[int, int] = (DELETE, INSERT)) -> Iterator[ColumnBatch]:
        """Yield the changes of the ranks from `start`, from 1, to the end.

        Args:
            start: The first rank.
            outputs_rank: Whether the rank is the last column.
            kinds: The kinds of a row that ceases to be one of the best, and of the one in its place, if ranks do not
                show.
        """
        if outputs_rank or start > 1:
            yield from self._of_ranks(start, outputs_rank)
        else:
            yield self._of_rows(kinds)

    def _of_rows(self, kinds: tuple[int, int]) -> ColumnBatch:
        """Return each row that becomes one of the best, after the one that ceases to be one of them."""
        behind, ends = len(self._events.elements), self._ends
        gone, come = self._elements(self._gone, self._goes, -1), self._elements(self._come, self._comes, behind)
        last = self._at(self._counts >= ends, ends - 1, behind)
        leaves = self._goes & (gone <= last)
        follower = self._at(leaves & (self._counts > ends), ends, behind)
        bound = np.where(leaves, follower, last)
        enters = self._comes & (come < bound)
        before = np.where(leaves, gone, np.where(enters & (last < behind), last, -1))
        after = np.where(enters, come, np.where(leaves & (follower < behind), follower, -1))
        steps = np.flatnonzero(leaves | enters)
        before, after = before[steps], after[steps]
        hides = kinds[0] == UPDATE_BEFORE and not self._emits_before
        is_hidden = hides & enters[steps] & (before >= 0)
        before[is_hidden] = -1
        rows, (before, after) = self._events.take(self._ids(steps, before), self._ids(steps, after))
        # A row that moves up into the place of an equal one changes nothing.
        moved_up = np.flatnonzero(~enters[steps] & (after >= 0))
        is_changed = np.ones(len(steps), bool)
        is_changed[moved_up] = ~are_equal(rows.take(before[moved_up]), rows.take(after[moved_up]))
        if hides:
            before = np.where(is_hidden, HIDDEN, hidden(before, after))
        return replacements(rows, before[is_changed], after[is_changed], kinds)

    def _of_ranks(self, start: int, outputs_rank: bool) -> Iterator[ColumnBatch]:
        gone, come = self._counts.copy(), self._counts - 1
        gone[self._goes], come[self._comes] = self._ranks(self._gone[self._goes]), self._ranks(self._come[self._comes])
        low = np.maximum(np.minimum(gone, come), start - 1)
        high = np.maximum(np.minimum(np.maximum(gone, come) + 1, self._ends), low)
        part = np.cumsum(high - low) // _AT_ONCE
        for chosen in np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1):
            steps = np.repeat(chosen, (high - low)[chosen])
            ranks = ranges(low[chosen], high[chosen])
            rows, (before, after) = self._events.take(
                self._with_ranks(steps, self._before[steps], ranks), self._with_ranks(steps, self._after[steps], ranks)
            )
            values = np.append(groups_by(rows, range(len(rows.columns))).codes, -1)
            is_changed = np.flatnonzero(values[before] != values[after])
            before, after, ranks = before[is_changed], after[is_changed], ranks[is_changed]
            if not self._emits_before:
                before = hidden(before, after)
            found = replacements(rows, before, after)
            if outputs_rank:
                numbers = pa.array(np.repeat(ranks + 1, (before >= 0).astype(int) + (after >= 0)))
                found = found.with_columns([*found.columns, numbers])
            yield found

    def _ranks(self, events: Array) -> Array:
        """Return the rank of the row of each event before the event, from 0."""
        lengths = events - self._events.starts[events]
        return self._prefixes.smaller(events, lengths, self._events.elements[events])

    def _with_ranks(self, steps: Array, lengths: Array, ranks: Array) -> Array:
        """Return the ids of the rows that have ranks after the first events of steps; -1 where there are fewer rows."""
        places, found = self._first[steps], np.full(len(steps), -1)
        is_there = ranks < self._prefixes.counts(places, lengths)
        found[is_there] = self._prefixes.at(places[is_there], lengths[is_there], ranks[is_there])
        return self._ids(steps, found)


def places_of_ids(count: int, ids: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Return the ids that occur, ascending, and the place of each given id among them; -1 stands for no row.

    Args:
        count: The number of ids there are, from 0.
        ids: The given ids.
    """
    is_needed = np.zeros(count + 1, bool)
    for part in ids:
        is_needed[part] = True
    # The last place is that of the id -1, which stands for no row: it is not needed, and its place is -1 again.
    is_needed[-1] = False
    places = np.cumsum(is_needed) - 1
    places[-1] = -1
    return np.flatnonzero(is_needed), [places[part] for part in ids]
