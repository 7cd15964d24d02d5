"""Key groups of rows from column values, computed without a Python object per row."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.pylist import pylist
from firesteel.columns.row_keys import float_bits, freeze, integers_of

# The hashes must stay as they are: savepoints have the key groups that follow from them.
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BASE = 1099511628211
_NULL = np.uint64(0x5BD1E995)

_SHORT = 32
"""Values of up to this number of bytes are hashed eight bytes at a time, which is faster."""

_WORD = 8
_BYTE, _EIGHT = np.uint64(255), np.uint64(8)
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)
"""Masks of the first bytes of a word, by their number."""

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def key_groups(batch: ColumnBatch, columns: Sequence[int], max_parallelism: int) -> Array:
    """Return the key group (int32) of each row, derived from the values of some columns.

    Rows with equal values have the same key group.
    """
    return groups_of(row_hashes(batch, columns), max_parallelism)


def groups_of(hashes: Hashes, max_parallelism: int) -> Array:
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
        plain = integers_of(array)
        plain = pc.fill_null(plain, 0) if plain.null_count else plain
        found = plain.to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
    if array.null_count:
        found = np.where(array.is_null().to_numpy(zero_copy_only=False), _NULL, found)
    return _mix(found)


def _hash_bytes(array: pa.Array) -> Hashes:
    """Return a polynomial hash of each value: the sum of `(byte + 1) * _BASE**place`, plus the length."""
    if array.null_count:
        # A buffer of NULL may hold any bytes; its hash is replaced by the caller.
        array = pc.fill_null(array, "" if pa.types.is_string(array.type) else b"")
    starts, lengths, content = _bytes_of(array)
    found: Hashes = lengths.astype(np.uint64)
    is_short = lengths <= _SHORT
    if is_short.all():
        return found + _hash_short(starts, lengths, content)
    for rows, hashes in ((np.flatnonzero(is_short), _hash_short), (np.flatnonzero(~is_short), _hash_texts)):
        if len(rows):
            found[rows] += hashes(*_bytes_of(array.take(pa.array(rows))))
    return found


def _bytes_of(array: pa.Array) -> tuple[Any, Any, Any]:
    """Return where each value starts, the number of its bytes, and the bytes of all values."""
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
    data = array.buffers()[2]
    content = np.frombuffer(b"" if data is None else data, np.uint8)
    return offsets[:-1], np.diff(offsets), content


def _hash_short(starts: Array, lengths: Array, content: Array) -> Hashes:
    """Return the hashes, without the lengths, of short values that follow one another: eight bytes at a time."""
    if not len(lengths):
        return np.zeros(0, np.uint64)
    first, stop, longest = int(starts[0]), int(starts[-1] + lengths[-1]), int(lengths.max())
    padded = np.concatenate([content[first:stop], np.zeros(_WORD, np.uint8)])
    words = np.ndarray(len(padded) - _WORD + 1, "<u8", padded, strides=(1,))  # one from each byte on
    found: Hashes = _SUMS_OF_POWERS[lengths]  # The bytes plus 1, so that bytes of 0 count.
    for place in range(0, longest, _WORD):
        rows = np.flatnonzero(lengths > place)
        word = words[starts[rows] - first + place] & _FIRST_BYTES[np.minimum(lengths[rows] - place, _WORD)]
        total = word & _BYTE
        total *= _POWERS[place]
        for power in _POWERS[place + 1 : min(place + _WORD, longest)]:
            word >>= _EIGHT
            byte = word & _BYTE
            byte *= power
            total += byte
        found[rows] += total
    return found


def _hash_texts(starts: Array, lengths: Array, content: Array) -> Hashes:
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


_POWERS = _powers(_SHORT)
_SUMS_OF_POWERS = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_POWERS)])
