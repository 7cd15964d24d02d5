"""Resolution of one SELECT: its source, groups and items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType, RowType
from firesteel.columns.rex import Deferred, InputRef, Rex, SubqueryValue
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import distinct, extended, one_row
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type, transform, unique_names
from firesteel.table.planner.resolve.grouping import GroupedSelect
from firesteel.table.planner.resolve.over_calls import OverCalls
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, field_access, typed
from firesteel.table.planner.resolve.select_hints import SelectHints, input_name
from firesteel.table.planner.resolve.subqueries import subqueries_of
from firesteel.table.planner.resolve.unresolved_tools import has_aggregate, name_of, walk, with_values
from firesteel.table.planner.resolve.where_conditions import filter_by
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Ordering, OverCall, Ref, Star, Unresolved, constant

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


class SelectResolver:
    """A resolver of one SELECT.

    Args:
        queries: Resolves nested queries.
        outer: The scope of the enclosing query.
    """

    def __init__(self, queries: QueryResolver, outer: Scope | None) -> None:
        self.queries = queries
        self.context = queries.context
        self.outer = outer
        self._is_grouped = False

    def resolve(self, query: q.Select) -> Rel:
        """Return the node of a SELECT.

        Raises:
            ValidationException: a name is unknown, types do not fit, or a column is not grouped.
        """
        hints = SelectHints(query.hints, self.context.hint_names, self.context.is_streaming)
        return self._resolve_ordered(query, (), [], hints)[0]

    def resolve_ordered(
        self, query: q.Select, orderings: Sequence[Ordering], hidden: list[Rex]
    ) -> tuple[Rel, list[int]]:
        """Return the node and, for each item of ORDER BY, its column; `hidden` takes those added for it."""
        hints = SelectHints(query.hints, self.context.hint_names, self.context.is_streaming)
        return self._resolve_ordered(query, orderings, hidden, hints)

    def _resolve_ordered(
        self, query: q.Select, orderings: Sequence[Ordering], hidden: list[Rex], hints: SelectHints
    ) -> tuple[Rel, list[int]]:
        node, scope = self._source(query, hints)
        if query.where is not None:
            node = filter_by(node, query.where, scope, self.queries)
        items = self._expanded(query.items, scope)
        everything: list[Unresolved] = [
            *items,
            *(part for part in (query.having, query.qualify) if part is not None),
            *(o.expression for o in orderings),
        ]
        layer: PlainSelect | GroupedSelect
        if query.group_by is not None or query.having is not None or self._aggregates(everything):
            self._is_grouped = True
            layer = GroupedSelect(self.queries, node, scope, query, hints.of_group(input_name(query.source)))
        else:
            layer = PlainSelect(self.queries, node, scope, query)
        names, rexes = self._columns(items, layer, query)
        having = None if query.having is None else layer.resolver.resolve(query.having)
        values = _values_by_name(names, items, rexes)
        places = [self._place(o.expression, names, values, (rexes, hidden), layer) for o in orderings]
        kept = None if query.qualify is None else _kept(with_values(query.qualify, values), layer)
        if not query.distinct:
            return _finished(layer, names, [*rexes, *hidden], having, kept), places
        ttl = None if self._is_grouped else hints.of_group(input_name(query.source))
        # Above DISTINCT only its columns are left, as its rows stand for several of the source.
        hidden[:] = [_over_items(rex, rexes, scope) for rex in hidden]
        return extended(distinct(_finished(layer, names, rexes, having, kept), ttl), hidden, "$sort"), places

    def flat_aggregate(self, query: q.FlatAggregate) -> Rel:
        """Return the node of a table aggregate function over groups."""
        node, scope = self.queries.from_clause(query.source, self.outer)
        layer = GroupedSelect(self.queries, node, scope, q.Select(query.source, (), group_by=query.group_by))
        return layer.flat(query)

    def _aggregates(self, expressions: list[Unresolved]) -> bool:
        return any(has_aggregate(expression, self.context.catalogs) for expression in expressions)

    def _source(self, query: q.Select, hints: SelectHints) -> tuple[Rel, Scope]:
        if query.source is None:
            return one_row(), Scope((), self.outer)
        node, scope = self.queries.from_clause(query.source, self.outer, hints)
        return node, Scope(scope.columns, self.outer)

    def _expanded(self, items: tuple[Unresolved, ...], scope: Scope) -> list[Unresolved]:
        """Return the items with `*` and ranges expanded to columns."""
        found: list[Unresolved] = []
        for item in items:
            if isinstance(item, Star):
                found += [Alias(rex, (name,)) for name, rex in scope.star(item.qualifier)]
            elif isinstance(item, Apply) and item.function in ("WITH_COLUMNS", "WITHOUT_COLUMNS"):
                found += column_range(item, scope)
            else:
                found.append(item)
        return found

    def _columns(
        self, items: list[Unresolved], layer: PlainSelect | GroupedSelect, query: q.Select
    ) -> tuple[list[str], list[Rex]]:
        names: list[str] = []
        rexes: list[Rex] = []
        for item in items:
            flattened = _flattened(item, layer)
            if flattened is not None:
                names += [name for name, _ in flattened]
                rexes += [rex for _, rex in flattened]
                continue
            rexes.append(typed(layer.resolver.resolve(item)))
            names.append(name_of(item) or f"{query.unnamed}{len(names)}")
        if len(set(names)) < len(names):
            self.context.written_names[id(query)] = query, names
        return unique_names(names), rexes

    def _place(
        self,
        expression: Unresolved,
        names: list[str],
        values: dict[str, Unresolved],
        rexes: tuple[list[Rex], list[Rex]],
        layer: PlainSelect | GroupedSelect,
    ) -> int:
        if isinstance(expression, Lit) and isinstance(expression.value, int):
            if not 1 <= expression.value <= len(names):
                raise ValidationException(f"SQL validation failed. Ordinal out of range: {expression.value}")
            return expression.value - 1
        # A name in ORDER BY is that of an item before that of a column, as in SQL.
        if isinstance(expression, Ref) and len(expression.path) == 1 and expression.path[0] in names:
            return names.index(expression.path[0])
        rex = layer.resolver.resolve(with_values(expression, values))
        known, hidden = rexes
        if rex not in known and rex not in hidden:
            hidden.append(rex)
        return [*known, *hidden].index(rex)


def _finished(
    layer: PlainSelect | GroupedSelect, names: list[str], rexes: list[Rex], having: Rex | None, kept: Rex | None
) -> Rel:
    """Return the node of the columns, with the rows for which the condition of QUALIFY is true."""
    if kept is None:
        return layer.finish(names, rexes, having)
    node = layer.finish(names, [*rexes, kept], having)
    columns = refs(node.row_type)
    shown = columns[: len(rexes)]
    fields = row_type(node.row_type.names[: len(rexes)], [column.type for column in shown])
    return rel.Project(rel.Filter(node, columns[-1]), shown, fields)


def _kept(qualify: Unresolved, layer: PlainSelect | GroupedSelect) -> Rex:
    if not any(isinstance(part, OverCall) for part in walk(qualify)):
        raise ValidationException("SQL validation failed. QUALIFY expression must contain a window function")
    kept = layer.resolver.resolve(qualify)
    if not isinstance(kept.type, BooleanType):
        raise ValidationException("SQL validation failed. QUALIFY clause must be a condition")
    return kept


class SelectLayer:
    """The level at which the items of a SELECT are computed: over its source, or over its groups."""

    def __init__(self, queries: QueryResolver, node: Rel, scope: Scope, query: q.Select) -> None:
        self.queries = queries
        self.context = queries.context
        self.node = node
        self.scope = scope
        self.query = query
        self.overs = OverCalls(query.windows, self.context)

    def project(self, node: Rel, names: list[str], rexes: list[Rex]) -> Rel:
        """Return the final projection, after OVER calls."""
        node, rexes = self.overs.attach(node, rexes)
        names = [*names, *(f"$sort{i}" for i in range(len(rexes) - len(names)))]
        types = [rex.type for rex in rexes]
        # `SELECT *` is the node itself, which keeps plans short.
        if tuple(rexes) == refs(node.row_type) and names == node.row_type.names:
            return node
        return rel.Project(node, tuple(rexes), row_type(names, types))


class PlainResolver(ExpressionResolver):
    """A resolver of items of a SELECT without groups."""

    def __init__(self, layer: SelectLayer) -> None:
        super().__init__(layer.scope, layer.context.catalogs, subqueries_of(layer.queries, layer.scope))
        self._layer = layer

    def _over(self, call: OverCall) -> Rex:
        return self._layer.overs.add(call, self)


class PlainSelect(SelectLayer):
    """A SELECT without groups."""

    def __init__(self, queries: QueryResolver, node: Rel, scope: Scope, query: q.Select) -> None:
        super().__init__(queries, node, scope, query)
        self.resolver = PlainResolver(self)

    def finish(self, names: list[str], rexes: list[Rex], having: Rex | None) -> Rel:
        """Return the node that computes the columns."""
        return self.project(self.node, names, rexes)


def column_range(item: Apply, scope: Scope) -> list[Unresolved]:
    """Return the columns selected by `with_columns(...)` or `without_columns(...)`.

    Raises:
        ValidationException: there is no such column.
    """
    columns = scope.star()
    names = [name for name, _ in columns]

    def index(value: Unresolved) -> int:
        if isinstance(value, Ref):
            if value.path[-1] not in names:
                raise ValidationException(f"Column '{value.path[-1]}' not found, there are {names}")
            return names.index(value.path[-1])
        number = constant(value)
        assert isinstance(number, int)
        if not 1 <= number <= len(names):
            raise ValidationException(f"Column {number} not found, there are {len(names)}: {names}")
        return number - 1

    chosen: list[int] = []
    for operand in item.operands:
        if isinstance(operand, Star):
            chosen += range(len(columns))
        elif isinstance(operand, Apply) and operand.function == "RANGE":
            chosen += range(index(operand.operands[0]), index(operand.operands[1]) + 1)
        else:
            chosen.append(index(operand))
    if item.function == "WITHOUT_COLUMNS":
        chosen = [i for i in range(len(columns)) if i not in chosen]
    return [Alias(columns[i][1], (columns[i][0],)) for i in chosen]


def _values_by_name(names: list[str], items: list[Unresolved], rexes: list[Rex]) -> dict[str, Unresolved]:
    """Return what names in ORDER BY stand for: first of all for the items of SELECT, as in Flink."""
    values = items if len(items) == len(names) else rexes
    return {name: _value(item) for name, item in zip(reversed(names), reversed(values), strict=True)}


def _value(item: Unresolved) -> Unresolved:
    return item.expression if isinstance(item, Alias) else item


def _over_items(ordering: Rex, items: list[Rex], scope: Scope) -> Rex:
    """Return an expression of ORDER BY over the items of SELECT DISTINCT."""

    def change(part: Rex) -> Rex | None:
        if part in items:
            return InputRef(items.index(part), part.type)
        if isinstance(part, InputRef | Deferred | SubqueryValue):
            names = [f"Expression '{column.name}'" for column in scope.columns if column.rex == part]
            name = names[0] if names else "An expression of ORDER BY"
            raise ValidationException(f"SQL validation failed. {name} is not in the select clause")
        return None

    return transform(ordering, change)


def _flattened(item: Unresolved, layer: PlainSelect | GroupedSelect) -> list[tuple[str, Rex]] | None:
    """Return the fields of a row that become columns: `flatten()`, or a row function whose alias has several names."""
    names: tuple[str, ...] = ()
    call = item
    if isinstance(item, Alias):
        call, names = item.expression, item.names
    row = call.operands[0] if isinstance(call, Apply) and call.function == "FLATTEN" else None
    flattens = row is not None
    whole = isinstance(call, Apply) and not isinstance(call.function, str) and Star() in call.operands
    if not (flattens or whole or len(names) > 1):
        return None
    rex = layer.resolver.resolve(call if row is None else row)
    if not isinstance(rex.type, RowType):
        return [(names[0] if names else row.path[-1] if isinstance(row, Ref) else "f0", rex)]
    fields = rex.type.names
    if names and len(names) != len(fields):
        if len(names) == 1:
            return [(names[0], rex)]
        raise ValidationException(f"The row has {len(fields)} fields {fields}, but {len(names)} names are given")
    if not names and isinstance(row, Ref):
        names = tuple(f"{row.path[-1]}${field}" for field in fields)
    return [(new, field_access(rex, field)) for new, field in zip(names or fields, fields, strict=True)]
