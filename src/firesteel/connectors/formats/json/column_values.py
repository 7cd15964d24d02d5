"""Values of JSON as values of columns, and back. Flink: `JsonToRowDataConverters` and `RowDataToJsonConverters`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import map_types
from firesteel.connectors.formats.text_values import decimal_of, reader_of, writer_of

Convert = Callable[[Any], Any]
_INTEGERS: dict[type[t.DataType], int] = {t.IntType: 1 << 31, t.BigIntType: 1 << 63}
_BARE = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.DecimalType,
    t.YearMonthIntervalType,
    t.DayTimeIntervalType,
)


class Number(str):
    """A number with a fraction or exponent, as it was written."""

    __slots__ = ()


def json_reader(kind: t.DataType, is_iso: bool, ignores: bool, fails_on_missing: bool) -> Convert:
    """Return the function that converts a value returned by `json.loads`.

    Args:
        kind: The type.
        is_iso: Whether timestamps have a `T`.
        ignores: Whether an invalid value becomes NULL.
        fails_on_missing: Whether a missing field is an error.

    Raises:
        NotImplementedError: JSON has no such values.
    """

    def child(inner: t.DataType) -> Convert:
        return json_reader(inner, is_iso, ignores, fails_on_missing)

    convert = _converter(kind, child, is_iso, fails_on_missing)

    def nullable(value: object) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, TypeError, AttributeError) as error:
            if ignores:
                return None
            raise ValueError(str(error)) from error

    return nullable


def _converter(
    kind: t.DataType, child: Callable[[t.DataType], Convert], is_iso: bool, fails_on_missing: bool
) -> Convert:
    if isinstance(kind, t.RowType):
        return _row(kind, child, fails_on_missing)
    if isinstance(kind, t.ArrayType):
        element = child(kind.element_type)
        return lambda value: [element(item) for item in _of(value, list, "an array")]
    if isinstance(kind, (t.MapType, t.MultisetType)):
        key_type, value_type = map_types(kind)
        key, item = child(key_type), child(value_type)
        return lambda value: {key(k): item(v) for k, v in _of(value, dict, "an object").items()}
    if isinstance(kind, (t.CharType, t.VarCharType)):
        return _text
    if type(kind) in _INTEGERS:
        return _integer(kind, _INTEGERS[type(kind)])
    read = reader_of(kind, is_iso)
    if isinstance(kind, t.DecimalType):
        return lambda value: decimal_of(_scalar(value), kind)
    return lambda value: read(_scalar(value))


def _row(kind: t.RowType, child: Callable[[t.DataType], Convert], fails_on_missing: bool) -> Convert:
    fields = [(field.name, child(field.data_type)) for field in kind.fields]

    def convert(value: Any) -> tuple[Any, ...]:
        _of(value, dict, "an object")
        if fails_on_missing:
            for name, _ in fields:
                if name not in value:
                    raise ValueError(f"Could not find field with name '{name}'.")
        return tuple(read(value.get(name)) for name, read in fields)

    return convert


def _of(value: object, wanted: type, name: str) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"expected {name}, found {json.dumps(value)[:100]}")
    return value


def _integer(kind: t.DataType, bound: int) -> Convert:
    read = reader_of(kind)

    def convert(value: object) -> int:
        if isinstance(value, Number):
            number = int(float(value))
            if not -bound <= number < bound:
                raise ValueError(f"{value} is no {kind.type_name()}")
            return number
        return read(_scalar(value))  # type: ignore[no-any-return]

    return convert


def _scalar(value: object) -> str:
    if isinstance(value, (dict, list)):
        raise ValueError(f"expected a scalar, found {json.dumps(value)[:100]}")
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return _compact(value)
    return json.dumps(value)


def _compact(value: object) -> str:
    """Return compact JSON with numbers as they were written."""
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}:{_compact(v)}" for k, v in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return str.__str__(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def json_writer(kind: t.DataType, is_iso: bool, is_plain: bool, null_keys: str, null_key: str) -> Callable[[Any], str]:
    """Return the function that returns the JSON of a value (as returned by `pyarrow.Array.to_pylist`).

    Args:
        kind: The type.
        is_iso: Whether timestamps get a `T`.
        is_plain: Whether decimals are written without exponent.
        null_keys: The treatment of NULL as key of a map: fail, drop or literal.
        null_key: The literal.
    """

    def child(inner: t.DataType) -> Callable[[Any], str]:
        write = json_writer(inner, is_iso, is_plain, null_keys, null_key)
        return lambda value: "null" if value is None else write(value)

    if isinstance(kind, t.RowType):
        fields = [(json.dumps(f.name, ensure_ascii=False), child(f.data_type)) for f in kind.fields]
        return lambda value: (
            "{" + ",".join(f"{n}:{w(v)}" for (n, w), v in zip(fields, value.values(), strict=True)) + "}"
        )
    if isinstance(kind, t.ArrayType):
        element = child(kind.element_type)
        return lambda value: "[" + ",".join(map(element, value)) + "]"
    if isinstance(kind, (t.MapType, t.MultisetType)):
        return _map_writer(child(map_types(kind)[1]), null_keys, null_key)
    text = writer_of(kind, is_iso, is_plain)
    if isinstance(kind, _BARE):
        return text
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return lambda value: _number(text(value))
    return lambda value: json.dumps(text(value), ensure_ascii=False)


def _number(text: str) -> str:
    return text if text[-1].isdigit() else f'"{text}"'


def _map_writer(item: Callable[[Any], str], null_keys: str, null_key: str) -> Callable[[Any], str]:
    def write(value: Any) -> str:
        parts = []
        for key, content in value:
            if key is None:
                if null_keys == "drop":
                    continue
                if null_keys == "fail":
                    raise ValueError(
                        "JSON format doesn't support to serialize map data with null keys. You can drop null "
                        "key entries "
                        "or encode null in literals by specifying map-null-key.mode option."
                    )
                key = null_key
            parts.append(f"{json.dumps(str(key), ensure_ascii=False)}:{item(content)}")
        return "{" + ",".join(parts) + "}"

    return write
