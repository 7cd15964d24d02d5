"""Copies of values that user code may go on to change.

Elements flow in batches: what user code emits is passed on after it has seen later elements. In PyFlink each value is
serialised at once. So values that user code may keep and change are copied where they are kept or emitted: state
without declared type (a declared type copies anyway), and lists, dicts, sets and Rows that a process function yields.
"""

from __future__ import annotations

import copy
import datetime
import decimal
from typing import Any

from firesteel.common.types import Row

IMMUTABLE = frozenset(
    {
        int,
        float,
        str,
        bool,
        bytes,
        type(None),
        complex,
        decimal.Decimal,
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
    }
)
"""Classes whose values nobody can change."""

MUTABLE = frozenset({list, dict, set, bytearray, Row})
"""Classes of values that are copied where they are emitted."""


def own(value: Any) -> Any:
    """The value itself where it can't change, else a copy that nobody else has.

    Example:
        >>> kept = [1, 2]
        >>> copied = own(kept)
        >>> kept.append(3)
        >>> copied
        [1, 2]
    """
    kind = value.__class__
    if kind in IMMUTABLE:
        return value
    if kind is tuple:
        return value if _is_flat(value) else copy.deepcopy(value)
    if kind is list or kind is set:
        return value.copy() if _is_flat(value) else copy.deepcopy(value)
    if kind is dict:
        return value.copy() if _is_flat(value.values()) else copy.deepcopy(value)
    if kind is Row:
        return copy.copy(value) if _is_flat(value) else copy.deepcopy(value)
    parameters = getattr(kind, "__dataclass_params__", None)
    return value if parameters is not None and parameters.frozen else copy.deepcopy(value)


def _is_flat(values: Any) -> bool:
    return IMMUTABLE.issuperset(map(type, values))
