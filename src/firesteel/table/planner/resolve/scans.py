"""Scans of tables with their computed columns and watermarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.column_types import TimestampKind
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import ResolvedTable, Watermark
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import row_type
from firesteel.table.planner.rel.time_attributes import with_kind
from firesteel.table.planner.resolve.metadata_columns import metadata_to_read, with_types
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.syntax.unresolved import Ref

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import ResolveContext


def scan(table: ResolvedTable, context: ResolveContext) -> Rel:
    """Return the node that reads a table of a catalog, with computed columns and watermarks."""
    source = context.catalogs.create_source(table)
    stored = [c for c in table.columns if c.kind == "PHYSICAL"]
    metadata = [c for c in table.columns if c.kind == "METADATA"]
    keys = metadata_to_read(table, source)
    declared = row_type([c.name for c in (*stored, *metadata)], [c.type for c in (*stored, *metadata)])
    kind = row_type(declared.names, [*(c.type for c in stored), *(own for _, own in keys)])
    node: Rel = rel.TableScan(table, source, kind, tuple(range(len(stored))), keys)
    node = with_types(node, declared.field_types(), context.catalogs)
    if [c.name for c in table.columns] != kind.names:
        node = _with_computed(node, table, context)
    # In BATCH mode all rows are there, and the time is an ordinary column.
    if table.watermark is not None and context.is_streaming:
        node = assign_watermark(node, table.watermark, context)
    return node


def _with_computed(node: Rel, table: ResolvedTable, context: ResolveContext) -> Rel:
    resolver = ExpressionResolver(Scope.of(node.row_type), context.catalogs)
    expressions = [resolver.resolve(Ref((c.name,)) if c.expression is None else c.expression) for c in table.columns]
    return rel.Project(
        node, tuple(expressions), row_type([c.name for c in table.columns], [e.type for e in expressions])
    )


def assign_watermark(node: Rel, watermark: Watermark, context: ResolveContext) -> Rel:
    """Return the node whose rowtime column has watermarks."""
    names = node.row_type.names
    if watermark.column not in names:
        raise ValidationException(
            f"The rowtime attribute field '{watermark.column}' is not defined in the table schema, at least one of "
            f"{names}"
        )
    index = names.index(watermark.column)
    types = node.row_type.field_types()
    expression = ExpressionResolver(Scope.of(node.row_type), context.catalogs).resolve(watermark.expression)
    types[index] = with_kind(types[index], TimestampKind.ROWTIME)
    return rel.AssignWatermark(node, index, expression, row_type(names, types))
