"""Legacy descriptors (module as `pyflink.table.descriptors`); prefer `Schema` and `TableDescriptor`."""

from __future__ import annotations

from typing import Any, Self

from firesteel.columns.type_text import full_type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.functions.function_types import as_data_type
from firesteel.table.table_schema import TableSchema

__all__ = ["Rowtime", "Schema"]


_FORMER_NAMES = {"SQL_TIMESTAMP": "TIMESTAMP(3)", "SQL_TIME": "TIME(0)", "SQL_DATE": "DATE"}


class Descriptor:
    """Something that is described by properties."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def to_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._properties)

    def _set(self, key: str, value: str) -> Self:
        self._properties[key] = value
        return self


class Rowtime(Descriptor):
    """The definition of a rowtime attribute and its watermarks."""

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """Take timestamps from a field."""
        self._set("rowtime.timestamps.type", "from-field")
        return self._set("rowtime.timestamps.from", field_name)

    def timestamps_from_source(self) -> Rowtime:
        """Take timestamps from the source."""
        return self._set("rowtime.timestamps.type", "from-source")

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        """Take timestamps from a Java class; not available."""
        raise NotImplementedError(f"Java classes such as {extractor} are not available; use timestamps_from_field()")

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Expect ascending timestamps."""
        return self._set("rowtime.watermarks.type", "periodic-ascending")

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Expect timestamps that are out of order by a bounded delay (ms)."""
        self._set("rowtime.watermarks.type", "periodic-bounded")
        return self._set("rowtime.watermarks.delay", str(delay))

    def watermarks_from_source(self) -> Rowtime:
        """Take the watermarks of the source."""
        return self._set("rowtime.watermarks.type", "from-source")

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        """Take watermarks from a Java class; not available."""
        raise NotImplementedError(
            f"Java classes such as {strategy} are not available; use watermarks_periodic_bounded()"
        )


class Schema(Descriptor):
    """The fields of a table, as properties.

    Args:
        schema: Names and types of the first fields; None for none.
        fields: Types by name of the fields that follow, as `DataTypes` or text; None for none.
        rowtime: Makes the last field a rowtime attribute; None does not.
    """

    def __init__(
        self, schema: TableSchema | None = None, fields: dict[str, Any] | None = None, rowtime: Rowtime | None = None
    ) -> None:
        super().__init__()
        self._count = 0
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """Declare the fields of a schema."""
        return self.fields(dict(zip(table_schema.get_field_names(), table_schema.get_field_data_types(), strict=True)))

    def fields(self, fields: dict[str, Any]) -> Schema:
        """Declare fields by names and types."""
        for name, kind in fields.items():
            self.field(name, kind)
        return self

    def field(self, field_name: str, field_type: object) -> Schema:
        """Declare a field."""
        self._set(f"schema.{self._count}.data-type", _type_text(field_type))
        self._set(f"schema.{self._count}.name", field_name)
        self._count += 1
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """Set the origin of the last field."""
        return self._set_of_last("from", origin_field_name)

    def proctime(self) -> Schema:
        """Make the last field a processing-time attribute."""
        return self._set_of_last("proctime", "true")

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """Make the last field a rowtime attribute."""
        for key, value in rowtime.to_properties().items():
            self._set_of_last(key, value)
        return self

    def _set_of_last(self, key: str, value: str) -> Schema:
        if not self._count:
            raise ValidationException("No field previously defined. Use field() before.")
        return self._set(f"schema.{self._count - 1}.{key}", value)


def _type_text(field_type: object) -> str:
    if isinstance(field_type, str):
        text = _FORMER_NAMES.get(field_type, field_type)
        as_data_type(text, "field_type")
        return text
    return full_type_text(as_data_type(field_type, "field_type"))
