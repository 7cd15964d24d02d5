"""INTERSECT and EXCEPT. Flink: `ReplicateRowsFunction` over an aggregate, semi and anti joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import CleaningTime, taken_values
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers
from firesteel.columns.kernels.rows.saved_rows import LEAST, SavedRows
from firesteel.columns.kernels.rows.segments import count_on, distinct
from firesteel.columns.rows import DELETE, INSERT, batch_of, signs_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class SetOperationFactory:
    """INTERSECT or EXCEPT, with or without ALL."""

    kind: str
    all: bool
    types: tuple[DataType, ...]

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout(f"{self.kind}{' ALL' if self.all else ''}", self.types)

    def make(self) -> Kernel:
        """Return the kernel."""
        return SetOperation(self)


class SetOperation(PlannedKernel[SetOperationFactory]):
    """Counts each row on both sides and derives its multiplicity in the result from the two counts.

    State: a log of rows with both counts and the time of the last write (ms), of which the last entry of a row counts.
    """

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._columns = tuple(range(len(self._plan.types)))
        self._log = SavedRows(context.table("counted rows"), self._columns, context.max_parallelism)
        self._numbers = KeyNumbers(context.spill())
        self._counts = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
        self._written = np.zeros(0, np.int64)
        self._unsaved: list[tuple[ColumnBatch, Array]] = []
        for rows in self._log.rows():
            *columns, left, right, written = rows.columns
            self._set(rows.with_columns(columns), left.to_numpy(), right.to_numpy(), written.to_numpy())
        types = [arrow_type(kind) for kind in self._plan.types]
        for entries, written in taken_values(context, "counts"):
            # An earlier release had an entry of both counts and the row.
            left, right = (np.array([entry[side] for entry in entries], np.int64) for side in (0, 1))
            self._set(batch_of([entry[2] for entry in entries], types), left, right, written)
            self._log.is_outdated = True
        self._left = len(self._counted())
        self._cleaning = CleaningTime(context.state_ttl_ms, context.now_ms)

    def _set(self, rows: ColumnBatch, left: Array, right: Array, written: Array) -> None:
        numbers = self._find(rows)
        self._counts[0][numbers], self._counts[1][numbers], self._written[numbers] = left, right, written

    def _find(self, rows: ColumnBatch) -> Array:
        numbers = self._numbers.find(rows, self._columns)
        missing = len(self._numbers) - len(self._written)
        if missing > 0:
            more = np.zeros(max(missing, len(self._written)), np.int64)
            self._counts = [np.concatenate([counts, more]) for counts in self._counts]
            self._written = np.concatenate([self._written, more])
        return numbers

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Count the rows; in streaming mode emit the change of each row's multiplicity."""
        if not batch.length:
            return
        signs = signs_of(batch)
        steps = np.ones(batch.length, np.int64) if signs is None else signs
        numbers = self._find(batch)
        touched = distinct(numbers)
        self._left -= int(np.count_nonzero(self._have_counts(touched)))
        self._expire(touched)
        other = self._counts[1 - index][numbers]
        after = count_on(self._counts[index], numbers, steps)
        self._left += int(np.count_nonzero(self._have_counts(touched)))
        self._written[touched] = self.context.now_ms()
        if self.context.is_streaming:
            self._unsaved.append((replace(batch, kinds=None), numbers))
            sides = [(after - steps, other), (after, other)] if index == 0 else [(other, after - steps), (other, after)]
            before, now = (self._times(*side) for side in sides)
            self._emit(batch, now - before)

    def _expire(self, numbers: Array) -> None:
        if self.context.state_ttl_ms:
            expired = numbers[self._written[numbers] + self.context.state_ttl_ms <= self.context.now_ms()]
            for counts in self._counts:
                counts[expired] = 0

    def _emit(self, batch: ColumnBatch, changes: Array) -> None:
        places = np.repeat(np.arange(batch.length), np.abs(changes))
        if len(places):
            kinds = np.where(changes[places] > 0, INSERT, DELETE).astype(np.int8)
            self.context.emit(replace(batch.take(places), kinds=kinds if kinds.any() else None))

    def _times(self, left: Array, right: Array) -> Array:
        left, right = np.maximum(left, 0), np.maximum(right, 0)
        if self._plan.kind == "INTERSECT":
            found = np.minimum(left, right)
        else:
            found = np.maximum(left - right, 0) if self._plan.all else np.where(right > 0, 0, left)
        return found if self._plan.all else np.minimum(found, 1)

    def end(self) -> None:
        """Emit the rows of a bounded query."""
        parts = [] if self.context.is_streaming else list(self._rows())
        if parts:
            numbers = np.concatenate([numbers for _, numbers in parts])
            rows = concat([rows for rows, _ in parts]).take(np.argsort(numbers))
            self._emit(rows, self._times(*(counts[: len(numbers)] for counts in self._counts)))

    def _rows(self) -> Iterator[tuple[ColumnBatch, Array]]:
        """Yield all rows and their numbers, in parts."""
        types = [arrow_type(kind) for kind in self._plan.types]
        for columns, numbers in self._numbers.parts():
            found = (column.cast(kind) for column, kind in zip(columns, types, strict=True))
            yield ColumnBatch(tuple(found), len(numbers)), numbers

    def flush(self) -> None:
        """Write the counts that have changed, and forget rows without any from time to time."""
        if self._cleaning.is_due():
            # The log is not written anew for them: the times in it tell a restore that they have expired.
            self._expire(np.arange(len(self._numbers)))
            self._left = len(self._counted())
            self._cleaning.done()
        changed = starmap(self._saved_form, self._unsaved)
        self._log.save(changed, self._left, self._left_rows)
        self._unsaved.clear()
        if len(self._numbers) > 2 * self._left + LEAST:
            left = self._counted()
            self._numbers.keep(left)
            self._counts, self._written = [counts[left] for counts in self._counts], self._written[left]

    def _counted(self) -> Array:
        """Return the numbers of the rows that have a count."""
        numbers = np.arange(len(self._numbers))
        return numbers[self._have_counts(numbers)]

    def _have_counts(self, numbers: Array) -> Array:
        found: Array = (self._counts[0][numbers] != 0) | (self._counts[1][numbers] != 0)
        return found

    def _left_rows(self) -> Iterator[ColumnBatch]:
        for rows, numbers in self._rows():
            is_left = self._have_counts(numbers)
            yield self._saved_form(rows.filter(is_left), numbers[is_left])

    def _saved_form(self, rows: ColumnBatch, numbers: Array) -> ColumnBatch:
        values = (*self._counts, self._written)
        return rows.with_columns([*rows.columns, *(pa.array(part[numbers]) for part in values)])
