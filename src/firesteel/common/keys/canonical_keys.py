"""Canonical keys: one notion of equality for hashing, routing, lookup, sorting and versions.

PyFlink compares keys without a declared type by their pickled bytes, and keys with one as Java compares values of the
type. Python differs: 1, 1.0 and True are equal, and a NaN is not equal to itself. So keys are stored in a canonical
form, and two keys are the same if their canonical forms are equal:

- Values that Python compares as Flink does are their own canonical form: int, str, bytes, None, naive times, and tuples
  of them. That costs one lookup of the class.
- Other values of built-in classes and of the standard library become a `ValueKey`, which contains the form alone. The
  key is rebuilt from it where user code needs it.
- Instances of other classes become an `ObjectKey`, which contains the form and the pickled key. The form names classes
  by module and name only, because a class of the user's script is a different object in each process.

Why: `docs/decisions/0019-canonical-keys-and-owned-values.md`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.keys.key_forms import KeyFormError, form_bytes, form_of, is_rebuildable, rebuilt
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
from firesteel.common.types import Row
from firesteel.common.values.coercion import coercer
from firesteel.common.values.ownership import IMMUTABLE, own

PLAIN = frozenset({int, str, bytes, type(None), datetime.date, datetime.timedelta})
"""Classes whose values are their own canonical form: they are never equal to values of another class."""

_TIMES = frozenset({datetime.datetime, datetime.time})
"""Classes whose naive values are their own canonical form."""


class ValueKey(tuple[Any, Any]):
    """`(..., form)`: a key that can be rebuilt from its form. The ellipsis distinguishes it from plain keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(key_of(self))


class ObjectKey(tuple[Any, Any]):
    """`(form, key)`: a key of a class that cannot be imported by name. Only the form is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return other.__class__ is ObjectKey and self[0] == other[0]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[0])

    def __repr__(self) -> str:
        return repr(self[1])


IMMUTABLE.update((ValueKey, ObjectKey))


def canonical_key(key: Any) -> object:
    """Return the canonical form of a key without a declared type; a canonical form is returned unchanged.

    Raises:
        KeyFormError: the key cannot be pickled, or refers to itself.

    Example:
        >>> len({canonical_key(key) for key in (1, 1.0, True, (1,), (True,), float("nan"), -float("nan"))})
        6
    """
    kind = key.__class__
    if kind in PLAIN or (kind is tuple and PLAIN.issuperset(map(type, key))):
        return key
    if _is_naive_time(key) or (kind is tuple and all(p.__class__ in PLAIN or _is_naive_time(p) for p in key)):
        return key
    if kind is ValueKey or kind is ObjectKey:
        return key
    form = form_of(key)
    return ValueKey((..., form)) if is_rebuildable(form) else ObjectKey((form, own(key)))


def _is_naive_time(value: object) -> bool:
    return value.__class__ in _TIMES and _is_naive(value)


def _is_naive(time: Any) -> bool:
    """Return whether a datetime or time has neither a zone nor a fold, so that Python compares it like its bytes."""
    return time.tzinfo is None and not time.fold


def key_of(kept: Any) -> Any:
    """Return the user's key of a canonical form; user code may modify the result."""
    kind = kept.__class__
    if kind is ValueKey:
        return rebuilt(kept[1])
    return own(kept[1]) if kind is ObjectKey else kept


# --- declared types --------------------------------------------------------------------------------------------------

Keep = Callable[[Any], Any]

_PLAIN_TYPES = (
    BasicType.STRING,
    BasicType.CHAR,
    BasicType.BOOLEAN,
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.BIG_INT,
    BasicType.INSTANT,
)


def key_keeper(key_type: TypeInformation[object] | None) -> Keep:
    """Return the function that converts a user's key of a declared type, or of none, to its canonical form.

    Keys of a declared type are all of one class. So they stay unchanged if Python compares them as Java does.
    """
    while isinstance(key_type, ExternalTypeInfo):
        key_type = key_type.type_info
    convert = coercer(key_type)
    if convert is None:
        return canonical_key
    if _is_plain(key_type):
        return convert
    if isinstance(key_type, BasicTypeInfo) and key_type.basic_type in (BasicType.DOUBLE, BasicType.FLOAT):
        return lambda key: _double(convert(key))
    normal = _normalizer(key_type)
    return lambda key: canonical_key(normal(convert(key)))


def _is_plain(key_type: object) -> bool:
    """Return whether Python compares the converted values of a type as Java does."""
    if isinstance(key_type, TupleTypeInfo):
        return all(map(_is_plain, key_type.get_field_types()))
    return isinstance(key_type, DateTypeInfo) or (
        isinstance(key_type, BasicTypeInfo) and key_type.basic_type in _PLAIN_TYPES
    )


def _double(value: Any) -> object:
    """Return the key of a float as in Java's `Double.equals`: all NaNs are equal, 0.0 and -0.0 are not."""
    # The text, as Python takes -0.0 for equal to 0.0.
    if value is None or value > 0 or value < 0 or str(value) == "0.0":
        return value
    return canonical_key(value)


def _normalizer(key_type: object) -> Keep:
    """Return the function that makes values equal that Java considers equal.

    `canonical_key` distinguishes all others.
    """
    for kind, build in _NORMALIZERS:
        if isinstance(key_type, kind):
            normalize = build(key_type)
            return lambda value: None if value is None else normalize(value)
    return lambda value: value


def _basic_normalizer(key_type: Any) -> Keep:
    return _without_negative_zero if key_type.basic_type is BasicType.BIG_DEC else lambda value: value


def _without_negative_zero(value: Decimal) -> Decimal:
    # Java's BigDecimal has no negative zero.
    return value.copy_abs() if value.is_zero() else value


def _as_stored_normalizer(key_type: Any) -> Keep:
    """Return the normalizer of times: times that Flink stores as the same number are equal."""
    to_internal, from_internal = key_type.to_internal_type, key_type.from_internal_type
    return lambda value: value if _is_naive(value) else from_internal(to_internal(value))


def _time_of_day_normalizer(key_type: Any) -> Keep:
    day = 86_400 * 10**6
    return lambda value: (
        value if _is_naive(value) else key_type.from_internal_type(key_type.to_internal_type(value) % day)
    )


def _local_time_normalizer(key_type: Any) -> Keep:
    return _normalizer(key_type._plain())


def _elements_normalizer(key_type: Any) -> Keep:
    normal = _normalizer(key_type.element_type)
    return lambda value: value if value.__class__ is bytes else list(map(normal, value))


def _fields(key_type: Any) -> list[Keep]:
    return [_normalizer(field) for field in key_type.get_field_types()]


def _tuple_normalizer(key_type: object) -> Keep:
    normals = _fields(key_type)
    return lambda value: tuple([normal(part) for normal, part in zip(normals, value, strict=True)])


def _row_normalizer(key_type: Any) -> Keep:
    normals = _fields(key_type)

    def normalize(value: Row) -> Row:
        parts = [normal(part) for normal, part in zip(normals, value._values, strict=True)]
        row = Row.of_kind(value._row_kind, *parts)
        row._fields = value._fields
        return row

    return normalize


def _map_normalizer(key_type: Any) -> Keep:
    """Return the normalizer of maps: the order of the entries is ignored."""
    key_normal, value_normal = _normalizer(key_type.key_type), _normalizer(key_type.value_type)

    def normalize(value: dict[Any, Any]) -> dict[Any, Any]:
        entries = [(key_normal(k), value_normal(v)) for k, v in value.items()]
        # By bytes, as keys of different classes cannot be compared.
        return dict(sorted(entries, key=lambda entry: form_bytes(form_of(entry[0]))))

    return normalize


_NORMALIZERS: tuple[tuple[Any, Callable[[Any], Keep]], ...] = (
    (BasicTypeInfo, _basic_normalizer),
    (TimestampTypeInfo, _as_stored_normalizer),
    (TimeTypeInfo, _time_of_day_normalizer),
    (LocalTimeTypeInfo, _local_time_normalizer),
    (TupleTypeInfo, _tuple_normalizer),
    (RowTypeInfo, _row_normalizer),
    (ElementTypeInfo, _elements_normalizer),
    (MapTypeInfo, _map_normalizer),
    (ExternalTypeInfo, lambda key_type: _normalizer(key_type.type_info)),
)

__all__ = [
    "PLAIN",
    "KeyFormError",
    "ObjectKey",
    "ValueKey",
    "canonical_key",
    "key_keeper",
    "key_of",
]
