"""Resolution of declared columns. Flink: `DefaultSchemaResolver`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType, TimestampKind
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column, ResolvedTable, Watermark
from firesteel.table.expression_functions.expression_summary import definition_text
from firesteel.table.planner.rel.time_attributes import with_kind
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.syntax.statements import Distribution
from firesteel.table.table_parts import columns_of, constraint_of, primary_key_of, watermarks_of
from firesteel.table.types import LocalZonedTimestampType, RowField, RowType, TimestampType

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.catalogs.catalog_objects import CatalogBaseTable
    from firesteel.table.schema import Schema
    from firesteel.table.syntax.statements import ColumnDefinition

_MAX_ROWTIME_PRECISION = 3


def resolve_table(table: CatalogBaseTable, path: tuple[str, ...], catalogs: CatalogManager) -> ResolvedTable:
    """Return a table with the types of all columns.

    Raises:
        ValidationException: a column, watermark or key does not fit.
    """
    columns, watermark = resolve_columns(table.schema, catalogs)
    names = {column.name for column in columns}
    for key in table.partition_keys:
        if key not in names:
            raise ValidationException(
                f"Invalid partition key '{key}'. A partition key must be one of the columns in the schema: "
                f"{sorted(names)}"
            )
    _check_distribution(table.distribution, [column.name for column in columns if column.kind == "PHYSICAL"])
    return ResolvedTable(
        path,
        columns,
        table.options,
        watermark,
        primary_key_of(table.schema),
        table.partition_keys,
        table.comment,
        table.distribution,
    )


def _check_distribution(distribution: object, columns: list[str]) -> None:
    if not isinstance(distribution, Distribution):
        return
    if distribution.buckets is not None and distribution.buckets < 1:
        raise ValidationException(
            f"Invalid bucket count '{distribution.buckets}'. The number of buckets for a distributed table must be at "
            "least 1."
        )
    for key in distribution.columns:
        if key not in columns:
            raise ValidationException(
                f"Invalid bucket key '{key}'. A bucket key for a distribution must reference a physical column in the "
                f"schema. Available columns are: [{', '.join(columns)}]"
            )


def resolve_columns(schema: Schema, catalogs: CatalogManager) -> tuple[tuple[Column, ...], Watermark | None]:
    """Return the columns of a schema with their types, and the watermark.

    Raises:
        ValidationException: a column, watermark or key does not fit.
    """
    _check_names(schema)
    key = set(primary_key_of(schema))
    plain = [column for column in columns_of(schema) if column.expression is None]
    fields = [(column.name, _stored_type(column, key)) for column in plain]
    stored = _resolver(fields, catalogs)
    columns = tuple(_column(column, stored, key) for column in columns_of(schema))
    _check_key(schema, columns)
    watermark = _watermark(schema, columns, catalogs)
    if watermark is not None and catalogs.is_streaming:
        columns = tuple(_as_rowtime(column) if column.name == watermark.column else column for column in columns)
    return columns, watermark


def _stored_type(column: ColumnDefinition, key: set[str]) -> DataType:
    return column.declared_type.not_null() if column.name in key else column.declared_type


def _resolver(fields: list[tuple[str, DataType]], catalogs: CatalogManager) -> ExpressionResolver:
    row_type = RowType([RowField(name, kind) for name, kind in fields])
    return ExpressionResolver(Scope.of(row_type), catalogs)


def _check_names(schema: Schema) -> None:
    counts = Counter(column.name for column in columns_of(schema))
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        raise ValidationException(
            f"Schema must not contain duplicate column names. Found duplicates: [{', '.join(duplicates)}]"
        )


def _column(column: ColumnDefinition, resolver: ExpressionResolver, key: set[str]) -> Column:
    if column.expression is not None:
        try:
            found = resolver.resolve(column.expression)
        except ValidationException as error:
            raise ValidationException(
                f"Invalid expression for computed column '{column.name}': {definition_text(column)}. {error}"
            ) from error
        return Column(
            column.name, found.type, "COMPUTED", column.expression, definition_text(column), comment=column.comment
        )
    kind = _stored_type(column, key)
    if column.is_metadata:
        return Column(
            column.name,
            kind,
            "METADATA",
            metadata_key=column.metadata_key,
            is_virtual=column.is_virtual,
            comment=column.comment,
        )
    return Column(column.name, kind, comment=column.comment)


def _check_key(schema: Schema, columns: tuple[Column, ...]) -> None:
    by_name = {column.name: column for column in columns}
    name = constraint_of(schema) or "PK"
    for key in primary_key_of(schema):
        if key not in by_name:
            raise ValidationException(f"Invalid primary key '{name}'. Column '{key}' does not exist.")
        if by_name[key].kind != "PHYSICAL":
            raise ValidationException(f"Invalid primary key '{name}'. Column '{key}' is not a physical column.")
    if len(set(primary_key_of(schema))) < len(primary_key_of(schema)):
        raise ValidationException(f"Invalid primary key '{name}'. A primary key must not contain duplicate columns.")


def _watermark(schema: Schema, columns: tuple[Column, ...], catalogs: CatalogManager) -> Watermark | None:
    if not watermarks_of(schema):
        return None
    if len(watermarks_of(schema)) > 1:
        raise ValidationException("Multiple watermark definitions are not supported yet.")
    mark = watermarks_of(schema)[0]
    kind = next((column.type for column in columns if column.name == mark.column), None)
    if kind is None:
        names = ", ".join(column.name for column in columns)
        raise ValidationException(
            f"Invalid column name '{mark.column}' for rowtime attribute in watermark declaration. "
            f"Available columns are: [{names}]"
        )
    _check_rowtime(kind)
    if getattr(mark.expression, "function", None) != "SOURCE_WATERMARK":
        resolver = _resolver([(column.name, column.type) for column in columns], catalogs)
        _check_watermark(resolver.resolve(mark.expression).type, definition_text(mark))
    return Watermark(mark.column, mark.expression, definition_text(mark))


def _check_rowtime(kind: DataType) -> None:
    if not isinstance(kind, (TimestampType, LocalZonedTimestampType)) or kind.precision > _MAX_ROWTIME_PRECISION:
        raise ValidationException(
            "Invalid data type of time field for watermark definition. The field must be of type TIMESTAMP(p) or "
            f"TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the time field type is "
            f"{type_text(kind)}"
        )
    if kind.kind is TimestampKind.PROCTIME:
        raise ValidationException("A watermark can not be defined for a processing-time attribute.")


def _check_watermark(kind: DataType, text: str) -> None:
    if not isinstance(kind, (TimestampType, LocalZonedTimestampType)):
        raise ValidationException(
            "Invalid data type of expression for watermark definition. The field must be of type TIMESTAMP(p) or "
            f"TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the watermark expression type of "
            f"{text} is {type_text(kind)}"
        )


def _as_rowtime(column: Column) -> Column:
    return replace(column, type=with_kind(column.type, TimestampKind.ROWTIME))
