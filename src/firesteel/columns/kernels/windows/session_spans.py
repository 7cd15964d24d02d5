"""Rows with the times that they cover, as arrays sorted by key and start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.segments import first_of_segments, last_of_segments, running_max
from firesteel.columns.orders import lexical_order, stable_order

Merge = Callable[[ColumnBatch, Array, int], ColumnBatch]
"""Merges rows, in the order of their arrival, of a number of sessions, given the session of each row."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Rows, or merged rows, of sessions.

    Attributes:
        rows: The rows.
        numbers: The number of the key of each.
        starts: The time of its first row (local ms).
        lasts: The time of its last row.
        arrivals: Numbers in the order in which they came.
        reach: If they are sorted, the latest of `lasts` of the same key up to each of them.
    """

    rows: ColumnBatch
    numbers: Array
    starts: Array
    lasts: Array
    arrivals: Array
    reach: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def length(self) -> int:
        """Return their number."""
        return self.rows.length

    def take(self, places: Array) -> Spans:
        """Return some of them, without their reach."""
        arrays = (self.numbers, self.starts, self.lasts, self.arrivals)
        return Spans(self.rows.take(places), *(array[places] for array in arrays))

    def numbered(self, numbers: Array) -> Spans:
        """Return them with other numbers of their keys."""
        return Spans(self.rows, numbers, self.starts, self.lasts, self.arrivals)

    def sorted(self) -> Spans:
        """Return them by key and start, with their reach."""
        by_time = self.take(lexical_order([self.numbers, self.starts]))
        reach = running_max(by_time.lasts, first_of_segments(by_time.numbers))
        return Spans(by_time.rows, by_time.numbers, by_time.starts, by_time.lasts, by_time.arrivals, reach)

    def segments(self, numbers: Array) -> tuple[Array, Array]:
        """Return where the rows of keys begin and end, if they are sorted."""
        return np.searchsorted(self.numbers, numbers), np.searchsorted(self.numbers, numbers, "right")

    def merged(self, gap: int, merge: Merge) -> Spans:
        """Return one row for each session of sorted rows; see `Merge`."""
        codes = session_codes(self, gap)
        first, final = np.flatnonzero(first_of_segments(codes)), np.flatnonzero(last_of_segments(codes))
        # No two rows share a session, so there is nothing to merge.
        if len(first) == self.length:
            return self
        order = np.argsort(self.arrivals)
        rows = merge(self.rows.take(order), codes[order], len(first))
        arrivals = np.minimum.reduceat(self.arrivals, first)
        return Spans(rows, self.numbers[first], self.starts[first], self.reach[final], arrivals, self.reach[final])


def concat_spans(parts: Sequence[Spans]) -> Spans:
    """Concatenate at least one part, without their reach."""
    names = ("numbers", "starts", "lasts", "arrivals")
    arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Spans(concat([part.rows for part in parts]), *arrays)


def session_codes(spans: Spans, gap: int) -> Array:
    """Return the number of the session of each of sorted rows, from 0 in their order."""
    begins = first_of_segments(spans.numbers)
    # By `reach` and not by the row before: a merged row may last longer than those that begin after it.
    begins[1:] |= spans.starts[1:] > spans.reach[:-1] + gap
    codes: Array = np.cumsum(begins) - 1
    return codes


@dataclass(frozen=True, slots=True)
class Ended:
    """Sessions that have ended, in the order of their ends.

    Attributes:
        rows: Their rows, session by session, in the order in which they came.
        codes: The number of the session of each row.
        starts: The start of each session (local ms).
        ends: The end of each session.
    """

    rows: ColumnBatch
    codes: Array
    starts: Array
    ends: Array


def in_order(spans: Spans, codes: Array, starts: Array, ends: Array) -> Ended:
    """Return sessions by their ends, each with its rows in the order of their arrival."""
    by_end = stable_order(ends)
    places = np.empty(len(ends), np.int64)
    places[by_end] = np.arange(len(ends))
    codes = places[codes]
    order = lexical_order([codes, spans.arrivals])
    return Ended(spans.rows.take(order), codes[order], starts[by_end], ends[by_end])
