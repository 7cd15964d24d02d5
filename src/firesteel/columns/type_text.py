"""Types as SQL text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.type_parser import TypeTextError, parse_type

__all__ = ["TypeTextError", "full_type_text", "parse_type", "quoted", "type_text"]

_DayTime = t.DayTimeIntervalType.DayTimeResolution

_PLAIN: dict[type[t.DataType], str] = {
    t.NullType: "NULL",
    t.BooleanType: "BOOLEAN",
    t.VariantType: "VARIANT",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INT",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DateType: "DATE",
}

_YEAR_MONTH = {1: "INTERVAL YEAR({0})", 2: "INTERVAL MONTH", 3: "INTERVAL YEAR({0}) TO MONTH"}

_DAY_TIME = {
    _DayTime.DAY: "INTERVAL DAY({0})",
    _DayTime.DAY_TO_HOUR: "INTERVAL DAY({0}) TO HOUR",
    _DayTime.DAY_TO_MINUTE: "INTERVAL DAY({0}) TO MINUTE",
    _DayTime.DAY_TO_SECOND: "INTERVAL DAY({0}) TO SECOND({1})",
    _DayTime.HOUR: "INTERVAL HOUR",
    _DayTime.HOUR_TO_MINUTE: "INTERVAL HOUR TO MINUTE",
    _DayTime.HOUR_TO_SECOND: "INTERVAL HOUR TO SECOND({1})",
    _DayTime.MINUTE: "INTERVAL MINUTE",
    _DayTime.MINUTE_TO_SECOND: "INTERVAL MINUTE TO SECOND({1})",
    _DayTime.SECOND: "INTERVAL SECOND({1})",
}

_FULL = {"STRING": "VARCHAR(2147483647)", "BYTES": "VARBINARY(2147483647)"}
_INSTANT = re.compile(r"(?<![`\w])TIMESTAMP_LTZ(\(\d\))")
_SHORT = re.compile(r"(?<![`\w])(STRING|BYTES)(?![`\w])")

_TEXTS: dict[type[t.DataType], Callable[[Any], str]] = {
    t.DecimalType: lambda x: f"DECIMAL({x.precision}, {x.scale})",
    t.CharType: lambda x: f"CHAR({x.length})",
    t.VarCharType: lambda x: "STRING" if x.length == t.MAX_LENGTH else f"VARCHAR({x.length})",
    t.BinaryType: lambda x: f"BINARY({x.length})",
    t.VarBinaryType: lambda x: "BYTES" if x.length == t.MAX_LENGTH else f"VARBINARY({x.length})",
    t.TimeType: lambda x: f"TIME({x.precision})",
    t.TimestampType: lambda x: f"TIMESTAMP({x.precision})",
    t.LocalZonedTimestampType: lambda x: f"TIMESTAMP_LTZ({x.precision})",
    t.ZonedTimestampType: lambda x: f"TIMESTAMP({x.precision}) WITH TIME ZONE",
    t.YearMonthIntervalType: lambda x: _YEAR_MONTH[x.resolution].format(x.precision),
    t.DayTimeIntervalType: lambda x: _DAY_TIME[x.resolution].format(x.day_precision, x.fractional_precision),
    t.ArrayType: lambda x: f"ARRAY<{type_text(x.element_type)}>",
    t.MultisetType: lambda x: f"MULTISET<{type_text(x.element_type)}>",
    t.MapType: lambda x: f"MAP<{type_text(x.key_type)}, {type_text(x.value_type)}>",
    t.RowType: lambda x: f"ROW<{', '.join(map(_field_text, x.fields))}>",
}


def type_text(data_type: t.DataType) -> str:
    """Return the summary string of a type, as Flink shows it in schemas and plans.

    Example:
        >>> type_text(t.VarCharType(3, nullable=False))
        'VARCHAR(3) NOT NULL'
    """
    text = _PLAIN.get(type(data_type)) or _TEXTS.get(type(data_type), _class_text)(data_type)
    if not data_type.is_nullable:
        text += " NOT NULL"
    kind = getattr(data_type, "kind", t.TimestampKind.REGULAR)
    return text + kind.shown


def full_type_text(data_type: t.DataType) -> str:
    """Return a type as Flink serializes it: STRING, BYTES and TIMESTAMP_LTZ by their full names.

    Example:
        >>> full_type_text(t.ArrayType(t.VarCharType(t.MAX_LENGTH)))
        'ARRAY<VARCHAR(2147483647)>'
    """
    text = _SHORT.sub(lambda found: _FULL[found.group()], type_text(data_type))
    return _INSTANT.sub(r"TIMESTAMP\1 WITH LOCAL TIME ZONE", text)


def quoted(name: str) -> str:
    """Return an identifier quoted in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quoted_path(path: Iterable[str]) -> str:
    """Return the path of a table, function or model, each part quoted in backticks."""
    return ".".join(map(quoted, path))


def text_literal(text: str) -> str:
    """Return a literal of SQL for a text."""
    return "'" + text.replace("'", "''") + "'"


def _class_text(data_type: t.DataType) -> str:
    return data_type.type_name()


def _field_text(field: t.RowField) -> str:
    text = f"{quoted(field.name)} {type_text(field.data_type)}"
    if field.description != "...":
        text += f" {text_literal(field.description)}"
    return text
