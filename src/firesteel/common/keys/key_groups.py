"""Assignment of keys to key groups and subtasks, as in Flink's `KeyGroupRangeAssignment`.

A key group is `murmur(hash) mod max parallelism`, where the hash is that of PyFlink's `Row.of(key)`. A subtask owns a
contiguous range of key groups. PyFlink pickles keys without a declared type and hashes the bytes. The same is done here
with the canonical form of the key, so that equal keys always belong to the same group.
"""

from __future__ import annotations

import pickle
import struct
from array import array
from collections.abc import Callable, Sequence
from operator import mul
from typing import Any

import mmh3

from firesteel.common.keys.canonical_keys import PLAIN, ObjectKey, ValueKey, canonical_key, key_of
from firesteel.common.keys.key_forms import form_bytes, form_of, has_set, rebuilt
from firesteel.common.keys.max_parallelism import UPPER_BOUND_MAX_PARALLELISM
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

DEFAULT_LOWER_BOUND_MAX_PARALLELISM = 128

Hasher = Callable[[Any], int]

_MASK = 0xFFFFFFFF
_PROTOCOL = 5
"""The pickle protocol of PyFlink 2.3."""

_POWERS = tuple(31**exponent & _MASK for exponent in range(255, -1, -1))


def murmur_hash(code: int) -> int:
    """Return Flink's `MathUtils.murmurHash` of a 32-bit integer, which is never negative."""
    # The mask makes 0 of the smallest integer, as Flink does: its absolute value has no place in 32 bits.
    return abs(mmh3.hash((code & _MASK).to_bytes(4, "little"))) & 0x7FFFFFFF


def default_max_parallelism(parallelism: int) -> int:
    """Return the default maximum parallelism of a vertex."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(wanted - 1, 0).bit_length()
    return min(max(power, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)


def operator_index(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group."""
    return key_group * parallelism // max_parallelism


def key_group_range(operator_index: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups that a subtask owns."""
    start = (operator_index * max_parallelism + parallelism - 1) // parallelism
    end = ((operator_index + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


def key_group_assigner(key_type: TypeInformation[object] | None, max_parallelism: int) -> Callable[[object], int]:
    """Return the function from key to key group.

    Example:
        >>> key_group_assigner(Types.STRING(), 128)("hello world")
        51
    """
    hasher = _key_hasher(key_type)
    return lambda key: murmur_hash(hasher(key)) % max_parallelism


def java_hash_of_key(key: object, key_type: TypeInformation[object] | None) -> int:
    """Return Java's hash of PyFlink's key `Row.of(key)` as a signed 32-bit integer."""
    return _signed(_key_hasher(key_type)(key))


def _key_hasher(key_type: TypeInformation[object] | None) -> Hasher:
    hasher = _hasher(key_type)
    if hasher is _pickled_hash:
        return lambda key: 62 + _pickled_hash(key) & _MASK  # None is pickled, too

    def hash_key(key: object) -> int:
        # A row of one field: 31 for the array, and another 31 for a field that is not NULL.
        value = key_of(key)
        return 31 if value is None else 62 + hasher(value) & _MASK

    return hash_key


def java_hasher(type_info: TypeInformation[Any] | None) -> Hasher:
    """Return the function that computes Java's `hashCode` of values of a type, as unsigned 32 bits."""
    hasher = _hasher(type_info)
    return lambda value: 0 if value is None else hasher(value)


def _deep_hasher(type_info: TypeInformation[object] | None) -> Hasher:
    """Return Flink's `RowUtils.deepHashCode` for a field of a Row."""
    hasher = _hasher(type_info)
    return lambda value: 0 if value is None else 31 + hasher(value) & _MASK


def _hasher(type_info: TypeInformation[Any] | None) -> Hasher:
    if isinstance(type_info, BasicTypeInfo):
        return _SCALARS[type_info.basic_type]
    for kind, build in _BUILDERS:
        if isinstance(type_info, kind):
            return build(type_info)
    return _pickled_hash


def _signed(code: int) -> int:
    return code - 0x100000000 if code & 0x80000000 else code


# --- scalars ---------------------------------------------------------------------------------------------------------


def _string_hash(value: str) -> int:
    if value.isascii():
        return _accumulate(0, value.encode())
    # Java's characters are UTF-16 units, of which an emoji has two.
    units = value.encode("utf-16-le", "surrogatepass")
    return _accumulate(0, struct.unpack(f"<{len(units) // 2}H", units))


def _accumulate(code: int, items: Sequence[int]) -> int:
    """Return `code = code * 31 + item` over all items, computed in chunks of 256."""
    for start in range(0, len(items), len(_POWERS)):
        part = items[start : start + len(_POWERS)]
        code = code * 31 ** len(part) + sum(map(mul, part, _POWERS[-len(part) :])) & _MASK
    return code


def _long_hash(value: int) -> int:
    # Java's `>>>` takes the 64 bits of a negative number; Python's `>>` would keep its sign for ever.
    return (value ^ (value & 0xFFFFFFFFFFFFFFFF) >> 32) & _MASK


def _float_hash(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _double_hash(value: float) -> int:
    return _long_hash(struct.unpack("<q", struct.pack("<d", value))[0])


def _boolean_hash(value: object) -> int:
    return 1231 if value else 1237


def _big_int_hash(value: int) -> int:
    magnitude, words = abs(value), []
    while magnitude:
        words.append(magnitude & _MASK)
        magnitude >>= 32
    code = _accumulate(0, words[::-1])
    return -code & _MASK if value < 0 else code


def _big_dec_hash(value: Any) -> int:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits)))
    code: int = 31 * _big_int_hash(-unscaled if sign else unscaled) - exponent & _MASK
    return code


def _instant_hash(value: Any) -> int:
    code: int = _long_hash(value.seconds) + 51 * value.nanos & _MASK
    return code


_SCALARS: dict[BasicType, Hasher] = {
    BasicType.STRING: _string_hash,
    BasicType.CHAR: _string_hash,
    BasicType.BOOLEAN: _boolean_hash,
    BasicType.LONG: _long_hash,
    BasicType.FLOAT: _float_hash,
    BasicType.DOUBLE: _double_hash,
    BasicType.BIG_INT: _big_int_hash,
    BasicType.BIG_DEC: _big_dec_hash,
    BasicType.INSTANT: _instant_hash,
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT), lambda value: value & _MASK),
}


def _time_hash(type_info: Any) -> Hasher:
    factor = 86_400_000 if isinstance(type_info, DateTypeInfo) else None

    def hash_millis(value: object) -> int:
        plain: int = type_info.to_internal_type(value)
        return _long_hash(plain * factor if factor else plain // 1000)

    return hash_millis


def _pickled_hash(key: object) -> int:
    return _bytes_hash(_routed_bytes(canonical_key(key)))


def _routed_bytes(kept: Any) -> bytes:
    """Return the bytes that PyFlink's cloudpickle would write, if they are the same in each process.

    They differ for sets and for objects of the script's classes: these are routed by their form. Equal parts of a tuple
    may be one object or two, which changes the bytes; here they are always two.
    """
    kind = kept.__class__
    if kind is ObjectKey or (kind is ValueKey and has_set(kept[1])):
        return form_bytes(kept[1] if kind is ValueKey else kept[0])
    key = kept if kind in PLAIN else rebuilt(kept[1] if kind is ValueKey else form_of(kept))
    return pickle.dumps(key, protocol=_PROTOCOL)


def _bytes_hash(data: bytes) -> int:
    return _accumulate(1, array("b", data))


# --- containers ------------------------------------------------------------------------------------------------------


def _tuple_hash(type_info: Any) -> Hasher:
    hashers = [java_hasher(field) for field in type_info.get_field_types()]
    return lambda value: _accumulate(0, [hasher(item) for hasher, item in zip(hashers, value, strict=True)])


def _row_hash(type_info: Any) -> Hasher:
    hashers = [_deep_hasher(field) for field in type_info.get_field_types()]

    def hash_row(value: Any) -> int:
        kind = value.get_row_kind().value if hasattr(value, "get_row_kind") else 0
        fields = _accumulate(1, [hasher(item) for hasher, item in zip(hashers, value, strict=True)])
        return fields + kind * 31 & _MASK

    return hash_row


def _array_hash(type_info: Any) -> Hasher:
    element = java_hasher(type_info.element_type)

    def hash_array(value: Any) -> int:
        return _bytes_hash(value) if isinstance(value, bytes) else _accumulate(1, [element(item) for item in value])

    return hash_array


def _map_hash(type_info: Any) -> Hasher:
    key, item = java_hasher(type_info.key_type), java_hasher(type_info.value_type)
    return lambda value: sum(key(k) ^ item(v) for k, v in value.items()) & _MASK


_BUILDERS: tuple[tuple[Any, Callable[[Any], Hasher]], ...] = (
    (TupleTypeInfo, _tuple_hash),
    (RowTypeInfo, _row_hash),
    (ElementTypeInfo, _array_hash),
    (MapTypeInfo, _map_hash),
    ((DateTypeInfo, TimeTypeInfo, TimestampTypeInfo, LocalTimeTypeInfo), _time_hash),
    (ExternalTypeInfo, lambda type_info: java_hasher(type_info.type_info)),
)
