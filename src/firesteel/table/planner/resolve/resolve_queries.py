"""Resolution of queries to typed relational algebra. Calcite: `SqlValidator` and `SqlToRelConverter`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from firesteel.columns.column_types import (
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    RowField,
    RowType,
    TimestampType,
)
from firesteel.columns.rex import InputRef, Literal, Rex
from firesteel.columns.type_families import TIMESTAMPS
from firesteel.columns.type_rules import common_type
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.values.decimals import EXACT
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_proctime, is_time
from firesteel.table.planner.rel.projections import distinct, extended, first_columns, one_row, renamed
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type
from firesteel.table.planner.rel.time_attributes import interval_millis, with_kind, without_time_attribute
from firesteel.table.planner.resolve.arguments import cast
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.resolve_from import FromResolver
from firesteel.table.planner.resolve.resolve_match import resolve_match
from firesteel.table.planner.resolve.resolve_select import SelectResolver
from firesteel.table.planner.resolve.scope import Scope, typed
from firesteel.table.planner.resolve.select_hints import HintNames, SelectHints
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.queries import Query
from firesteel.table.syntax.unresolved import Lit, Unresolved, where

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """The shared context of resolution.

    Attributes:
        catalogs: Finds tables and functions.
        is_streaming: Whether time attributes and changelogs exist.
        hint_names: The names in the hints of the statement.
        written_names: Each SELECT two of whose columns have one name, with the names, by its `id`.
    """

    catalogs: CatalogManager
    is_streaming: bool
    hint_names: HintNames = field(default_factory=HintNames)
    written_names: dict[int, tuple[q.Select, list[str]]] = field(default_factory=dict)


class QueryResolver:
    """A resolver of queries against catalogs.

    Args:
        context: The shared context.
        tables: Common table expressions by name, and the names of their columns; see `names_of`.
    """

    def __init__(self, context: ResolveContext, tables: dict[str, tuple[Rel, list[str]]] | None = None) -> None:
        self.context = context
        self.tables = tables or {}

    def resolve(self, query: Query, outer: Scope | None = None) -> Rel:
        """Return the relational node of a query; `outer` is the scope of the query around a subquery.

        Raises:
            ValidationException: a name is unknown, or types do not fit.
        """
        match query:
            case q.Resolved():
                return query.node
            case q.Select():
                return SelectResolver(self, outer).resolve(query)
            case q.FlatAggregate():
                return SelectResolver(self, outer).flat_aggregate(query)
            case q.ValuesQuery():
                return self._values(query, outer)
            case q.SetOperation():
                return self._set_operation(query, outer)
            case q.OrderBy():
                return self._sorted(query, 0, None, outer)
            case q.Limit():
                return self._limit(query, outer)
            case q.With():
                return self._with(query, outer)
        return self.from_clause(query, outer)[0]

    def names_of(self, query: Query, node: Rel) -> list[str]:
        """Return the names by which the columns of a resolved query are found.

        Two columns of the same name have different ones in the node; a reference to that name is ambiguous.
        """
        while not isinstance(query, q.Select):
            match query:
                case q.OrderBy() | q.Limit() | q.With():
                    query = query.query
                case q.SetOperation():
                    query = query.left
                case _:
                    return node.row_type.names
        return self.context.written_names.get(id(query), (query, node.row_type.names))[1]

    def without_tables(self) -> QueryResolver:
        """Return a resolver of the queries of views, which do not see the common table expressions around them."""
        return QueryResolver(self.context)

    def from_clause(self, query: Query, outer: Scope | None, hints: SelectHints | None = None) -> tuple[Rel, Scope]:
        """Return node and scope of the FROM clause."""
        return FromResolver(self, outer, hints).resolve(query)

    def _values(self, query: q.ValuesQuery, outer: Scope | None) -> Rel:
        resolver = ExpressionResolver(Scope((), outer), self.context.catalogs)
        rows = [[resolver.resolve(value) for value in row] for row in query.rows]
        if query.row_type is None:
            rows = [[typed(value) for value in row] for row in rows]
        if len({len(row) for row in rows}) > 1:
            raise ValidationException(
                f"SQL validation failed. {where(query.position)}Values passed to VALUES operator must have compatible "
                f"types: rows have {' or '.join(map(str, sorted({len(row) for row in rows})))} columns"
            )
        if query.row_type is not None:
            kind = query.row_type
        else:
            types = [_common([row[i] for row in rows], "VALUES") for i in range(len(rows[0]))]
            kind = row_type([f"EXPR${i}" for i in range(len(types))], types)
        literals = [[v for v in row if isinstance(v, Literal)] for row in rows]
        if literals == rows:
            values = tuple(
                tuple(_constant(v.value, f.data_type) for v, f in zip(row, kind.fields, strict=True))
                for row in literals
            )
            return rel.Values(values, kind)
        nothing = one_row()
        types = kind.field_types()
        parts = [rel.Project(nothing, tuple(cast(v, t) for v, t in zip(row, types, strict=True)), kind) for row in rows]
        return parts[0] if len(parts) == 1 else rel.Union(tuple(parts), kind)

    def _set_operation(self, query: q.SetOperation, outer: Scope | None) -> Rel:
        left, right = self.resolve(query.left, outer), self.resolve(query.right, outer)
        name = f"{query.kind}{' ALL' if query.all else ''}"
        if len(left.row_type) != len(right.row_type):
            raise ValidationException(
                f"SQL validation failed. Column count mismatch in {name}: {len(left.row_type)} and "
                f"{len(right.row_type)} columns"
            )
        types = [_common([a, b], name) for a, b in zip(refs(left.row_type), refs(right.row_type), strict=True)]
        if query.kind == "UNION" and query.all:
            types = [_attribute_of_both(*parts) for parts in zip(types, left.row_type, right.row_type, strict=True)]
        kind = row_type(left.row_type.names, types)
        left, right = cast_columns(left, kind), cast_columns(right, kind)
        if query.kind != "UNION":
            return rel.SetOperation(left, right, query.kind, query.all, kind)
        union = rel.Union((left, right), kind)
        return union if query.all else distinct(union)

    def _limit(self, query: q.Limit, outer: Scope | None) -> Rel:
        if isinstance(query.query, q.OrderBy):
            return self._sorted(query.query, query.offset, query.fetch, outer)
        node = self.resolve(query.query, outer)
        sort = node.input if isinstance(node, rel.Project) else node
        # LIMIT over ORDER BY is one node: two would sort all rows before the first ones are taken.
        if isinstance(sort, rel.Sort) and sort.fetch is None:
            limited = replace(sort, offset=sort.offset + query.offset, fetch=query.fetch)
            return replace(node, input=limited) if isinstance(node, rel.Project) else limited
        return rel.Sort(node, (), query.offset, query.fetch)

    def _sorted(self, query: q.OrderBy, offset: int, fetch: int | None, outer: Scope | None) -> Rel:
        inner = query.query
        hidden: list[Rex] = []
        if isinstance(inner, q.Select):
            node, places = SelectResolver(self, outer).resolve_ordered(inner, query.orderings, hidden)
        else:
            node = self.resolve(inner, outer)
            resolver = ExpressionResolver(Scope.of(node.row_type), self.context.catalogs)
            places = [self._place(ordering.expression, node, resolver, hidden) for ordering in query.orderings]
            if hidden:
                node = extended(node, hidden, "$f")
        width = len(node.row_type) - len(hidden)
        collations = tuple(
            rel.Collation(place, o.descending, (not o.descending) if o.nulls_first is None else o.nulls_first)
            for place, o in zip(places, query.orderings, strict=True)
        )
        sort = rel.Sort(node, collations, offset, fetch)
        return (
            sort
            if not hidden
            else first_columns(sort, row_type(node.row_type.names[:width], node.row_type.field_types()[:width]))
        )

    def _place(self, expression: Unresolved, node: Rel, resolver: ExpressionResolver, hidden: list[Rex]) -> int:
        width = len(node.row_type)
        if isinstance(expression, Lit) and isinstance(expression.value, int):
            if not 1 <= expression.value <= width:
                raise ValidationException(f"SQL validation failed. Ordinal out of range: {expression.value}")
            return expression.value - 1
        rex = resolver.resolve(expression)
        if isinstance(rex, InputRef):
            return rex.index
        hidden.append(rex)
        return width + len(hidden) - 1

    def _with(self, query: q.With, outer: Scope | None) -> Rel:
        tables = dict(self.tables)
        for name, columns, definition in query.tables:
            node = QueryResolver(self.context, tables).resolve(definition, outer)
            tables[name] = renamed(node, columns, name), list(columns) or self.names_of(definition, node)
        return QueryResolver(self.context, tables).resolve(query.query, outer)

    def window_table(self, query: q.WindowTable, outer: Scope | None) -> Rel:
        """Return the node of a window table function."""
        source = self.resolve(query.query, outer)
        names = source.row_type.names
        if query.time_column not in names:
            raise ValidationException(
                f"SQL validation failed. {where(query.position)}Column '{query.time_column}' not found in any table"
            )
        time = names.index(query.time_column)
        kind = source.row_type.fields[time].data_type
        if self.context.is_streaming and not is_time(kind):
            hint = f" Declare it where its table is created: WATERMARK FOR `{query.time_column}` AS ..."
            raise ValidationException(
                f"SQL validation failed. {where(query.position)}The window function requires the timecol is a time "
                f"attribute type, but is {type_text(kind)}.{hint if isinstance(kind, TIMESTAMPS) else ''}"
            )
        if not isinstance(kind, TIMESTAMPS):
            raise ValidationException(
                f"The window function {query.function}(TABLE table_name, DESCRIPTOR(timecol), ...) requires the "
                f"timecol to be TIMESTAMP or TIMESTAMP_LTZ, but is {type_text(kind)}."
            )
        lengths = [interval_millis(argument, query.function) for argument in query.arguments]
        if min(lengths) <= 0:
            given = " and ".join(f"{length} ms" for length in lengths)
            raise ValidationException(
                f"{query.function} table function based aggregate requires {_LENGTHS[query.function]} to be positive, "
                f"but got {given}."
            )
        size, step = (lengths[-1], lengths[0]) if len(lengths) == 2 else (lengths[0], 0)
        if step and query.function == "CUMULATE" and size % step:
            raise ValidationException(
                f"CUMULATE table function based aggregate requires maxSize must be an integral multiple of step, but "
                f"got maxSize {size} ms and step {step} ms"
            )
        offset = 0 if query.offset is None else interval_millis(query.offset, query.function)
        if unknown := [name for name in query.partition_by if name not in names]:
            raise ValidationException(
                f"SQL validation failed. {where(query.position)}Unknown identifier '{unknown[0]}'"
            )
        partition = tuple(names.index(name) for name in query.partition_by)
        window = rel.Window(query.function, time, size, step, offset, not is_proctime(kind), partition=partition)
        return rel.WindowTableFunction(source, window, _window_row_type(source.row_type, time))

    def match(self, query: q.MatchRecognize, outer: Scope | None) -> Rel:
        """Return the node of MATCH_RECOGNIZE."""
        node, scope = self.from_clause(query.query, outer)
        return resolve_match(query, node, scope, self.context)


_LENGTHS = {"TUMBLE": "size", "HOP": "slide and size", "CUMULATE": "step and maxSize", "SESSION": "gap"}


def _window_row_type(source: RowType, time: int) -> RowType:
    kind = source.fields[time].data_type
    plain = TimestampType(3, False)
    assert isinstance(kind, TimestampType | LocalZonedTimestampType)
    window_time = type(kind)(3 if is_time(kind) else kind.precision, False, kind=kind.kind)
    types = source.field_types()
    types[time] = without_time_attribute(kind)
    names = [*source.names, "window_start", "window_end", "window_time"]
    return row_type(names, [*types, plain, plain, window_time])


def _constant(value: object, kind: DataType) -> object:
    """Return the Python value of a literal in a column's common type."""
    if isinstance(kind, DecimalType) and isinstance(value, int | Decimal):
        return Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)
    if isinstance(kind, DoubleType | FloatType) and isinstance(value, int | Decimal):
        return float(value)
    return value


def _common(values: Sequence[Rex], name: str) -> DataType:
    kind = common_type([value.type for value in values])
    if kind is None:
        shown = " and ".join(type_text(value.type) for value in values)
        raise ValidationException(f"SQL validation failed. Type mismatch in columns of {name}: {shown}")
    return kind


def _attribute_of_both(common: DataType, left: RowField, right: RowField) -> DataType:
    """Return the type of a column of UNION ALL: a time attribute if it is one of both inputs."""
    kinds = {getattr(field.data_type, "kind", None) for field in (left, right)}
    kind = kinds.pop() if len(kinds) == 1 else None
    return common if kind is None or not kind.is_attribute else with_kind(common, kind)


def cast_columns(node: Rel, kind: RowType) -> Rel:
    """Return a node whose columns have the types of a row type."""
    expressions = tuple(cast(r, f.data_type) for r, f in zip(refs(node.row_type), kind.fields, strict=True))
    if expressions == refs(node.row_type):
        return node
    return rel.Project(node, expressions, kind)
