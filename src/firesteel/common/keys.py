"""Keys without declared type, told apart as their pickled bytes would be.

Python holds 1, 1.0 and True for equal. PyFlink compares such keys by their pickled bytes, where they are three keys. So
where the class of a key, or of a part of it, decides, its class becomes part of the key. Keys with a declared type have
one class each and need none of this.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

from firesteel.common.types import Row

_PLAIN = frozenset({int, str, bytes, type(None), datetime.date, datetime.datetime, datetime.time, datetime.timedelta})
"""Classes whose values are equal to none of the other ones' here."""

_LIKE_OTHERS = frozenset({bool, float, complex, Decimal, Fraction})


class KeyOfClass(tuple[Any, Any]):
    """`(classes, key)`: a key that Python might hold for equal to one of other classes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[1])


def told_apart(key: Any) -> Any:
    """The key as it is kept: itself, or a `KeyOfClass`. Objects of other classes are compared by their own equality.

    Example:
        >>> len({told_apart(key) for key in (1, 1.0, True, (1,), (True,))})
        5
    """
    if key.__class__ in _PLAIN:
        return key
    classes = _classes(key)
    return key if classes is None else KeyOfClass((classes, key))


def key_of(kept: Any) -> Any:
    """The user's key, of what `told_apart` made of it."""
    return kept[1] if kept.__class__ is KeyOfClass else kept


def _classes(key: Any) -> Any:
    """What to tell the key apart by: its class or those of its parts; None: by nothing but its value."""
    kind = key.__class__
    if kind in _PLAIN:
        return None
    if kind in _LIKE_OTHERS:
        return kind
    if kind is tuple or kind is Row:
        if _PLAIN.issuperset(map(type, key)):
            return None
        parts = [_classes(part) for part in key]
        return (kind, *parts) if any(part is not None for part in parts) else None
    return kind if isinstance(key, (Number, str, bytes)) else None
