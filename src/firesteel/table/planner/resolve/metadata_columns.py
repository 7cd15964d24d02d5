"""Metadata columns: the types that connectors have, as the table declares them.

Flink: `DynamicSourceUtils` and `DynamicSinkUtils`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from firesteel.columns.cast_rules import can_cast
from firesteel.columns.column_types import DataType
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column, ResolvedTable, ScanSource, TableSink
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import row_type
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.syntax.unresolved import Apply, Ref, TypeName

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


def metadata_to_read(table: ResolvedTable, source: ScanSource) -> tuple[tuple[str, DataType], ...]:
    """Return the key of each metadata column of a table with the type in which its source has it.

    Raises:
        ValidationException: the source has no such metadata, or the type can't be cast to that of the column.
    """
    columns = [column for column in table.columns if column.kind == "METADATA"]
    known: Mapping[str, DataType] = getattr(source, "metadata", {})
    if columns and not known:
        raise ValidationException(
            f"Table '{_name(table)}' declares metadata columns, but the underlying DynamicTableSource doesn't "
            "implement the SupportsReadingMetadata interface. Therefore, metadata cannot be read from the given source."
        )
    return tuple((_key(column), _own_type(column, table, known, "reading")) for column in columns)


def with_written_metadata(node: Rel, table: ResolvedTable, sink: TableSink, catalogs: CatalogManager) -> Rel:
    """Return a query with the columns of a table, but its metadata in the types that the sink writes.

    Raises:
        ValidationException: the sink does not write such metadata, or the column can't be cast to its type.
    """
    columns = table.persisted_columns
    if all(column.kind == "PHYSICAL" for column in columns):
        return node
    known: Mapping[str, DataType] = getattr(sink, "metadata", {})
    if not known:
        raise ValidationException(
            f"Table '{_name(table)}' declares persistable metadata columns, but the underlying DynamicTableSink "
            "doesn't implement the SupportsWritingMetadata interface. If the column should not be persisted, it can be "
            "declared with the VIRTUAL keyword."
        )
    types = [c.type if c.kind == "PHYSICAL" else _own_type(c, table, known, "writing") for c in columns]
    return with_types(node, types, catalogs)


def with_types(node: Rel, types: Sequence[DataType], catalogs: CatalogManager) -> Rel:
    """Return a node whose columns are cast to types where they have others."""
    names, kinds = node.row_type.names, node.row_type.field_types()
    is_same = [kind.nullable().same_as(wanted.nullable()) for kind, wanted in zip(kinds, types, strict=True)]
    if all(is_same):
        return node
    resolver = ExpressionResolver(Scope.of(node.row_type), catalogs)
    expressions = [
        resolver.resolve(Ref((name,)) if same else Apply("CAST", (Ref((name,)), TypeName(wanted))))
        for name, wanted, same in zip(names, types, is_same, strict=True)
    ]
    return rel.Project(node, tuple(expressions), row_type(names, [rex.type for rex in expressions]))


def _own_type(column: Column, table: ResolvedTable, known: Mapping[str, DataType], purpose: str) -> DataType:
    """Return the type of a metadata column in a connector, which may be NULL where the column may be."""
    found = known.get(_key(column))
    where = "DynamicTableSource" if purpose == "reading" else "DynamicTableSink"
    if found is None:
        raise ValidationException(
            f"Invalid metadata key '{_key(column)}' in column '{column.name}' of table '{_name(table)}'. The {where} "
            f"class supports the following metadata keys for {purpose}:\n" + "\n".join(known)
        )
    pair = (found, column.type) if purpose == "reading" else (column.type, found)
    if not can_cast(*pair):
        direction = "from" if purpose == "reading" else "to"
        raise ValidationException(
            f"Invalid data type for metadata column '{column.name}' with metadata key '{_key(column)}' of table "
            f"'{_name(table)}'. The column cannot be declared as '{type_text(column.type)}' because the type must be "
            f"castable {direction} metadata type '{type_text(found)}'."
        )
    return found.with_nullable(column.type.is_nullable)


def _key(column: Column) -> str:
    return column.metadata_key or column.name


def _name(table: ResolvedTable) -> str:
    return ".".join(table.path)
