"""Subqueries without references to the query around them. Calcite: `RelDecorrelator`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.columns.rex import Call, InputRef, Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rex_tools import (
    OuterRef,
    conjunction,
    conjuncts,
    input_refs,
    row_type,
    transform,
    walk,
)


def decorrelate(node: object) -> tuple[Any, Rex | None]:
    """Return a subquery without references to the query around it, and the condition that they were.

    The condition is over the subquery's columns, some of which (`$cor...`) are added for it, and `OuterRef`s.

    Raises:
        ValidationException: it refers to the query around in a way that is not supported.
    """
    node, parts = _pull(node)
    if any(isinstance(rex, OuterRef) for rex in _all_expressions(node)):
        raise ValidationException("This form of a correlated subquery is not supported")
    return node, conjunction(parts)


def _pull(node: object) -> tuple[Any, list[Any]]:
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
    types = [inner.row_type.fields[k].data_type for k in keys] + [call.type for call in node.calls]
    names = [inner.row_type.names[k] for k in keys] + node.row_type.names[len(node.keys) :]
    grouped = rel.Aggregate(inner, keys, node.calls, row_type(names, types))
    # The aggregate's own columns first, then the added ones.
    order = [*range(len(node.keys)), *range(len(keys), len(types)), *range(len(node.keys), len(keys))]
    own = len(node.row_type)
    names = [*node.row_type.names, *(f"$cor{own + i}" for i in range(len(added)))]
    columns = tuple(InputRef(i, types[i]) for i in order)
    project = rel.Project(grouped, columns, row_type(names, [c.type for c in columns]))
    places = {k: i for i, k in enumerate(node.keys)} | {k: own + i for i, k in enumerate(added)}
    return project, [_moved(part, places) for part in parts]


def _moved(part: object, places: dict[int, int]) -> Any:
    return transform(part, lambda r: InputRef(places[r.index], r.type) if isinstance(r, InputRef) else None)


def _is_correlated(rex: object) -> bool:
    return any(isinstance(part, OuterRef) for part in walk(rex))


def bound(condition: Rex, width: int) -> Any:
    """Return a condition over the query around (its columns first) and the subquery."""

    def bind(rex: object) -> Any:
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
