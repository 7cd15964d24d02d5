"""Unshared values, as if each transfer between operators serialized them.

Elements flow in batches: an emitted value is passed on after user code has seen later elements, which may change it.
PyFlink serializes each value immediately. So a mutable value is copied when user code emits it or reads it from state,
and when two receivers would share it. Immutable values are never copied.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import pathlib
import pickle
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import chain
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged

IMMUTABLE: set[type[Any]] = {
    int,
    float,
    str,
    bool,
    bytes,
    type(None),
    type(...),
    complex,
    range,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    zoneinfo.ZoneInfo,
    uuid.UUID,
    pathlib.PosixPath,
    pathlib.PurePosixPath,
    pathlib.WindowsPath,
    pathlib.PureWindowsPath,
    Instant,
}
"""Classes whose values are immutable; `own` adds the Enum classes that it encounters."""

IS_IMMUTABLE = "({v}.__class__ in immutable or {v}.__class__ is tuple and immutable.issuperset(map(type, {v})))"
"""Source code that tells whether a value `{v}` is immutable and flat; `immutable` is `IMMUTABLE`."""

_unpicklable: set[type[Any]] = set()
"""Classes encountered so far whose instances cannot be pickled, such as those of the user's script."""


def own(value: Any) -> Any:
    """Return an immutable value itself, and an unshared deep copy of any other value.

    A value that cannot be copied, such as an open file, is returned itself: PyFlink passes it on within a chain, too.

    Example:
        >>> kept = [1, 2]
        >>> copied = own((0, kept))
        >>> kept.append(3)
        >>> copied
        (0, [1, 2])
    """
    kind = value.__class__
    if kind in IMMUTABLE or (kind is tuple and IMMUTABLE.issuperset(map(type, value))):
        return value
    copy_flat = _FLAT_COPIES.get(kind)
    if copy_flat is not None:
        if _is_flat(value):
            return copy_flat(value)
    elif kind is dict:
        if _is_flat(value.values()) and _is_flat(value):
            return value.copy()
    elif issubclass(kind, Enum):
        IMMUTABLE.add(kind)
        return value
    return value if _is_frozen(value) else _deep_copy(value)


def are_immutable(values: Iterable[Any]) -> bool:
    """Return whether all values are immutable, checked mostly in C code.

    Example:
        >>> are_immutable([("a", 1), ("b", (2, 3))]), are_immutable([("a", [1])])
        (True, False)
    """
    kinds = set(map(type, values))
    while tuple in kinds:
        if len(kinds) > 1:
            if kinds - IMMUTABLE != {tuple}:
                return False
            values = [value for value in values if value.__class__ is tuple]
        kinds = set(map(type, chain.from_iterable(values)))
        if tuple in kinds:
            values = list(chain.from_iterable(values))
    return kinds <= IMMUTABLE


def own_all(values: list[Any]) -> list[Any]:
    """Return the list itself if all its values are immutable, otherwise a list of unshared values."""
    return values if are_immutable(values) else [own(value) for value in values]


def claimer(calls: Callable[[Callable[[Any], Any]], Any]) -> Callable[[Any], Any]:
    """Return a function that returns an unshared value itself and copies any other value.

    It counts references, which is much faster than copying: code that parses text into dicts and modifies them pays
    almost nothing.

    Args:
        calls: Calls its argument with a new list, exactly as the function will be called. This determines the number of
            references that the caller has to a value of its own.
    """
    counts: list[int] = []
    calls(lambda value: counts.append(sys.getrefcount(value)))
    alone = counts[0]

    def claim(value: object) -> object:
        is_alone = sys.getrefcount(value) <= alone and value.__class__ in _CLAIMABLE
        return value if is_alone and _holds_alone(value) else own(value)

    return claim if sys.implementation.name == "cpython" else own


def _holds_alone(container: Any) -> bool:
    """Return whether nothing else refers to the mutable parts of a container."""
    if container.__class__ is dict:
        if not _is_flat(container):
            return False
        container = container.values()
    for part in container:
        kind = part.__class__
        if kind in IMMUTABLE or (kind is tuple and _is_flat(part)):
            continue
        if kind not in _CLAIMABLE or sys.getrefcount(part) > _REFERENCES_OF_A_PART:
            return False
        if (kind is dict or not _is_flat(part)) and not _holds_alone(part):
            return False
    return True


def _references_of_a_part() -> int:
    parts: Any = [[]]
    for part in parts:
        count = sys.getrefcount(part)
    return count


def _is_flat(values: Iterable[Any]) -> bool:
    return IMMUTABLE.issuperset(map(type, values))


def _copy_row(row: Row) -> Row:
    copied = Row(*row._values)
    copied._fields, copied._row_kind = row._fields, row._row_kind
    return copied


_FLAT_COPIES: dict[type[Any], Callable[[Any], Any]] = {
    tuple: unchanged,
    frozenset: unchanged,
    list: list.copy,
    set: set.copy,
    bytearray: bytearray,
    Row: _copy_row,
}
"""Copy functions of containers with immutable parts, by class."""


def _is_frozen(value: Any) -> bool:
    """Return whether a value and all its parts are immutable, as in nested tuples and frozen dataclasses."""
    kind = value.__class__
    if kind in IMMUTABLE:
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    try:
        if parameters is not None:
            return parameters.frozen and all(_is_frozen(getattr(value, name)) for name in kind.__dataclass_fields__)
        if isinstance(value, (tuple, frozenset)):
            return not hasattr(value, "__dict__") and all(map(_is_frozen, value))
    except (AttributeError, RecursionError):
        return False
    return isinstance(value, Enum)


def _deep_copy(value: object) -> object:
    """Copy with `pickle`, which is the fastest, or with `deepcopy` for classes of the user's script."""
    kind = value.__class__
    if kind not in _unpicklable:
        try:
            return pickle.loads(pickle.dumps(value, protocol=5))
        except Exception:
            if kind not in _CONTAINERS:
                _unpicklable.add(kind)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


_CONTAINERS = frozenset({*_FLAT_COPIES, dict})
_CLAIMABLE = frozenset({list, dict, set, tuple, bytearray})
_REFERENCES_OF_A_PART = _references_of_a_part()
