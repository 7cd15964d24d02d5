"""The order in which a `java.util.HashMap` that Flink deserialised yields its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.key_groups import java_hasher
from firesteel.common.typeinfo import ElementTypeInfo, PickledBytesTypeInfo, TypeInformation


def hash_map_order(key_type: TypeInformation[Any]) -> Callable[[dict[Any, Any]], list[Any]]:
    """Return the function that lists the keys of a map as Java does.

    Flink: `MapSerializer.deserialize`, which makes a table for as many entries as the map has. The order of keys that
    Java hashes by identity, arrays and pickled objects, is that of the dict.

    Example:
        >>> hash_map_order(Types.STRING())({"banana": 1, "apple": 2, "cherry": 3})
        ['banana', 'cherry', 'apple']
    """
    if isinstance(key_type, (PickledBytesTypeInfo, ElementTypeInfo)):
        return list
    hasher = java_hasher(key_type)

    def ordered(values: dict[Any, Any]) -> list[Any]:
        mask = _table_size(len(values)) - 1
        return sorted(values, key=lambda key: _spread(hasher(key)) & mask)

    return ordered


def _spread(code: int) -> int:
    return code ^ code >> 16


def _table_size(entries: int) -> int:
    """Return the buckets of a table: Flink's `CollectionUtil.newHashMapWithExpectedSize`, up to a power of two."""
    capacity = entries + 1 if entries <= 2 else -(-entries * 4 // 3)
    return 1 << (capacity - 1).bit_length()
