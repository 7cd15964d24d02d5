"""Resolved schemas: columns with types, watermarks and keys; re-exported by `firesteel.table.catalog`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from firesteel.columns.column_types import regular
from firesteel.columns.type_text import quoted, type_text
from firesteel.connectors import table_connector as base
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.resolved_expression import ResolvedExpression
from firesteel.table.schema import Schema, key_name
from firesteel.table.syntax.statements import ColumnDefinition, WatermarkDefinition
from firesteel.table.table_parts import column_of
from firesteel.table.types import DataType, RowField, RowType

if TYPE_CHECKING:
    from typing import Self

    from firesteel.connectors.table_connector import ResolvedTable


class Column:
    """A column with its type (Flink: `catalog.Column`).

    `Column.physical`, `Column.computed` and `Column.metadata` create columns, and `ResolvedSchema` returns them.

    Example:
        >>> column = Column.physical("id", DataTypes.BIGINT()).with_comment("Number of the order")
        >>> column.get_name(), column.is_physical(), column.get_comment()
        ('id', True, 'Number of the order')
    """

    def __init__(self, column: base.Column) -> None:
        self._column = column

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """Return a column that the connector stores.

        Args:
            name: Name of the column.
            data_type: A type of `DataTypes`.
        """
        return PhysicalColumn(base.Column(name, data_type))

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """Return a column that is computed from other columns.

        Args:
            name: Name of the column.
            resolved_expression: The expression, which also gives the type.
        """
        node, kind = node_of(resolved_expression), resolved_expression.get_output_data_type()
        text = resolved_expression.as_serializable_string()
        return ComputedColumn(base.Column(name, kind, "COMPUTED", node, text))

    @staticmethod
    def metadata(name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool) -> MetadataColumn:
        """Return a column of metadata of the connector.

        Args:
            name: Name of the column.
            data_type: A type to which the metadata can be converted.
            metadata_key: Key of the metadata; None means `name`.
            is_virtual: Whether INSERT omits the column.
        """
        return MetadataColumn(
            base.Column(name, data_type, "METADATA", metadata_key=metadata_key, is_virtual=is_virtual)
        )

    def _like(self, column: base.Column) -> Self:
        return type(self)(column)

    def with_comment(self, comment: str | None) -> Column:
        """Return the column with a comment.

        Args:
            comment: Text for people; None removes it.
        """
        return self._like(replace(self._column, comment=comment))

    def is_physical(self) -> bool:
        """Return whether the connector stores it."""
        return self._column.kind == "PHYSICAL"

    def is_persisted(self) -> bool:
        """Return whether sinks write it."""
        return self.is_physical() or (self._column.kind == "METADATA" and not self._column.is_virtual)

    def get_data_type(self) -> DataType:
        """Return the type."""
        return self._column.type

    def get_name(self) -> str:
        """Return the name."""
        return self._column.name

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._column.comment

    def as_summary_string(self) -> str:
        """Return a summary: name, type and extras."""
        extras = self.explain_extras()
        return f"{quoted(self.get_name())} {type_text(self.get_data_type())}" + (f" {extras}" if extras else "")

    def explain_extras(self) -> str | None:
        """Return how it is computed or where its metadata is from."""
        return column_extras(self._column)

    def copy(self, new_type: DataType) -> Column:
        """Return the column with another type.

        Args:
            new_type: A type of `DataTypes`; the expression of a computed column is kept.
        """
        return self._like(replace(self._column, type=new_type))

    def rename(self, new_name: str) -> Column:
        """Return the column under another name.

        Args:
            new_name: Name of the copy; a metadata column without a key then has another key.
        """
        return self._like(replace(self._column, name=new_name))

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and self._column == other._column

    def __hash__(self) -> int:
        return hash((self._column.name, self._column.kind))


class PhysicalColumn(Column):
    """A column that the connector stores.

    Example:
        >>> print(Column.physical("id", DataTypes.BIGINT()))
        `id` BIGINT
    """

    def copy(self, new_data_type: DataType) -> Column:  # the name of the parameter is PyFlink's
        """Return the column with another type."""
        return super().copy(new_data_type)


class ComputedColumn(Column):
    """A column that is computed.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> ddl = "id INT, doubled AS id * 2"
        >>> _ = table_env.execute_sql(f"CREATE TABLE orders ({ddl}) WITH ('connector' = 'datagen')")
        >>> table_env.from_path("orders").get_resolved_schema().get_column_names()
        ['id', 'doubled']
    """

    def copy(self, new_data_type: DataType) -> Column:  # the name of the parameter is PyFlink's
        """Return the column with another type."""
        return super().copy(new_data_type)

    def get_expression(self) -> ResolvedExpression:
        """Return the expression."""
        return ResolvedExpression(self._column.expression, self._column.type, self._column.text)


class MetadataColumn(Column):
    """A column of metadata.

    Example:
        >>> column = Column.metadata("time", DataTypes.TIMESTAMP_LTZ(3), "timestamp", is_virtual=True)
        >>> column.get_metadata_key(), column.is_virtual()
        ('timestamp', True)
    """

    def copy(self, new_data_type: DataType) -> Column:  # the name of the parameter is PyFlink's
        """Return the column with another type."""
        return super().copy(new_data_type)

    def get_metadata_key(self) -> str | None:
        """Return the connector's key, None: the name of the column."""
        return self._column.metadata_key

    def is_virtual(self) -> bool:
        """Return whether sinks leave it out."""
        return self._column.is_virtual


_CLASSES = {"PHYSICAL": PhysicalColumn, "COMPUTED": ComputedColumn, "METADATA": MetadataColumn}


def column_extras(column: base.Column) -> str | None:
    """Return the extras of a column in the output of DESCRIBE."""
    if column.kind == "COMPUTED":
        return f"AS {column.text}"
    if column.kind == "METADATA":
        key = "" if column.metadata_key is None else f" FROM '{column.metadata_key}'"
        return f"METADATA{key}{' VIRTUAL' if column.is_virtual else ''}"
    return None


class WatermarkSpec:
    """A rowtime attribute and its watermarks.

    Args:
        rowtime_attribute: Name of the column with the timestamps.
        watermark_expression: The watermark after a row, computed from its columns.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> ddl = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
        >>> _ = table_env.execute_sql(f"CREATE TABLE orders ({ddl}) WITH ('connector' = 'datagen')")
        >>> [watermark] = table_env.from_path("orders").get_resolved_schema().get_watermark_specs()
        >>> watermark.get_rowtime_attribute()
        'ts'
    """

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._rowtime_attribute = rowtime_attribute
        self._watermark_expression = watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """Return a declaration of watermarks.

        Args:
            rowtime_attribute: Name of the column with the timestamps.
            watermark_expression: The watermark after a row, computed from its columns.
        """
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """Return the name of the column."""
        return self._rowtime_attribute

    def get_watermark_expression(self) -> ResolvedExpression:
        """Return the expression of the watermark."""
        return self._watermark_expression

    def as_summary_string(self) -> str:
        """Return the watermark as Flink shows it."""
        expression = self._watermark_expression
        kind = expression.get_output_data_type()
        text = "" if kind is None else f"{type_text(regular(kind).nullable())} AS "
        return f"WATERMARK FOR {quoted(self._rowtime_attribute)}: {text}{expression.as_summary_string()}"

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint:
    """A constraint of a table.

    Args:
        name: Name of the constraint; backticks are added where it is shown.
        enforced: Whether Flink would check the constraint. No constraint is ever checked.

    Example:
        >>> constraint = UniqueConstraint.primary_key("pk", ["id"])
        >>> constraint.get_name(), constraint.is_enforced()
        ('pk', False)
    """

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str, enforced: bool = False) -> None:
        self._name = name
        self._enforced = enforced

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def is_enforced(self) -> bool:
        """Return whether Flink checks it: never."""
        return self._enforced

    def get_type(self) -> Constraint.ConstraintType:
        """Return the kind."""
        return Constraint.ConstraintType.PRIMARY_KEY

    def as_summary_string(self) -> str:
        """Return the constraint as Flink shows it."""
        return f"CONSTRAINT {quoted(self._name)}"

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """A primary key.

    Args:
        name: Name of the constraint.
        columns: Names of the columns that together identify a row. Their uniqueness is not checked.

    Example:
        >>> UniqueConstraint.primary_key("pk", ["id"]).get_columns()
        ['id']
    """

    def __init__(self, name: str, columns: list[str]) -> None:
        super().__init__(name)
        self._columns = columns

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        """Return a primary key, which is not enforced.

        Args:
            name: Name of the constraint.
            columns: Names of its columns.
        """
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def get_type_string(self) -> str:
        """Return `PRIMARY KEY`."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """Return the key as Flink shows it."""
        columns = ", ".join(map(quoted, self._columns))
        return f"CONSTRAINT {quoted(self._name)} PRIMARY KEY ({columns}) NOT ENFORCED"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueConstraint) and (self._name, self._columns) == (other._name, other._columns)

    def __hash__(self) -> int:
        return hash((self._name, tuple(self._columns)))


class ResolvedSchema:
    """The columns of a table with types, its watermarks and primary key (Flink: `ResolvedSchema`).

    Args:
        columns: The columns in order; None for none.
        watermark_specs: Declarations of watermarks; None for none.
        primary_key: Primary key, which is not enforced; None for none.

    Example:
        >>> schema = ResolvedSchema.physical(["id", "name"], [DataTypes.BIGINT(), DataTypes.STRING()])
        >>> schema.get_column_names(), schema.get_column("id").is_physical()
        (['id', 'name'], True)
    """

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns = list(columns or [])
        self._watermark_specs = list(watermark_specs or [])
        self._primary_key = primary_key

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """Return a schema without watermarks and primary key.

        Args:
            columns: The columns in order.
        """
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """Return a schema of physical columns, without watermarks and primary key.

        Args:
            column_names: Names of the columns.
            column_data_types: Their types, in the same order.

        Raises:
            ValueError: the numbers of names and types differ.
        """
        return ResolvedSchema(
            [Column.physical(name, kind) for name, kind in zip(column_names, column_data_types, strict=True)]
        )

    def get_column_count(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """Return the columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.get_name() for column in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Return the types of the columns."""
        return [column.get_data_type() for column in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """Return a column.

        Args:
            column_index_or_name: Position from 0, or name.

        Returns:
            None if there is no such column.
        """
        if isinstance(column_index_or_name, int):
            inside = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if inside else None
        return next((column for column in self._columns if column.get_name() == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """Return the watermarks."""
        return list(self._watermark_specs)

    def get_primary_key(self) -> UniqueConstraint | None:
        """Return the primary key."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Return the positions of the primary key's columns."""
        names = self.get_column_names()
        return [] if self._primary_key is None else [names.index(name) for name in self._primary_key.get_columns()]

    def to_source_row_data_type(self) -> RowType:
        """Return the type of rows with all columns."""
        return _row_type(self._columns)

    def to_physical_row_data_type(self) -> RowType:
        """Return the type of rows with the physical columns."""
        return _row_type([column for column in self._columns if column.is_physical()])

    def to_sink_row_data_type(self) -> RowType:
        """Return the type of rows with the columns that sinks write."""
        return _row_type([column for column in self._columns if column.is_persisted()])

    def _unresolved(self) -> Schema:
        columns = tuple(_definition(column_of(column)) for column in self._columns)
        marks = tuple(
            WatermarkDefinition(
                mark.get_rowtime_attribute(),
                node_of(mark.get_watermark_expression()),
                mark.get_watermark_expression().as_summary_string(),
            )
            for mark in self._watermark_specs
        )
        key = self._primary_key
        return Schema(columns, marks, tuple(key.get_columns()) if key else (), key.get_name() if key else None)

    def __str__(self) -> str:
        parts = [*self._columns, *self._watermark_specs, *([self._primary_key] if self._primary_key else [])]
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _row_type(columns: list[Column]) -> RowType:
    return RowType([RowField(column.get_name(), column.get_data_type()) for column in columns]).not_null()


def _definition(column: base.Column) -> ColumnDefinition:
    return ColumnDefinition(
        column.name,
        column.type,
        column.expression,
        column.text,
        column.kind == "METADATA",
        column.metadata_key,
        column.is_virtual,
        column.comment,
    )


def schema_of_rows(row_type: RowType) -> ResolvedSchema:
    """Return the schema of a query's rows."""
    return ResolvedSchema.physical(row_type.field_names(), row_type.field_types())


def schema_of_table(table: ResolvedTable, key: str | None = None) -> ResolvedSchema:
    """Return the schema of a table of a catalog; `key` is the name of its primary key."""
    return resolved_schema(table.columns, table.watermark, table.primary_key, key)


def resolved_schema(
    resolved: tuple[base.Column, ...],
    mark: base.Watermark | None,
    primary_key: tuple[str, ...],
    constraint_name: str | None = None,
) -> ResolvedSchema:
    """Return the schema of columns, with watermark and primary key."""
    columns = [_CLASSES[column.kind](column) for column in resolved]
    marks = []
    if mark is not None:
        kind = next((column.type for column in resolved if column.name == mark.column), None)
        expression = ResolvedExpression(mark.expression, kind, mark.text)
        marks = [WatermarkSpec(mark.column, expression)]
    name = constraint_name or key_name(primary_key)
    key = UniqueConstraint(name, list(primary_key)) if primary_key else None
    return ResolvedSchema(columns, marks, key)
