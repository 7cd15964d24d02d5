"""Key groups of rows from column values, computed without a Python object per row."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib.stride_tricks import sliding_window_view

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.row_keys import float_bits, freeze

# The hashes must stay as they are: savepoints have the key groups that follow from them.
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BASE = 1099511628211
_NULL = np.uint64(0x5BD1E995)

_SHORT = 32
"""Values of up to this number of bytes are hashed together with those of the same length, which is faster."""

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def key_groups(batch: ColumnBatch, columns: Sequence[int], max_parallelism: int) -> np.ndarray[Any, Any]:
    """Return the key group (int32) of each row, derived from the values of some columns.

    Rows with equal values have the same key group.
    """
    return groups_of(row_hashes(batch, columns), max_parallelism)


def groups_of(hashes: Hashes, max_parallelism: int) -> np.ndarray[Any, Any]:
    """Return the key groups (int32) of rows with these hashes."""
    return (hashes % np.uint64(max_parallelism)).astype(np.int32)


def row_hashes(batch: ColumnBatch, columns: Sequence[int], before: Hashes | None = None) -> Hashes:
    """Return a hash per row, derived from the values of some columns; 0 without columns.

    Args:
        batch: The rows.
        columns: The columns.
        before: The hashes of columns before these.
    """
    with np.errstate(over="ignore"):
        hashes = np.zeros(batch.length, np.uint64) if before is None else before
        for index in columns:
            # Multiplied, so that (1, 2) and (2, 1) differ.
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
        found = float_bits(array).view(np.uint64)
    elif pa.types.is_decimal(kind):
        found = _hash_bytes(array.cast(pa.string()))
    elif pa.types.is_boolean(kind):
        found = pc.fill_null(array, False).cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif pa.types.is_nested(kind) or pa.types.is_null(kind):
        # CRC-32 and not `hash`, which differs between processes for texts.
        texts = [repr(freeze(value)).encode() for value in pylist(array)]
        return np.fromiter((zlib.crc32(text) for text in texts), np.uint64, len(texts))
    else:
        plain = array if pa.types.is_integer(kind) else array.cast(_integer_of(kind))
        plain = pc.fill_null(plain, 0) if plain.null_count else plain
        found = plain.to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
    if array.null_count:
        found = np.where(array.is_null().to_numpy(zero_copy_only=False), _NULL, found)
    return _mix(found)


def _integer_of(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _hash_bytes(array: pa.Array) -> Hashes:
    """Return a polynomial hash of each value: the sum of `(byte + 1) * _BASE**place`, plus the length."""
    if array.null_count:
        # A buffer of NULL may hold any bytes; its hash is replaced by the caller.
        array = pc.fill_null(array, "" if pa.types.is_string(array.type) else b"")
    starts, lengths, content = _bytes_of(array)
    found: Hashes = lengths.astype(np.uint64)
    powers = _powers(_SHORT)
    is_short = lengths <= _SHORT
    for length in (1 + np.flatnonzero(np.bincount(lengths[is_short], minlength=1)[1:])).tolist():
        rows = np.flatnonzero(lengths == length)
        values = sliding_window_view(content, length)[starts[rows]].astype(np.uint64)
        # Plus 1, so that bytes of 0 count.
        found[rows] += (values + np.uint64(1)) @ powers[:length]
    rows = np.flatnonzero(~is_short)
    if len(rows):
        found[rows] += _hash_texts(*_bytes_of(array.take(pa.array(rows))))
    return found


def _bytes_of(array: pa.Array) -> tuple[Any, Any, Any]:
    """Return where each value starts, the number of its bytes, and the bytes of all values."""
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
    data = array.buffers()[2]
    content = np.frombuffer(b"" if data is None else data, np.uint8)
    return offsets[:-1], np.diff(offsets), content


def _hash_texts(starts: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any], content: np.ndarray[Any, Any]) -> Hashes:
    """Return the hashes, without the lengths, of long values that follow one another, whatever lengths they have.

    The terms of all bytes are computed at once; differences of their cumulative sum give the hash of each value.
    """
    content = content[starts[0] : starts[-1] + lengths[-1]]
    stops = np.cumsum(lengths)
    places = np.arange(len(content)) - np.repeat(stops - lengths, lengths)
    sums = np.zeros(len(content) + 1, np.uint64)
    np.cumsum((content + np.uint64(1)) * _powers(int(lengths.max()))[places], out=sums[1:])
    found: Hashes = sums[stops] - sums[stops - lengths]
    return found


def _powers(count: int) -> Hashes:
    powers = np.empty(count, np.uint64)
    value = 1
    for i in range(count):
        powers[i] = value
        value = value * _BASE & 0xFFFFFFFFFFFFFFFF
    return powers
