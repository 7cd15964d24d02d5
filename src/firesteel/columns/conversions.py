"""Columns in another Arrow type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array
from firesteel.columns.decimal_words import int64_of
from firesteel.columns.pylist import pylist

_COMPACT_PRECISION = 18
"""Up to this precision Flink divides a long by a power of ten, which may round twice; beyond, it rounds once."""

_EXACT_INTEGERS, _EXACT_POWERS = 2**53, 22
"""A double is equal to each integer and to each power of ten up to these, so that their quotient is rounded once."""


def converted(column: pa.Array | pa.Scalar, target: pa.DataType, *, safe: bool = True) -> pa.Array | pa.Scalar:
    """Return a column as another type by Arrow's cast, but for decimals that become floating point numbers."""
    if pa.types.is_decimal(column.type) and pa.types.is_floating(target):
        column = doubles_of(column)
    return column if column.type == target else column.cast(target, safe=safe)


def doubles_of(column: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    """Return decimals as DOUBLE. Flink: `DecimalDataUtils.doubleValue`.

    Arrow multiplies by a power of ten that no double is equal to, and makes 0.30000000000000004 of 0.3.
    """
    if isinstance(column, pa.Scalar):
        return doubles_of(pa.array([column.as_py()], column.type))[0]
    whole, kind = int64_of(column), column.type
    if whole is None or not _divides(whole, kind):
        return pa.array([None if value is None else float(value) for value in pylist(column)], pa.float64())
    nulls: Array | None = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(np.asarray(whole, np.float64) / float(10**kind.scale), mask=nulls)


def _divides(whole: Array | int, kind: pa.DataType) -> bool:
    """Return whether the quotients of unscaled values and a power of ten are what Flink computes."""
    is_exact = kind.scale <= _EXACT_POWERS and np.abs(whole).max(initial=0) <= _EXACT_INTEGERS
    return kind.precision <= _COMPACT_PRECISION or bool(is_exact)
