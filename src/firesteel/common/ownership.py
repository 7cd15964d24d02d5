"""Values that belong to one owner, as if each hand-over between operators serialised them.

Elements flow in batches: what user code emits is passed on after the code has seen later elements. PyFlink serialises
each value at once. So a value that can change is copied where user code gives it away or gets it from state, and where
two receivers would share it. Values that nobody can change are never copied.
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
"""Classes whose values nobody can change; `own` adds the Enum classes that it meets."""

IS_IMMUTABLE = "({v}.__class__ in immutable or {v}.__class__ is tuple and immutable.issuperset(map(type, {v})))"
"""Source that is true for a value `{v}` that can't change and is flat; `immutable` is `IMMUTABLE`."""

_unpicklable: set[type[Any]] = set()
"""Classes met so far whose instances `pickle` can't copy: those of the user's script."""


def own(value: Any) -> Any:
    """Return the value itself where it can't change, else a deep copy that nobody else has.

    A value that can't be copied, such as an open file, is returned as it is: PyFlink hands it on within a chain, too.

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
    """Return whether nobody can change any of the values, checked at the speed of C.

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
    """Return the list itself where none of its values can change, else a list of values that nobody else has."""
    return values if are_immutable(values) else [own(value) for value in values]


def claimer(calls: Callable[[Callable[[Any], Any]], Any]) -> Callable[[Any], Any]:
    """Return a function that gives a value itself if nobody but the caller can reach anything that can change in it.

    Else the function gives a copy. It counts references, which is much quicker than copying: code that parses a text
    into dicts and changes them pays almost nothing.

    Args:
        calls: Calls its argument with a new list, just as the function will be called. So it is known how many
            references the caller has to a value that is its own alone.
    """
    counts: list[int] = []
    calls(lambda value: counts.append(sys.getrefcount(value)))
    alone = counts[0]

    def claim(value: Any) -> Any:
        is_alone = sys.getrefcount(value) <= alone and value.__class__ in _CLAIMABLE
        return value if is_alone and _holds_alone(value) else own(value)

    return claim if sys.implementation.name == "cpython" else own


def _holds_alone(container: Any) -> bool:
    """Return whether all that can change in a container is referred to by nothing else."""
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


def _same(value: Any) -> Any:
    return value


def _copy_row(row: Row) -> Row:
    copied = Row(*row._values)
    copied._fields, copied._row_kind = row._fields, row._row_kind
    return copied


_FLAT_COPIES: dict[type[Any], Callable[[Any], Any]] = {
    tuple: _same,
    frozenset: _same,
    list: list.copy,
    set: set.copy,
    bytearray: bytearray,
    Row: _copy_row,
}
"""Class of a container -> what copies one whose parts can't change."""


def _is_frozen(value: Any) -> bool:
    """Return whether neither the value nor anything in it can change, as in nested tuples and frozen dataclasses."""
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


def _deep_copy(value: Any) -> Any:
    """Copy by `pickle`, which is the quickest, or by `deepcopy` where classes of the user's script are in the way."""
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
