"""The iteration order of a `java.util.HashMap` that Flink deserialized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.keys.key_groups import java_hasher
from firesteel.common.typeinfo import ElementTypeInfo, PickledBytesTypeInfo, TypeInformation


def hash_map_order(key_type: TypeInformation[Any]) -> Callable[[dict[Any, Any]], list[Any]]:
    """Return the function that lists the keys of a map in Java's order.

    Flink: `MapSerializer.deserialize`, which creates a table for the number of entries. Keys that Java hashes by
    identity, which are arrays and pickled objects, keep the order of the dict.

    Example:
        >>> hash_map_order(Types.STRING())({"banana": 1, "apple": 2, "cherry": 3})
        ['banana', 'apple', 'cherry']
    """
    if isinstance(key_type, (PickledBytesTypeInfo, ElementTypeInfo)):
        return list
    hasher = java_hasher(key_type)

    def ordered(values: dict[Any, Any]) -> list[Any]:
        mask = _table_size(len(values)) - 1
        # `sorted` is stable: keys in one bucket keep their order, as in Java's list of the bucket.
        return sorted(values, key=lambda key: _spread(hasher(key)) & mask)

    return ordered


def _spread(code: int) -> int:
    return code ^ code >> 16


def _table_size(entries: int) -> int:
    """Return the number of buckets of a table (Flink: `CollectionUtil.newHashMapWithExpectedSize`)."""
    capacity = entries + 1 if entries <= 2 else -(-entries * 4 // 3)
    return 1 << (capacity - 1).bit_length()
