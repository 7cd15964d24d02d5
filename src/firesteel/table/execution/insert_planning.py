"""Queries made to fit the tables that they are written to. Flink: `PreValidateReWriter` and `DynamicSinkUtils`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from firesteel.columns.cast_rules import can_cast_implicitly
from firesteel.columns.column_types import DataType
from firesteel.columns.type_text import quoted_path, type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import ResolvedTable, SinkRequest
from firesteel.table.catalogs.catalog_manager import ViewEntry
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Ref, TypeName, Unresolved

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.syntax.queries import Query
    from firesteel.table.syntax.statements import Insert


@dataclass(frozen=True, slots=True)
class PlannedInsert:
    """A query with the persisted columns of a table."""

    node: Any
    table: ResolvedTable
    request: SinkRequest

    @property
    def sink_name(self) -> str:
        """The column of the result."""
        return ".".join(self.table.path)


class InsertPlanner:
    """A planner of INSERTs, which adapts queries to tables.

    Args:
        planner: Resolves queries.
        catalogs: Finds tables.
        is_streaming: Whether queries run continuously.
    """

    def __init__(self, planner: Planner, catalogs: CatalogManager, is_streaming: bool) -> None:
        self._planner = planner
        self._catalogs = catalogs
        self._is_streaming = is_streaming

    def plan_statement(self, statement: Insert) -> PlannedInsert:
        """Return an INSERT made to fit its table."""
        return self.plan(
            statement.path,
            statement.query,
            statement.columns,
            statement.partition,
            statement.overwrite,
            statement.options,
            statement.deduplicates,
        )

    def plan(
        self,
        path: tuple[str, ...],
        query: Query,
        columns: tuple[str, ...] = (),
        partition: tuple[tuple[str, Unresolved], ...] = (),
        overwrite: bool = False,
        options: tuple[tuple[str, str], ...] = (),
        deduplicates: bool = False,
    ) -> PlannedInsert:
        """Return the insert of a query into a table.

        Args:
            path: The table.
            query: The query to write.
            columns: The columns that the query provides; empty for all columns of the table.
            partition: Columns with constant values.
            overwrite: Whether it is an INSERT OVERWRITE.
            options: Options that precede those of the table.
            deduplicates: Whether the last row of a primary key is wanted, though several rows may have it.

        Raises:
            ValidationException: the table does not exist, or the columns do not match.
        """
        table = self._sink_table(path)
        if options:
            table = replace(table, options={**table.options, **dict(options)})
        if overwrite and self._is_streaming:
            raise ValidationException("Streaming mode doesn't support overwrite.")
        static = dict(partition)
        self._check_columns(table, columns, static)
        node = self._planner.resolve(query)
        if columns or static:
            node = self._reordered(table, node, columns, static)
        node = fitted(self._planner, ".".join(table.path), _targets(table), node)
        request = SinkRequest(overwrite, _constants(static), not self._is_streaming, deduplicates)
        return PlannedInsert(node, table, request)

    def _sink_table(self, path: tuple[str, ...]) -> ResolvedTable:
        found = self._catalogs.find_table(path)
        if found is None:
            identifier = quoted_path(self._catalogs.qualify(path))
            raise ValidationException(
                f"Cannot find table '{identifier}' in any of the catalogs "
                f"[{', '.join(self._catalogs.list_catalogs())}], nor as a temporary table."
            )
        if isinstance(found, ViewEntry):
            raise ValidationException(f"'{'.'.join(path)}' is a view; rows can only be inserted into tables")
        return found

    def _check_columns(self, table: ResolvedTable, columns: tuple[str, ...], static: Mapping[str, Any]) -> None:
        known = [column.name for column in table.persisted_columns]
        for name in columns:
            if name not in known:
                raise ValidationException(f"SQL validation failed. Unknown target column '{name}'")
        duplicates = {name for name in columns if columns.count(name) > 1}
        if duplicates:
            raise ValidationException(
                f"SQL validation failed. Target column '{min(duplicates)}' is assigned more than once"
            )
        for name in static:
            if name not in table.partition_keys:
                raise ValidationException(f"SQL validation failed. Unknown target column '{name}'")

    def _reordered(self, table: ResolvedTable, node: Rel, columns: tuple[str, ...], static: Mapping[str, Any]) -> Rel:
        """Return the query with all columns of the table: constants of partitions, and NULL for those left out."""
        targets = table.persisted_columns
        given = list(columns) or [column.name for column in targets if column.name not in static]
        given = [name for name in given if name not in static]
        if len(given) != len(node.row_type):
            raise _mismatch(".".join(table.path), _targets(table), node, "Different number of columns.")
        inputs = [f"f{index}" for index in range(len(given))]
        items = []
        for column in targets:
            if column.name in static:
                value: Any = Apply("CAST", (static[column.name], TypeName(column.type)))
            elif column.name in given:
                value = Ref((inputs[given.index(column.name)],))
            elif not column.type.is_nullable:
                raise ValidationException(
                    f"SQL validation failed. Column '{column.name}' has no default value and does not allow NULLs"
                )
            else:
                value = Apply("CAST", (Lit(None), TypeName(column.type)))
            items.append(Alias(value, (column.name,)))
        source = q.Named(q.Resolved(node), "source_of_insert", tuple(inputs))
        return self._planner.resolve(q.Select(source, tuple(items)))


def fitted(planner: Planner, name: str, columns: Sequence[tuple[str, DataType]], node: Rel) -> Rel:
    """Return a query with the names and types of the columns of a sink, to which its own belong by their places.

    Raises:
        ValidationException: the number of columns differs, or a type can't be converted without loss.
    """
    found = node.row_type.field_types()
    if len(found) != len(columns):
        raise _mismatch(name, columns, node, "Different number of columns.")
    for position, (kind, (column, wanted)) in enumerate(zip(found, columns, strict=True)):
        if not can_cast_implicitly(without_time_attribute(kind).nullable(), wanted.nullable()):
            cause = f"Incompatible types for sink column '{column}' at position {position + 1}."
            raise _mismatch(name, columns, node, cause)
    names = tuple(column for column, _ in columns)
    is_same = all(_is_same(kind, wanted) for kind, (_, wanted) in zip(found, columns, strict=True))
    if is_same and names == tuple(node.row_type.names):
        return node
    inputs = tuple(f"f{index}" for index in range(len(found)))
    items = tuple(
        Alias(_converted(Ref((place,)), kind, wanted), (column,))
        for place, kind, (column, wanted) in zip(inputs, found, columns, strict=True)
    )
    return planner.resolve(q.Select(q.Named(q.Resolved(node), "source_of_insert", inputs), items))


def _converted(value: Unresolved, found: DataType, wanted: DataType) -> Unresolved:
    if _is_same(found, wanted):
        return value
    return Apply("CAST", (value, TypeName(wanted.with_nullable(found.is_nullable))))


def _is_same(found: DataType, wanted: DataType) -> bool:
    """Return whether values need no conversion; NULL in a NOT NULL column is an error when it occurs."""
    return bool(without_time_attribute(found).same_as(without_time_attribute(wanted)))


def _constants(static: Mapping[str, object]) -> dict[str, object]:
    return {name: getattr(value, "value", value) for name, value in static.items()}


def _mismatch(name: str, columns: Sequence[tuple[str, DataType]], node: Rel, cause: str) -> ValidationException:
    found = zip(node.row_type.names, node.row_type.field_types(), strict=True)
    query, sink = (", ".join(f"{column}: {type_text(kind)}" for column, kind in side) for side in (found, columns))
    return ValidationException(
        f"Column types of query result and sink for '{name}' do not match.\n"
        f"Cause: {cause}\n\nQuery schema: [{query}]\nSink schema:  [{sink}]"
    )


def _targets(table: ResolvedTable) -> list[tuple[str, DataType]]:
    return [(column.name, column.type) for column in table.persisted_columns]
