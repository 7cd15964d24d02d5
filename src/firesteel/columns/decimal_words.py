"""Decimals as integers in numpy: the unscaled values of 128 bits that Arrow stores."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.cells import Array

WORDS = np.dtype([("low", "<u8"), ("high", "<i8")])
"""The unscaled value of a decimal."""
_EXACT = Context(prec=100)


def words_of(column: pa.Array) -> Array:
    """Return the unscaled values of decimals as `WORDS`; those of NULL are arbitrary."""
    assert pa.types.is_decimal128(column.type), column.type
    values: Array = np.frombuffer(column.buffers()[1], WORDS, len(column), column.offset * WORDS.itemsize)
    return values


def from_int64(values: Array) -> Array:
    """Return integers as `WORDS`."""
    words = np.empty(len(values), WORDS)
    words["low"], words["high"] = values.view(np.uint64), values >> 63
    return words


def decimals_of(words: Array, kind: pa.DataType, nulls: Array | None) -> pa.Array:
    """Return decimals with given unscaled values (`WORDS`)."""
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    return pa.Array.from_buffers(kind, len(words), [validity, pa.py_buffer(np.ascontiguousarray(words))])


def int64_of(column: pa.Array | pa.Scalar) -> Array | int | None:
    """Return the unscaled values of decimals, 0 for NULL; None if one of them needs more than 62 bits, or is NULL."""
    if isinstance(column, pa.Scalar):
        value = column.as_py()
        number = None if value is None else int(value.scaleb(column.type.scale, _EXACT))
        return number if number is not None and abs(number) < 2**62 else None
    words = words_of(column)
    values = words["low"].view(np.int64)
    fits = (words["high"] == values >> 63) & (values < 2**62) & (values > -(2**62))
    if column.null_count:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        values, fits = np.where(is_null, 0, values), fits | is_null
    return values if fits.all() else None


def rounded(dividends: Array, divisors: Array | int) -> Array:
    """Return quotients, rounded half up as `BigDecimal` does; dividends need at most 61 bits, divisors are not 0."""
    sizes = np.abs(divisors)
    quotients: Array = (2 * np.abs(dividends) + sizes) // (2 * sizes) * np.sign(dividends) * np.sign(divisors)
    return quotients


def decimals_of_doubles(column: pa.Array, kind: pa.DataType, cast: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return approximate numbers as decimals, rounded half up.

    Args:
        column: The numbers.
        kind: The type of the decimals.
        cast: Casts those for which the arithmetic of doubles is not enough: NaN, large ones, and those so near to the
            middle of two results that their digits decide.
    """
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * 10.0**kind.scale
        sizes = np.abs(scaled)
        # A number stands for its shortest digits, which are less than an ulp away, and scaling rounds once more.
        is_sure = np.abs(sizes - np.floor(sizes) - 0.5) > sizes * 2.0**-49
        is_sure &= sizes < min(2.0**49, 10.0**kind.precision - 1)
    words = from_int64(np.rint(np.where(is_sure, scaled, 0)).astype(np.int64))
    rest = np.flatnonzero(~is_sure)
    if len(rest):
        found = cast(column.take(pa.array(rest)))
        words[rest] = words_of(found)
        nulls[rest] = found.is_null().to_numpy(zero_copy_only=False)
    return decimals_of(words, kind, nulls if nulls.any() else None)
