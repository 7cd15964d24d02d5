"""MIN and MAX of floats over frames, where NaN and the sign of zero decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.functions.accumulators import State
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.vector_calls import Fields, Fold, VectorExtreme

_NAN_FIRST = 2


def _earlier(first: Array, later: Array) -> Array:
    return np.where(first != 0, first, later)


class RunningExtreme(VectorExtreme):
    """MIN and MAX from the first row on: as in Java, `later > first ? later : first`.

    So the first of equal zeros stays, and NaN stays if it comes first and is skipped if it comes later.
    """

    @property
    def folds(self) -> tuple[Fold, ...]:
        """Return how the parts of states are added."""
        is_better = np.less if self.functions[0] is np.minimum else np.greater

        def better(first: Array, later: Array) -> Array:
            return np.where(is_better(later, first), later, first)

        return better, np.add, _earlier

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the value of each row, whether it counts, and whether it is NaN (2) or another number (1)."""
        values, counts = super().contributions(batch)
        is_nan = np.isnan(values)
        return [np.where(is_nan, self._identity, values), counts, np.where(counts == 0, 0, 1 + is_nan)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the states of no rows; others are not kept as Python objects."""
        values, counts = super().load(states)
        return [values, counts, np.zeros(len(states), np.int64)]

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the extremes, and a mask of the rows without one."""
        return np.where(fields[2] == _NAN_FIRST, np.nan, fields[0]).astype(self.dtype), fields[1] == 0


class SlidingExtreme(VectorExtreme):
    """MIN and MAX of frames that rows leave: in the order of Java's `Double.compareTo`, in which NaN is the largest."""

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        self._least = np.iinfo(np.int64).min if self.functions[0] is np.maximum else np.iinfo(np.int64).max

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return a number in the order of the value of each row, and whether it counts."""
        values, counts = super().contributions(batch)
        bits = np.where(np.isnan(values), np.nan, values).astype(np.float64).view(np.int64)
        ordered = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
        return [np.where(counts == 0, self._least, ordered), counts]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the states of no rows; others are not kept as Python objects."""
        return [np.full(len(states), self._least), np.zeros(len(states), np.int64)]

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the extremes, and a mask of the rows without one."""
        ordered = np.where(fields[1] == 0, 0, fields[0])
        bits = np.where(ordered < 0, ordered ^ np.int64(2**63 - 1), ordered)
        return bits.view(np.float64).astype(self.dtype), fields[1] == 0


def over_extreme(call: VectorExtreme, is_bounded: bool) -> VectorExtreme:
    """Return the call in a form that is exact over frames, which may be bounded."""
    if not pa.types.is_floating(call.type):
        return call
    return SlidingExtreme(call.plan) if is_bounded else RunningExtreme(call.plan)
