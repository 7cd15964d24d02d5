"""Walks over the expressions of a plan, above all the values of queries around a subquery. Calcite: `RelOptUtil`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeGuard, get_args

from firesteel.columns.rex import Call, InputRef, Literal, OuterRef, Rex, SubqueryValue, UserCall
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import is_repeatable, transform

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_REX = (InputRef, Literal, Call, UserCall, OuterRef)
_OF_PLANS = frozenset((*get_args(rel.Rel), *get_args(rel.Part)))


def outer_values(node: Rel | Rex, level: int) -> list[Rex]:
    """Return the values of the query at a level that a plan refers to, each once, in the order of their first use."""
    found: dict[Rex, None] = {}
    for value in _outer_refs(node, set()):
        if value.level == level:
            found[value.rex] = None
    return list(found)


def is_correlated(value: object, level: int) -> bool:
    """Return whether a plan, or an expression, refers to the query at a level."""
    return any(ref.level == level for ref in _outer_refs(value, set()))


def has_outer_values(node: object) -> bool:
    """Return whether a plan refers to any query around it."""
    return next(_outer_refs(node, set()), None) is not None


def is_repeatable_plan(node: Rel) -> bool:
    """Return whether a plan may be computed at several places, and has the same rows at each."""
    return all(map(is_repeatable, _expressions(node, set())))


def _expressions(value: object, known: set[int]) -> Iterator[Rex]:
    """Yield the expressions in the nodes of a plan that are not known yet, without those in other expressions."""
    if isinstance(value, (*_REX, SubqueryValue)):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _expressions(part, known)
    # A plan is a graph: without it, a shared node would be visited once per path.
    elif _is_part_of_plan(value) and id(value) not in known:
        known.add(id(value))
        for field in dataclasses.fields(value):
            yield from _expressions(getattr(value, field.name), known)


def query_of(value: SubqueryValue) -> Rel:
    """Return the query of a subquery."""
    assert isinstance(value.query, Rel)
    return value.query


def split_operands(value: SubqueryValue) -> tuple[tuple[Rex, ...], tuple[Rex, ...]]:
    """Return what a subquery is compared with, and what its query reads of the rows around."""
    compared = 0 if value.kind in ("EXISTS", "SCALAR", "ROWS") else len(query_of(value).row_type)
    return value.operands[:compared], value.operands[compared:]


def with_outer_values(node: Rel, change: Callable[[OuterRef], Rex | None]) -> Rel:
    """Return a plan with other expressions in place of the values of queries around; None keeps a value."""
    changed = _changed(node, lambda part: change(part) if isinstance(part, OuterRef) else None, {})
    assert isinstance(changed, Rel)
    return changed


def _outer_refs(value: object, known: set[int]) -> Iterator[OuterRef]:
    for rex in _expressions(value, known):
        if isinstance(rex, OuterRef):
            yield rex
        elif isinstance(rex, Call | UserCall | SubqueryValue):
            yield from _outer_refs(rex.operands, known)
        if isinstance(rex, SubqueryValue):  # what it reads of the rows around are its operands
            yield from (ref for ref in _outer_refs(rex.query, known) if ref.level != rex.level)


def _changed(value: object, change: Callable[[Rex], Rex | None], memo: dict[int, object]) -> object:
    if isinstance(value, _REX):
        return transform(value, change)
    if isinstance(value, tuple):
        parts = tuple(_changed(part, change, memo) for part in value)
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
    if not _is_part_of_plan(value):
        return value
    if id(value) not in memo:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        new = {name: _changed(old, change, memo) for name, old in fields.items()}
        differs = any(new[name] is not old for name, old in fields.items())
        memo[id(value)] = dataclasses.replace(value, **new) if differs else value
    return memo[id(value)]


def _is_part_of_plan(value: object) -> TypeGuard[DataclassInstance]:
    """Return whether a value is a node, or a part of one such as a window or an aggregate call."""
    return type(value) in _OF_PLANS
