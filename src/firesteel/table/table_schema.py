"""Names and types of a table's columns (module as `pyflink.table.table_schema`)."""

from __future__ import annotations

from dataclasses import replace

from firesteel.columns.column_types import regular
from firesteel.columns.type_text import type_text
from firesteel.connectors.table_connector import Column
from firesteel.table.expression_functions.expression_text import expression_sql
from firesteel.table.resolved_schema import ResolvedSchema, column_extras, schema_of_rows
from firesteel.table.schema import Schema
from firesteel.table.table_parts import column_of, unresolved_of
from firesteel.table.types import DataType, RowField, RowType

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of a table's columns; `str()` shows them as a tree (Flink: `TableSchema`).

    Args:
        field_names: Names of the columns in order; None for none.
        data_types: Their types in the same order; None for none.
        resolved: A schema to wrap, which replaces the two other arguments; None uses these.

    Raises:
        ValueError: the numbers of names and types differ.

    Example:
        >>> print(TableSchema(["a"], [DataTypes.INT()]))
        root
         |-- a: INT
        <BLANKLINE>
    """

    def __init__(
        self,
        field_names: list[str] | None = None,
        data_types: list[DataType] | None = None,
        resolved: ResolvedSchema | None = None,
    ) -> None:
        if resolved is None:
            fields = zip(field_names or [], data_types or [], strict=True)
            resolved = schema_of_rows(RowType([RowField(name, kind) for name, kind in fields]))
        self._resolved = resolved

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """Return a builder."""
        return TableSchema.Builder()

    def copy(self) -> TableSchema:
        """Return a copy."""
        return TableSchema(resolved=self._resolved)

    def get_field_data_types(self) -> list[DataType]:
        """Return the types of the columns."""
        return self._resolved.get_column_data_types()

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """Return the type of a column.

        Args:
            field: Position from 0, or name.

        Returns:
            None if there is no such column.

        Raises:
            TypeError: `field` is neither.
        """
        if not isinstance(field, int | str):
            raise TypeError(f"Expected field index or field name, got {type(field)}")
        column = self._resolved.get_column(field)
        return None if column is None else column.get_data_type()

    def get_field_count(self) -> int:
        """Return the number of columns."""
        return self._resolved.get_column_count()

    def get_field_names(self) -> list[str]:
        """Return the names of the columns."""
        return self._resolved.get_column_names()

    def get_field_name(self, field_index: int) -> str | None:
        """Return the name of a column.

        Args:
            field_index: Position from 0.

        Returns:
            None if there is no such column.
        """
        column = self._resolved.get_column(field_index)
        return None if column is None else column.get_name()

    def to_row_data_type(self) -> RowType:
        """Return the type of the rows."""
        return self._resolved.to_source_row_data_type()

    def _unresolved(self) -> Schema:
        return unresolved_of(self._resolved)

    def __str__(self) -> str:
        lines = ["root"]
        for column in self._resolved.get_columns():
            extras = column_extras(_with_sql(column_of(column)))
            lines.append(
                f" |-- {column.get_name()}: {type_text(column.get_data_type())}{f' {extras}' if extras else ''}"
            )
        for mark in self._resolved.get_watermark_specs():
            expression = mark.get_watermark_expression()
            text = _plain_type(expression.get_output_data_type())
            shown = expression.as_serializable_string()
            lines.append(f" |-- WATERMARK FOR {mark.get_rowtime_attribute()}: {text} AS {shown}")
        key = self._resolved.get_primary_key()
        if key is not None:
            lines.append(f" |-- CONSTRAINT {key.get_name()} PRIMARY KEY ({', '.join(key.get_columns())})")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """A builder of `TableSchema`."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column.

            Args:
                name: Name of the column.
                data_type: A type of `DataTypes`.
            """
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Return the schema."""
            return TableSchema(self._names, self._types)


def _plain_type(data_type: DataType) -> str:
    """Return the text of a type that may be a time attribute, without saying so."""
    return type_text(regular(data_type))


def _with_sql(column: Column) -> Column:
    """Return a column whose expression is shown as SQL: unlike a `ResolvedSchema`, not as the program wrote it."""
    return column if column.expression is None else replace(column, text=expression_sql(column.expression))
