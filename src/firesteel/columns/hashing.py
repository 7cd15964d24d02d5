"""Key groups of rows from column values, computed without a Python object per row."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BASE = 1099511628211
_NULL = np.uint64(0x5BD1E995)

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def key_groups(batch: ColumnBatch, columns: Sequence[int], max_parallelism: int) -> np.ndarray[Any, Any]:
    """Return the key group (int32) of each row, derived from the values of some columns.

    Rows with equal values have the same key group.
    """
    return groups_of(row_hashes(batch, columns), max_parallelism)


def groups_of(hashes: Hashes, max_parallelism: int) -> np.ndarray[Any, Any]:
    """Return the key groups (int32) of rows with these hashes."""
    return (hashes % np.uint64(max_parallelism)).astype(np.int32)


def row_hashes(batch: ColumnBatch, columns: Sequence[int]) -> Hashes:
    """Return a hash per row, derived from the values of some columns; 0 without columns."""
    with np.errstate(over="ignore"):
        hashes = np.zeros(batch.length, np.uint64)
        for index in columns:
            hashes = _mix(hashes * _PRIME + _hash(batch.columns[index]))
        return hashes


def _mix(values: Hashes) -> Hashes:
    """Spread the bits of hashes (the finalizer of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


def _hash(array: pa.Array) -> Hashes:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        found = _hash_bytes(array)
    elif pa.types.is_floating(kind):
        filled = pc.fill_null(array, 0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        found = (filled + 0.0).view(np.uint64)  # -0.0 becomes 0.0: they are equal
    elif pa.types.is_decimal(kind):
        found = _hash_bytes(array.cast(pa.string()))
    elif pa.types.is_boolean(kind):
        found = pc.fill_null(array, False).cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif pa.types.is_nested(kind) or pa.types.is_null(kind):
        texts = [repr(value).encode() for value in array.to_pylist()]
        return np.fromiter((zlib.crc32(text) for text in texts), np.uint64, len(texts))
    else:
        plain = array if pa.types.is_integer(kind) else array.cast(_integer_of(kind))
        found = pc.fill_null(plain.cast(pa.int64()), 0).to_numpy(zero_copy_only=False).view(np.uint64)
    if array.null_count:
        found = np.where(array.is_null().to_numpy(zero_copy_only=False), _NULL, found)
    return _mix(found)


def _integer_of(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _hash_bytes(array: pa.Array) -> Hashes:
    """Return a polynomial hash of the bytes of each value.

    The terms of all values are computed at once; differences of their cumulative sum give the hash per value.
    """
    if array.null_count:
        array = pc.fill_null(array, "" if pa.types.is_string(array.type) else b"")
    count = len(array)
    offsets = np.frombuffer(array.buffers()[1], np.int32, count + 1, array.offset * 4).astype(np.int64)
    lengths = np.diff(offsets)
    data = array.buffers()[2]
    if data is None or not lengths.any():
        return lengths.astype(np.uint64)
    content = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    places = np.arange(len(content)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    sums = np.zeros(len(content) + 1, np.uint64)
    np.cumsum((content + np.uint64(1)) * _powers(int(lengths.max()))[places], out=sums[1:])
    starts = offsets - offsets[0]
    found: Hashes = sums[starts[1:]] - sums[starts[:-1]] + lengths.astype(np.uint64)
    return found


def _powers(count: int) -> Hashes:
    powers = np.empty(count, np.uint64)
    value = 1
    for i in range(count):
        powers[i] = value
        value = value * _BASE & 0xFFFFFFFFFFFFFFFF
    return powers
