"""Conversion of records to their declared types, with the same effect as Flink's serializers.

`coercer(type_info)` compiles a type into one function, so that a record costs one call. An integer outside the
range of its type is an error, other numbers lose their fraction where an integer is declared, `FLOAT` is rounded to 32
bits, and times keep milliseconds (those of `LocalTimeTypeInfo` microseconds) and lose their zone. A row or dictionary
with a field that its type does not have is an error. The result never shares a mutable container with its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.compiled_source import function_of
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.common.values.ownership import IMMUTABLE, IS_IMMUTABLE, own
from firesteel.common.values.scalar_coercion import (
    INLINE,
    Coercer,
    coerce_date,
    coerce_time,
    coerce_timestamp,
    index_of,
    local_time_coercer,
    scalar_coercer,
)
from firesteel.errors import TypeMismatchError, ValueOverflowError

_BYTES = "PRIMITIVE_ARRAY(BYTE) (bytes)"


def coercer(type_info: TypeInformation[Any] | None) -> Coercer | None:
    """Return the function that converts a value to `type_info`, or None if every value passes unchanged.

    The function raises `TypeMismatchError` (a `TypeError`), which names the field, the declared type and the value
    found; a number outside the range of its type is a `ValueOverflowError` (an `OverflowError`). None is a value of
    every type.

    Example:
        >>> coercer(Types.TUPLE([Types.STRING(), Types.SHORT()]))(["a", 4387.8])
        ('a', 4387)
    """
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return None
    if isinstance(type_info, BasicTypeInfo):
        return scalar_coercer(type_info.basic_type)
    for kind, build in _BUILDERS:
        if isinstance(type_info, kind):
            return build(type_info)
    return None


def batch_coercer(type_info: TypeInformation[object] | None) -> Callable[[list[object]], list[object]] | None:
    """Return the conversion of `coercer` for a list of values; values that pass unchanged cost no call.

    Example:
        >>> batch_coercer(Types.TUPLE([Types.STRING(), Types.SHORT()]))([("a", 4387.8), ("b", 1)])
        [('a', 4387), ('b', 1)]
    """
    coerce = coercer(type_info)
    if coerce is None:
        return None
    # `operators.errors.in_hand` reads from `remaining` which value failed.
    check = fits(type_info, "v")
    source = f"""
def coerce_all(values):
    remaining = iter(values)
    return [v if {check} else coerce(v) for v in remaining]
"""
    scope: dict[str, Any] = {"coerce": coerce, "immutable": IMMUTABLE}
    return function_of(source, scope, __file__, "coerce_all")


def fits(type_info: object, value: str) -> str:
    """Return source code that tells whether a value passes unchanged, or `False` if there is no simple check.

    If the check is true, the value is immutable. The source refers to `ownership.IMMUTABLE` as `immutable`.

    Example:
        >>> fits(Types.STRING(), "name")
        'name.__class__ is str'
    """
    return _check_of(type_info, value) or "False"


def _check_of(type_info: Any, value: str) -> str | None:
    """Return source code that tells whether a value passes unchanged, or None if there is no simple check."""
    if coercer(type_info) is None:
        return IS_IMMUTABLE.format(v=value)
    if isinstance(type_info, BasicTypeInfo):
        check = INLINE.get(type_info.basic_type)
        return None if check is None else check.format(v=value)
    if not isinstance(type_info, TupleTypeInfo):
        return None
    fields = type_info.get_field_types()
    checks = [_check_of(field, f"{value}[{i}]") for i, field in enumerate(fields)]
    if None in checks:
        return None
    return " and ".join([f"{value}.__class__ is tuple and len({value}) == {len(fields)}", *map(str, checks)])


def settler(type_info: TypeInformation[object] | None) -> tuple[str, Coercer]:
    """Return what converts a value of user code to an unshared value of a type: `(source, function)`.

    The source tells whether a value `v` passes unchanged, so that it costs no call. The function converts the others.
    """
    return fits(type_info, "v"), coercer(type_info) or own


def is_immutable_type(type_info: TypeInformation[object] | None) -> bool:
    """Return whether values are immutable once they are converted to a type."""
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    if isinstance(type_info, TupleTypeInfo):
        return all(map(is_immutable_type, type_info.get_field_types()))
    if isinstance(type_info, PrimitiveArrayTypeInfo):
        return coercer(type_info) is _coerce_bytes_array
    return isinstance(type_info, (BasicTypeInfo, DateTypeInfo, TimeTypeInfo, TimestampTypeInfo, LocalTimeTypeInfo))


def _coerce_bytes_array(value: object) -> object:
    if value is None or value.__class__ is bytes:
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        numbers = [index_of(item, _BYTES) for item in value]
        if all(-128 <= number <= 255 for number in numbers):
            # Java's bytes are signed.
            return bytes([number & 0xFF for number in numbers])
        raise ValueOverflowError(_BYTES, value)
    raise TypeMismatchError(_BYTES, value)


def _array_coercer(type_info: Any) -> Coercer:
    element = type_info.element_type
    if isinstance(type_info, PrimitiveArrayTypeInfo) and element.basic_type is BasicType.BYTE:
        return _coerce_bytes_array
    convert = coercer(element) or own
    expected = f"{type_info!r} (list)"

    def coerce(value: object) -> Any:
        if value is None:
            return None
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            raise TypeMismatchError(expected, value)
        try:
            return [convert(item) for item in value]
        except TypeMismatchError:
            _locate(((f"[{i}]", convert, item) for i, item in enumerate(value)))
            raise

    return coerce


def _map_coercer(type_info: Any) -> Coercer:
    key = coercer(type_info.key_type) or own
    item = coercer(type_info.value_type) or own

    def coerce(value: object) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise TypeMismatchError(f"{type_info!r} (dict)", value)
        try:
            return {key(k): item(v) for k, v in value.items()}
        except TypeMismatchError:
            _locate((".keys()", key, k) for k in value)
            _locate((f"[{k!r}]", item, v) for k, v in value.items())
            raise

    return coerce


def _locate(parts: Any) -> None:
    for step, convert, value in parts:
        try:
            convert(value)
        except TypeMismatchError as mismatch:
            raise mismatch.below(step) from None


# Fields of these types are checked inline in the compiled source; other fields cost a call of their coercer.


def _compile_fields(
    fields: list[TypeInformation[object]], head: str, unchanged: str, changed: str, names: dict[str, object]
) -> Coercer:
    """Return a function over the fields `a0`, `a1` ...

    It runs `unchanged` if all fields pass unchanged, otherwise `changed`, and `slow(v)` if a field does not fit.
    """
    variables = [f"a{i}" for i in range(len(fields))]
    checks, results = [], []
    scope: dict[str, Any] = {"TypeMismatchError": TypeMismatchError, **names}
    for i, field in enumerate(fields):
        convert = coercer(field) or own
        inline = INLINE.get(field.basic_type) if isinstance(field, BasicTypeInfo) else None
        if inline is not None:
            checks.append(inline.format(v=variables[i]))
            results.append(variables[i])
        else:
            scope[f"c{i}"] = convert
            results.append(f"c{i}({variables[i]})")
    unpack = f"{', '.join(variables)}, = {{}}" if variables else "pass  # {}"
    body = (unchanged if results == variables else changed).format(fields="".join(f"{result}, " for result in results))
    source = f"""
def coerce(v):
    if {head}:
        {unpack.format(names["values"])}
        if {" and ".join(checks) or "True"}:
            try:
                {body}
            except TypeMismatchError:
                pass
    return slow(v)
"""
    return function_of(source, scope, __file__, "coerce")


def _slow_fields(
    fields: list[TypeInformation[Any]], names: list[str] | None, expected: str
) -> Callable[[Any, Any], list[Any]]:
    converts = [coercer(field) or own for field in fields]
    steps = [f".{name}" for name in names] if names else [f"[{i}]" for i in range(len(fields))]

    def convert_all(values: Any, whole: object) -> list[Any]:
        if len(values) != len(converts):
            raise TypeMismatchError(f"{expected} of {len(converts)} fields", whole)
        try:
            return [convert(value) for convert, value in zip(converts, values, strict=True)]
        except TypeMismatchError:
            _locate(zip(steps, converts, values, strict=True))
            raise

    return convert_all


def _tuple_coercer(type_info: Any) -> Coercer:
    fields = type_info.get_field_types()
    convert_all = _slow_fields(fields, None, "TUPLE (tuple)")

    def slow(value: object) -> Any:
        if value is None:
            return None
        if not isinstance(value, (tuple, list, Row)):
            raise TypeMismatchError(f"TUPLE (tuple) of {len(fields)} fields", value)
        return tuple(convert_all(value, value))

    head = f"v.__class__ is tuple and len(v) == {len(fields)}"
    return _compile_fields(fields, head, "return v", "return ({fields})", {"values": "v", "slow": slow})


def _row_coercer(type_info: Any) -> Coercer:
    fields, names = type_info.get_field_types(), tuple(type_info.get_field_names())
    known, convert_all = frozenset(names), _slow_fields(fields, list(names), "ROW (Row)")

    def check_names(found: Iterable[object], whole: object) -> None:
        if not known.issuperset(found):
            raise TypeMismatchError(f"ROW (Row) with fields {', '.join(names)}", whole)

    def slow(value: object) -> Any:
        if value is None:
            return None
        if isinstance(value, dict):
            check_names(value, value)
            values: Any = [value.get(name) for name in names]
        elif isinstance(value, Row):
            check_names(value._fields or (), value)
            values = value.get_fields_by_names(list(names)) if len(value) == len(names) else value
        elif isinstance(value, (tuple, list)):
            values = value
        else:
            raise TypeMismatchError(f"ROW (Row) of {len(fields)} fields", value)
        row = Row(*convert_all(values, value))
        row._fields = names
        if isinstance(value, Row):
            row._row_kind = value._row_kind
        return row

    make = "r = new(Row); r._fields = names; r._row_kind = v._row_kind; r._values = [{fields}]; return r"
    scope = {"values": "v._values", "slow": slow, "Row": Row, "new": Row.__new__, "names": names}
    head = f"v.__class__ is Row and len(v._values) == {len(fields)} and (v._fields is None or v._fields is names)"
    return _compile_fields(fields, head, make, make, scope)


def _external_coercer(type_info: Any) -> Coercer | None:
    return coercer(type_info.type_info)


_BUILDERS: tuple[tuple[type, Callable[[Any], Coercer | None]], ...] = (
    (TupleTypeInfo, _tuple_coercer),
    (RowTypeInfo, _row_coercer),
    (ElementTypeInfo, _array_coercer),
    (MapTypeInfo, _map_coercer),
    (DateTypeInfo, lambda _: coerce_date),
    (TimeTypeInfo, lambda _: coerce_time),
    (TimestampTypeInfo, lambda _: coerce_timestamp),
    (LocalTimeTypeInfo, local_time_coercer),
    (ExternalTypeInfo, _external_coercer),
)
