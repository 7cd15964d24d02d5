"""Keys as they are kept: told apart as their pickled bytes would be, and always hashable.

Python holds 1, 1.0 and True for equal. PyFlink compares keys without declared type by their pickled bytes, where they
are three keys. So where the class of a key, or of a part of it, decides, its class becomes part of the key. Keys with a
declared type have one class each and need none of that. Lists, sets and dicts, which PyFlink takes for keys as well,
are kept as bytes.
"""

from __future__ import annotations

import datetime
import io
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

from firesteel.common.coercion import coercer
from firesteel.common.typeinfo import MapTypeInfo, TypeInformation, _ElementTypeInfo
from firesteel.common.types import Row

NEVER_WRAPPED = frozenset(
    {int, str, bytes, type(None), datetime.date, datetime.datetime, datetime.time, datetime.timedelta}
)
"""Classes whose values are equal to none of the other ones' here."""

_LIKE_OTHERS = frozenset({bool, float, complex, Decimal, Fraction})


class KeyOfClass(tuple[Any, Any]):
    """`(classes, key)`: a key that Python might hold for equal to one of other classes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[1])


class FrozenKey(tuple[bytes]):
    """`(pickled key,)`: a key that can't be hashed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(key_of(self))


def told_apart(key: Any) -> Any:
    """The key as it is kept: itself, or a `KeyOfClass`. Objects of other classes are compared by their own equality.

    What can't be hashed becomes a `FrozenKey`.

    Example:
        >>> len({told_apart(key) for key in (1, 1.0, True, (1,), (True,))})
        5
    """
    if key.__class__ in NEVER_WRAPPED:
        return key
    classes = _classes(key)
    return _frozen(key if classes is None else KeyOfClass((classes, key)), key)


def key_keeper(key_type: TypeInformation | None) -> Callable[[Any], Any]:
    """What makes of a user's key the one that is kept: in its declared type or, without one, `told_apart`."""
    convert = coercer(key_type)
    if convert is None:
        return told_apart
    if not isinstance(key_type, (_ElementTypeInfo, MapTypeInfo)):
        return convert

    def keep(key: Any) -> Any:
        converted = convert(key)
        return _frozen(converted, converted)

    return keep


def _frozen(kept: Any, key: Any) -> Any:
    """What is kept if it can be hashed, else the key as a `FrozenKey`."""
    try:
        hash(kept)
    except TypeError:
        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, protocol=5)
        pickler.fast = True  # no memo: its references depend on the identity of the parts, not on their values
        pickler.dump(key)
        return FrozenKey((buffer.getvalue(),))
    return kept


def key_of(kept: Any) -> Any:
    """The user's key, of what is kept."""
    kind = kept.__class__
    if kind is KeyOfClass:
        return kept[1]
    return pickle.loads(kept[0]) if kind is FrozenKey else kept


def _classes(key: Any) -> Any:
    """What to tell the key apart by: its class or those of its parts; None: by nothing but its value."""
    kind = key.__class__
    if kind in NEVER_WRAPPED:
        return None
    if kind in _LIKE_OTHERS:
        return kind
    if kind is tuple or kind is Row:
        if NEVER_WRAPPED.issuperset(map(type, key)):
            return None
        parts = [_classes(part) for part in key]
        return (kind, *parts) if any(part is not None for part in parts) else None
    return kind if isinstance(key, (Number, str, bytes)) else None
