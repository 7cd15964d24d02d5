"""Columns of a `Schema` descriptor as today's schema: physical columns, time attributes and renamed fields."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.columns.column_types import (
    BigIntType,
    DataType,
    DecimalType,
    LocalZonedTimestampType,
    RowType,
    TimestampType,
)
from firesteel.columns.type_text import parse_type
from firesteel.common.table_errors import ValidationException
from firesteel.table.expression import Expression
from firesteel.table.expressions import call_sql, col, lit, source_watermark
from firesteel.table.schema import Schema
from firesteel.table.types import DataTypes

_Expression = Expression[object]
_FIELD = re.compile(r"schema\.(\d+)\.(\S+)")
_WATERMARK = "rowtime.watermarks."
_TIMESTAMP = "rowtime.timestamps."
_EPOCH = lit(datetime.datetime(1970, 1, 1), DataTypes.TIMESTAMP(3).not_null())


@dataclass(frozen=True)
class Field:
    """A field of a `Schema` descriptor.

    Attributes:
        name: Its name.
        type: Its type.
        properties: Its other properties, such as `proctime` and `rowtime.timestamps.from`.
    """

    name: str
    type: DataType
    properties: Mapping[str, str]

    @property
    def is_rowtime(self) -> bool:
        """Whether it is a rowtime attribute."""
        return any(key.startswith("rowtime.") for key in self.properties)

    @property
    def origin(self) -> str | None:
        """The field of the record that it is read from, None if it is not read."""
        if "proctime" in self.properties or self.properties.get(f"{_TIMESTAMP}type") == "from-source":
            return None
        return self.properties.get(f"{_TIMESTAMP}from", self.properties.get("from", self.name))


def fields_of(properties: Mapping[str, str]) -> list[Field]:
    """Return the fields that the properties `schema.*` describe."""
    found: dict[int, dict[str, str]] = {}
    for key, value in properties.items():
        if (match := _FIELD.fullmatch(key)) is not None:
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [Field(field.pop("name"), parse_type(field.pop("data-type")), field) for _, field in sorted(found.items())]


def has_other_fields(fields: Sequence[Field]) -> bool:
    """Return whether records have other fields than the table."""
    return any(field.origin not in (None, field.name) for field in fields)


def schema_of(fields: Sequence[Field], types: Mapping[str, DataType]) -> Schema:
    """Return the schema of a table, in which a field of another name follows the column that it is read from.

    Args:
        fields: The fields.
        types: Types of fields of records that the format declares.
    """
    builder = Schema.new_builder()
    names = {field.name for field in fields if field.origin == field.name}
    for field in fields:
        if field.origin is not None and field.origin != field.name and field.origin not in names:
            names.add(field.origin)
            builder.column(field.origin, types.get(field.origin, field.type))
        _add_column(builder, field, types)
    for field in fields:
        if field.is_rowtime:
            builder.watermark(field.name, _watermark(field))
    return builder.build()


def _add_column(builder: Schema.Builder, field: Field, types: Mapping[str, DataType]) -> None:
    if field.origin == field.name:
        builder.column(field.name, _physical_type(field))
    elif "proctime" in field.properties:
        builder.column_by_expression(field.name, call_sql("PROCTIME()"))
    elif field.origin is None:
        builder.column_by_metadata(field.name, DataTypes.TIMESTAMP_LTZ(3), "timestamp", True)
    elif field.is_rowtime:
        kind = types.get(field.origin, field.type)
        builder.column_by_expression(field.name, _as_rowtime(col(field.origin), kind))
    else:
        builder.column_by_expression(field.name, col(field.origin).cast(field.type))


def _physical_type(field: Field) -> DataType:
    """Return the type of a column; a rowtime attribute has milliseconds, as in Flink 1."""
    if not field.is_rowtime:
        return field.type
    if isinstance(field.type, TimestampType):
        return DataTypes.TIMESTAMP(3)
    if isinstance(field.type, LocalZonedTimestampType):
        return DataTypes.TIMESTAMP_LTZ(3)
    raise ValidationException(f"The rowtime attribute '{field.name}' must be a TIMESTAMP, found {field.type}")


def _as_rowtime(value: _Expression, kind: DataType) -> _Expression:
    """Return a time of UTC: of milliseconds since 1970, of a text such as `2020-01-01T00:00:00Z`, or of a timestamp."""
    found: _Expression = _EPOCH + value.milli
    if isinstance(kind, BigIntType):
        return found
    if isinstance(kind, DecimalType):
        return _as_rowtime(value.cast(DataTypes.BIGINT()), DataTypes.BIGINT())
    if isinstance(kind, TimestampType | LocalZonedTimestampType):
        return value.cast(DataTypes.TIMESTAMP(3))
    return value.replace("T", " ").replace("Z", "").cast(DataTypes.TIMESTAMP(3))


def _watermark(field: Field) -> _Expression:
    kind = field.properties.get(f"{_WATERMARK}type")
    if kind == "from-source":
        return source_watermark()
    delays = {"periodic-ascending": "1", "periodic-bounded": field.properties.get(f"{_WATERMARK}delay")}
    delay = delays.get(kind or "")
    if delay is not None:
        found: _Expression = col(field.name) - lit(int(delay)).milli
        return found
    raise ValidationException(f"The rowtime attribute '{field.name}' has no watermarks; call a method watermarks_*()")


def types_of_format(properties: Mapping[str, str]) -> dict[str, DataType]:
    """Return the types of fields that a format declares, by a row type or a JSON schema."""
    if "format.schema" in properties:
        kind = parse_type(properties["format.schema"])
        return dict(zip(kind.field_names(), kind.field_types(), strict=True)) if isinstance(kind, RowType) else {}
    return _types_of_json_schema(properties.get("format.json-schema", ""))


_PROPERTY = re.compile(r"""["']?(\w+)["']?\s*:\s*\{\s*["']?type["']?\s*:\s*["'](\w+)["']""")
_JSON_TYPES = {
    "string": DataTypes.STRING(),
    "integer": DataTypes.BIGINT(),
    "number": DataTypes.DECIMAL(38, 18),
    "boolean": DataTypes.BOOLEAN(),
}


def _types_of_json_schema(text: str) -> dict[str, DataType]:
    """Return the types of the properties of a JSON schema, in which names need not be quoted."""
    return {name: _JSON_TYPES[kind] for name, kind in _PROPERTY.findall(text) if kind in _JSON_TYPES}
