"""Subqueries become joins. Calcite: `SubQueryRemoveRule` and `RelDecorrelator`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.columns.types import BooleanType
from firesteel.table.errors import ValidationException
from firesteel.table.planner import rel
from firesteel.table.planner.joins import make_join
from firesteel.table.planner.projections import first_columns
from firesteel.table.planner.resolve_expressions import ExpressionResolver
from firesteel.table.planner.rex_tools import (
    Deferred,
    OuterRef,
    conjunction,
    conjuncts,
    input_refs,
    refs,
    row_type,
    shift,
    transform,
    walk,
)
from firesteel.table.planner.scope import Scope, where
from firesteel.table.unresolved import Apply, Subquery


class Subqueries:
    """The scalar subqueries of a SELECT: each becomes a column that a join appends."""

    def __init__(self, queries: Any, scope: Scope) -> None:
        self._queries = queries
        self._scope = scope
        self._found: list[tuple[Any, Rex | None]] = []

    def add(self, subquery: Subquery, operand: Any) -> Rex:
        """Add a subquery and return the reference to its value."""
        if subquery.kind != "SCALAR":
            raise ValidationException(
                f"{subquery.kind} with a subquery is only supported as the whole condition of WHERE, or as one of "
                "its terms that are combined by AND"
            )
        node = self._queries.resolve(subquery.query, self._scope)
        if len(node.row_type) != 1:
            raise ValidationException(
                f"SQL validation failed. A scalar subquery must return one column, found {len(node.row_type)}"
            )
        node, correlated = decorrelate(node)
        self._found.append((node, correlated))
        number = len(self._found) - 1
        return Deferred(("subquery", number), node.row_type.fields[0].data_type.nullable())  # type: ignore[arg-type,return-value]

    def attach(self, node: Any, rexes: list[Any], overs: Any = None) -> tuple[Any, list[Any]]:
        """Return the node with the subqueries' columns, and the expressions that refer to them."""
        if not self._found:
            return node, rexes
        places: dict[Any, int] = {}
        for number, (subquery, correlated) in enumerate(self._found):
            single = subquery
            if correlated is None and not _has_one_row(subquery):
                kind = subquery.row_type.fields[0].data_type.nullable()
                call = rel.AggregateCall("SINGLE_VALUE", (0,), kind)
                single = rel.Aggregate(subquery, (), (call,), row_type(subquery.row_type.names, [kind]))
            width = len(node.row_type)
            condition = None if correlated is None else _bound(correlated, width)
            node = make_join(node, single, "LEFT", condition, self._queries.context, None)
            places["subquery", number] = width

        def place(rex: Any) -> Any:
            if isinstance(rex, Deferred) and rex.number in places:
                return InputRef(places[rex.number], rex.type)
            return None

        if overs is not None:
            overs.replace(place)
        return node, [transform(rex, place) for rex in rexes]


def _has_one_row(node: Any) -> bool:
    if isinstance(node, rel.Project):
        return _has_one_row(node.input)
    if isinstance(node, rel.Values):
        return len(node.rows) == 1
    return isinstance(node, rel.Aggregate) and not node.keys


def filter_by(node: Any, conditions: list[Any], scope: Scope, queries: Any) -> Any:
    """Return the rows of a node for which all conditions of WHERE are true."""
    subqueries = Subqueries(queries, scope)
    resolver = ExpressionResolver(scope, queries.context.catalogs, subqueries.add)
    rest: list[Any] = []
    for part in conditions:
        kind, subquery = _membership(part)
        if subquery is None:
            rest.append(_condition(resolver.resolve(part), part))
        else:
            node = _semi_join(node, kind, subquery, scope, queries)
    if not rest:
        return node
    width, kind_before = len(node.row_type), node.row_type
    joined, rest = subqueries.attach(node, rest)
    filtered = rel.Filter(joined, conjunction([part for rex in rest for part in conjuncts(rex)]) or _true())
    if len(filtered.row_type) == width:
        return filtered
    return first_columns(filtered, kind_before)


def _true() -> Literal:
    return Literal(True, BooleanType(False))


def _condition(rex: Any, part: Any) -> Any:
    if not isinstance(rex.type, BooleanType):
        position = getattr(part, "position", None)
        raise ValidationException(f"SQL validation failed. {where(position)}WHERE clause must be a condition")
    return rex


def conjuncts_of(condition: Any) -> list[Any]:
    """Return the parts of a condition that ANDs join."""
    if isinstance(condition, Apply) and condition.function == "AND":
        return [part for operand in condition.operands for part in conjuncts_of(operand)]
    return [condition]


def _membership(part: Any) -> tuple[str, Subquery | None]:
    """Return SEMI or ANTI and the subquery where a condition is [NOT] IN or [NOT] EXISTS."""
    kind = "SEMI"
    while isinstance(part, Apply) and part.function == "NOT":
        kind = "ANTI" if kind == "SEMI" else "SEMI"
        part = part.operands[0]
    if isinstance(part, Subquery) and part.kind in ("IN", "EXISTS"):
        return kind, part
    return kind, None


def _semi_join(node: Any, kind: str, subquery: Subquery, scope: Scope, queries: Any) -> Any:
    inner = queries.resolve(subquery.query, scope)
    inner, correlated = decorrelate(inner)
    width = len(node.row_type)
    parts = [] if correlated is None else conjuncts(_bound(correlated, width))
    is_in = subquery.kind == "IN"
    if is_in:
        resolver = ExpressionResolver(scope, queries.context.catalogs)
        operands = _operands(resolver, subquery.operand)
        visible = len(inner.row_type) - (0 if correlated is None else _added(inner))
        if len(operands) != visible and correlated is None:
            raise ValidationException(
                f"SQL validation failed. Values passed to IN operator must have compatible types: {len(operands)} "
                f"and {visible} columns"
            )
        columns = refs(inner.row_type)
        parts = [resolver.call("=", (o, shift(c, width))) for o, c in zip(operands, columns, strict=False)] + parts
    null_aware = is_in and kind == "ANTI"
    return make_join(node, inner, kind, conjunction(parts), queries.context, None, null_aware)


def _operands(resolver: ExpressionResolver, operand: Any) -> list[Any]:
    if isinstance(operand, Apply) and operand.function == "ROW":
        return [resolver.resolve(part) for part in operand.operands]
    return [resolver.resolve(operand)]


def _added(node: Any) -> int:
    return sum(1 for name in node.row_type.names if name.startswith("$cor"))


# --- decorrelation -------------------------------------------------------------------------------------------------


def decorrelate(node: Any) -> tuple[Any, Rex | None]:
    """Return a subquery without references to the query around it, and the condition that they were.

    The condition is over the subquery's columns, some of which (`$cor...`) are added for it, and `OuterRef`s.

    Raises:
        ValidationException: it refers to the query around in a way that is not supported.
    """
    node, parts = _pull(node)
    if any(isinstance(rex, OuterRef) for rex in _all_expressions(node)):
        raise ValidationException("This form of a correlated subquery is not supported")
    return node, conjunction(parts)


def _pull(node: Any) -> tuple[Any, list[Any]]:
    if isinstance(node, rel.Filter):
        inner, parts = _pull(node.input)
        mine = conjuncts(node.condition)
        outer = [part for part in mine if _is_correlated(part)]
        rest = conjunction([part for part in mine if not _is_correlated(part)])
        return (inner if rest is None else rel.Filter(inner, rest)), parts + outer
    if isinstance(node, rel.Project):
        inner, parts = _pull(node.input)
        if not parts:
            return (node if inner is node.input else replace(node, input=inner)), []
        needed = sorted({i for part in parts for i in input_refs(part)})
        width = len(node.row_type)
        names = [*node.row_type.names, *(f"$cor{width + i}" for i in range(len(needed)))]
        columns = [InputRef(i, inner.row_type.fields[i].data_type) for i in needed]
        kind = row_type(names, [*node.row_type.field_types(), *(c.type for c in columns)])
        places = {index: width + i for i, index in enumerate(needed)}
        return rel.Project(inner, (*node.expressions, *columns), kind), [_moved(part, places) for part in parts]
    if isinstance(node, rel.Aggregate):
        return _pull_aggregate(node)
    return node, []


def _pull_aggregate(node: rel.Aggregate) -> tuple[Any, list[Any]]:
    """Group by the columns that are compared with the query around, too."""
    inner, parts = _pull(node.input)
    if not parts:
        return (node if inner is node.input else replace(node, input=inner)), []
    for part in parts:
        if not (isinstance(part, Call) and part.function == "="):
            raise ValidationException(
                "A correlated subquery with aggregates is only supported if it is correlated by equality of columns"
            )
    needed = sorted({i for part in parts for i in input_refs(part)})
    added = [i for i in needed if i not in node.keys]
    keys = (*node.keys, *added)
    calls = tuple(replace(call, type=call.type) for call in node.calls)
    types = [inner.row_type.fields[k].data_type for k in keys] + [call.type for call in calls]
    names = [inner.row_type.names[k] for k in keys] + node.row_type.names[len(node.keys) :]
    grouped = rel.Aggregate(inner, keys, calls, row_type(names, types))
    # The aggregate's own columns first, then the added ones.
    order = [*range(len(node.keys)), *range(len(keys), len(types)), *range(len(node.keys), len(keys))]
    own = len(node.row_type)
    names = [*node.row_type.names, *(f"$cor{own + i}" for i in range(len(added)))]
    columns = tuple(InputRef(i, types[i]) for i in order)
    project = rel.Project(grouped, columns, row_type(names, [c.type for c in columns]))
    places = {k: i for i, k in enumerate(node.keys)} | {k: own + i for i, k in enumerate(added)}
    return project, [_moved(part, places) for part in parts]


def _moved(part: Any, places: dict[int, int]) -> Any:
    return transform(part, lambda r: InputRef(places[r.index], r.type) if isinstance(r, InputRef) else None)


def _is_correlated(rex: Any) -> bool:
    return any(isinstance(part, OuterRef) for part in walk(rex))


def _bound(condition: Rex, width: int) -> Any:
    """Return a condition over the query around (its columns first) and the subquery."""

    def bind(rex: Any) -> Any:
        if isinstance(rex, OuterRef):
            return rex.rex
        return InputRef(rex.index + width, rex.type) if isinstance(rex, InputRef) else None

    return transform(condition, bind)


def _all_expressions(node: Any) -> list[Any]:
    found: list[Any] = []
    if isinstance(node, rel.Project):
        found += [part for rex in node.expressions for part in walk(rex)]
    if isinstance(node, rel.Filter):
        found += list(walk(node.condition))
    if isinstance(node, rel.Join) and node.condition is not None:
        found += list(walk(node.condition))
    for child in node.inputs:
        found += _all_expressions(child)
    return found
