"""Unresolved schemas (module as `pyflink.table.schema`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.expression import Expression, SqlExpression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expression_functions.expression_summary import expression_summary
from firesteel.table.functions.function_types import as_data_type
from firesteel.table.planner.parse.parser import parse_expression
from firesteel.table.syntax.statements import ColumnDefinition, WatermarkDefinition
from firesteel.table.table_parts import unresolved_of
from firesteel.table.types import DataType, RowType

if TYPE_CHECKING:
    from firesteel.table.catalog import ResolvedSchema

__all__ = ["Schema"]


class Schema:
    """The columns, watermarks and primary key of a table, as a program declares them (Flink: `Schema`).

    `new_builder` returns a builder, which programs use instead of the constructor.

    Example:
        >>> from firesteel.table import DataTypes, Schema
        >>> builder = Schema.new_builder().column("id", DataTypes.BIGINT()).column("at", "TIMESTAMP(3)")
        >>> print(builder.watermark("at", "`at` - INTERVAL '5' SECOND").build())
        (
          `id` BIGINT,
          `at` [TIMESTAMP(3)],
          WATERMARK FOR `at` AS [`at` - INTERVAL '5' SECOND]
        )
    """

    def __init__(
        self,
        columns: tuple[ColumnDefinition, ...],
        watermarks: tuple[WatermarkDefinition, ...] = (),
        primary_key: tuple[str, ...] = (),
        constraint_name: str | None = None,
    ) -> None:
        self._columns = columns
        self._watermarks = watermarks
        self._primary_key = primary_key
        self._constraint_name = constraint_name

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Return a new builder."""
        return Schema.Builder()

    def __str__(self) -> str:
        lines = [f"  {_column_text(column)}" for column in self._columns]
        lines += [f"  WATERMARK FOR `{mark.column}` AS {_definition_text(mark)}" for mark in self._watermarks]
        if self._primary_key:
            names = ", ".join(f"`{name}`" for name in self._primary_key)
            lines.append(f"  CONSTRAINT `{self._constraint_name}` PRIMARY KEY ({names}) NOT ENFORCED")
        return "(\n" + ",\n".join(lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """A builder of `Schema`."""

        def __init__(self) -> None:
            self._columns: list[ColumnDefinition] = []
            self._watermarks: list[WatermarkDefinition] = []
            self._primary_key: tuple[str, ...] = ()
            self._constraint_name: str | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Add the columns, watermarks and primary key of another schema.

            Args:
                unresolved_schema: The schema; the new columns follow the present ones.

            Raises:
                ValidationException: both have a primary key.
            """
            self._columns += unresolved_schema._columns
            self._watermarks += unresolved_schema._watermarks
            if unresolved_schema._primary_key:
                self._set_key(unresolved_schema._constraint_name or "", unresolved_schema._primary_key)
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Add the columns, watermarks and primary key of a resolved schema.

            Args:
                resolved_schema: The schema; the new columns follow the present ones.

            Raises:
                ValidationException: both have a primary key.
            """
            return self.from_schema(unresolved_of(resolved_schema))

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Add a physical column for each field of a row type.

            Args:
                data_type: A `DataTypes.ROW`.

            Raises:
                ValidationException: `data_type` is not a row type.
            """
            if not isinstance(data_type, RowType):
                raise ValidationException(f"Data type of ROW expected, found {data_type}")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(self, field_names: list[str], field_data_types: list[DataType]) -> Schema.Builder:
            """Add physical columns.

            Args:
                field_names: Names of the columns.
                field_data_types: Their types, in the same order.

            Raises:
                ValidationException: There are not as many types as names.
            """
            if len(field_names) != len(field_data_types):
                raise ValidationException("Field names and field data types must have the same length.")
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Add a physical column.

            Args:
                column_name: The name of the column.
                data_type: A type, or its SQL text such as `TIMESTAMP(3)`.
            """
            text = data_type if isinstance(data_type, str) else ""
            self._columns.append(ColumnDefinition(column_name, as_data_type(data_type, "data_type"), text=text))
            return self

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Schema.Builder:
            """Add a computed column.

            Args:
                column_name: The name of the column.
                expr: An expression over other columns, or its SQL text such as `PROCTIME()`.
            """
            node, text = _expression(expr)
            self._columns.append(ColumnDefinition(column_name, expression=node, text=text))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Add a metadata column of the connector.

            Args:
                column_name: The name of the column.
                data_type: The type to which the metadata is cast.
                metadata_key: The key of the metadata; by default the name of the column.
                is_virtual: Whether the column is only read, and not written to a sink.
            """
            kind = as_data_type(data_type, "data_type")
            self._columns.append(
                ColumnDefinition(column_name, kind, is_metadata=True, metadata_key=metadata_key, is_virtual=is_virtual)
            )
            return self

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Schema.Builder:
            """Declare a column as rowtime attribute, with its watermark strategy.

            Args:
                column_name: A column of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), with p at most 3.
                watermark_expr: The watermark as expression or SQL text, such as `ts - INTERVAL '5' SECOND`.
            """
            node, text = _expression(watermark_expr)
            self._watermarks.append(WatermarkDefinition(column_name, node, text))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Declare the primary key, named `PK_` and the names of its columns.

            Args:
                column_names: Its columns; as in Flink, nothing checks that values are unique.

            Raises:
                ValidationException: The schema already has a primary key.
            """
            return self._set_key(key_name(column_names), column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Declare the primary key with a name.

            Args:
                constraint_name: Name of the constraint.
                column_names: Its columns; as in Flink, nothing checks that values are unique.

            Raises:
                ValidationException: The schema already has a primary key.
            """
            return self._set_key(constraint_name, column_names)

        def _set_key(self, name: str, columns: tuple[str, ...]) -> Schema.Builder:
            if self._primary_key:
                raise ValidationException("Multiple primary keys are not supported.")
            self._primary_key, self._constraint_name = columns, name
            return self

        def build(self) -> Schema:
            """Return the schema."""
            return Schema(tuple(self._columns), tuple(self._watermarks), self._primary_key, self._constraint_name)


def _expression(expression: str | Expression[Any]) -> tuple[Any, str]:
    """Return the expression node and its SQL text, which is empty for calls of the Table API."""
    if isinstance(expression, str):
        return parse_expression(expression), expression
    return node_of(expression), expression.text if isinstance(expression, SqlExpression) else ""


def _definition_text(definition: ColumnDefinition | WatermarkDefinition) -> str:
    return f"[{definition.text}]" if definition.text else expression_summary(definition.expression)


def _column_text(column: ColumnDefinition) -> str:
    if column.expression is not None:
        return f"`{column.name}` AS {_definition_text(column)}"
    if not column.is_metadata:
        return f"`{column.name}` {f'[{column.text}]' if column.text else type_text(column.declared_type)}"
    key = f" FROM '{column.metadata_key}'" if column.metadata_key else ""
    return f"`{column.name}` {type_text(column.declared_type)} METADATA{key}{' VIRTUAL' if column.is_virtual else ''}"


def key_name(columns: tuple[str, ...]) -> str:
    """Return Flink's default name of a primary key."""
    return "PK_" + "_".join(columns)
