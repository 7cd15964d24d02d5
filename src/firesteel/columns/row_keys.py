"""The equality of values in rows: what counts as one group, one key, or the same row.

NaN equals NaN and is greater than all other numbers, as in binary rows and sorted runs of Flink; 0.0 equals -0.0.
Python and Arrow compare NaN as unequal to itself: each row with one would be a group of its own, and could not be
retracted. So kernels take the values of rows from `python_values`, and compare keys by `freeze` and `key_column`.

Expressions such as `x = y` in WHERE follow Java, where NaN equals nothing.

Why: `docs/decisions/0041-equality-of-rows.md`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.cells import Array
from firesteel.columns.pylist import pylist


class _NotANumber(float):
    """The only NaN in rows: equal to itself, and after all other numbers in their order."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and math.isnan(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: float) -> bool:
        return False

    def __le__(self, other: float) -> bool:
        return self == other

    def __gt__(self, other: float) -> bool:
        return self != other

    def __ge__(self, other: float) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __reduce__(self) -> str:
        return "NAN"


NAN = _NotANumber("nan")
"""NaN in the values of rows, also after they were pickled."""


def python_values(column: pa.Array) -> list[Any]:
    """Return the values as `to_pylist` does, with `NAN` for each NaN."""
    values: list[Any] = pylist(column)
    if not _has_floats(column.type):
        return values
    if pa.types.is_nested(column.type):
        return list(map(_with_nan, values))
    return [NAN if value != value else value for value in values] if pc.any(pc.is_nan(column)).as_py() else values


def _with_nan(value: Any) -> Any:
    if isinstance(value, float):
        return NAN if value != value else value
    if isinstance(value, dict):
        return {key: _with_nan(item) for key, item in value.items()}
    return type(value)(map(_with_nan, value)) if isinstance(value, list | tuple) else value


@lru_cache(1024)
def _has_floats(kind: pa.DataType) -> bool:
    parts = (kind.field(place).type for place in range(kind.num_fields))
    return bool(pa.types.is_floating(kind)) or any(map(_has_floats, parts))


def freeze(value: Any) -> Hashable:
    """Return a hashable form of a value of any SQL type; forms are equal if the values are the same in a row."""
    if isinstance(value, dict):
        return tuple((key, freeze(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(freeze, value))
    if isinstance(value, float):
        # Which makes 0.0 of -0.0.
        return NAN if math.isnan(value) else value + 0.0
    return value  # type: ignore[no-any-return]


def key_column(column: pa.Array) -> pa.Array:
    """Return a column whose values Arrow compares as rows do: floats become the integers of their bits."""
    return pa.array(float_bits(column), mask=_nulls(column)) if pa.types.is_floating(column.type) else column


def are_same(left: pa.Array, right: pa.Array) -> Array:
    """Return which values of two columns are the same in a row; NULL is the same as NULL."""
    if pa.types.is_nested(left.type) or pa.types.is_null(left.type):
        pairs = zip(pylist(left), pylist(right), strict=True)
        return np.array([freeze(a) == freeze(b) for a, b in pairs], bool)
    found = pc.equal(key_column(left), key_column(right))
    if left.null_count or right.null_count:
        found = pc.if_else(pc.is_null(found), pc.and_(left.is_null(), right.is_null()), found)
    same: Array = found.to_numpy(zero_copy_only=False)
    return same


def integers_of(column: pa.Array) -> pa.Array:
    """Return a column of integers, or of times as the integers by which Arrow keeps them."""
    kind = column.type
    return column if pa.types.is_integer(kind) else column.view(pa.int32() if kind.bit_width == 32 else pa.int64())


def float_bits(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the bits of floats as of DOUBLE, the same ones for all NaN and for both zeros; those of 0.0 for NULL."""
    values: np.ndarray[Any, np.dtype[np.float64]]
    values = pc.fill_null(column, 0.0).cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    if np.isnan(values).any():
        values = np.where(np.isnan(values), np.nan, values)
    bits: np.ndarray[Any, np.dtype[np.int64]] = values.view(np.int64)
    return bits


def _nulls(column: pa.Array) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
