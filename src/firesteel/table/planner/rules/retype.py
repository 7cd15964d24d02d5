"""New types of nodes whose inputs have lost time attributes, or windows. Flink: `RelTimeIndicatorConverter`.

Names are resolved as if time attributes remained such: only the joins that subqueries become tell whether they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import Call, InputRef, Rex, SubqueryValue, UserCall
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_time
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import children, row_type, with_operands
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.planner.rel.window_columns import window_columns

Lost = frozenset[int]
"""The columns of the inputs of a node that were time attributes and are none any more; left ones come first."""


NONE_LOST: Lost = frozenset()


def lost_times(before: Sequence[Rel], after: Sequence[Rel]) -> Lost:
    """Return the columns of inputs that are no time attributes any more; the last input may have more columns."""
    old, new = ([kind for node in nodes for kind in node.row_type.field_types()] for nodes in (before, after))
    return frozenset(place for place, kind in enumerate(old) if is_time(kind) and not is_time(new[place]))


def retyped_rex(rex: Rex, lost: Lost) -> Rex:
    """Return an expression over columns some of which have lost being time attributes."""
    if isinstance(rex, InputRef):
        return InputRef(rex.index, without_time_attribute(rex.type)) if rex.index in lost else rex
    if not isinstance(rex, Call | UserCall | SubqueryValue):
        return rex
    result = with_operands(rex, tuple(retyped_rex(operand, lost) for operand in rex.operands))
    if result is rex or any(is_time(operand.type) for operand in children(result)):
        return result
    return replace(result, type=without_time_attribute(rex.type))


def projected(source: Rel, node: rel.Project, expressions: Sequence[Rex]) -> rel.Project:
    """Return a projection with other expressions, over another input, without the time attributes that these lost."""
    pairs = enumerate(zip(node.expressions, expressions, strict=True))
    lost = (place for place, (old, new) in pairs if is_time(old.type) and not is_time(new.type))
    return rel.Project(source, tuple(expressions), _without(node.row_type, lost))


def _without(kind: RowType, columns: Iterable[int]) -> RowType:
    """Return a row type in which these columns are no time attributes."""
    lost = frozenset(columns)
    types = [without_time_attribute(old) if i in lost else old for i, old in enumerate(kind.field_types())]
    return row_type(kind.names, types)


def _same(node: object, lost: Lost) -> Rel:
    assert isinstance(node, Rel)
    return node


def appended(node: object, lost: Lost) -> Rel:
    """Return a node that has the columns of its input, and others after them."""
    assert isinstance(node, rel.AssignWatermark | rel.Correlate | rel.Over | rel.Rank | rel.Expand)
    return replace(node, row_type=_without(node.row_type, lost))


def _window_table(node: rel.WindowTableFunction, lost: Lost) -> Rel:
    time = {len(node.row_type) - 1} if node.window.time in lost else set()
    return replace(node, row_type=_without(node.row_type, lost | time))


def _of_keys(node: rel.Grouped, keys: Iterable[int]) -> RowType:
    """Return the columns of groups without time attributes among keys, which are indexes of the input's columns."""
    lost = frozenset(keys)
    return _without(node.row_type, (place for place, key in enumerate(node.keys) if key in lost))


def _aggregate(node: rel.Aggregate, lost: Lost) -> Rel:
    """Rows are grouped by window if the columns of windows are among the keys; only then time is one of them, too."""
    columns = window_columns(node.input)
    if columns is None or not {*columns[:2]} <= {*node.keys}:
        return replace(node, row_type=_of_keys(node, node.keys))
    kind = _of_keys(node, lost | {*node.keys} - {columns[2]})
    return rel.WindowAggregate(node.input, node.keys, node.calls, None, (), kind, columns, node.flat)


def _window_aggregate(node: rel.WindowAggregate, lost: Lost) -> Rel:
    return replace(node, row_type=_of_keys(node, node.keys))


def _union(node: rel.Union, lost: Lost) -> Rel:
    return replace(node, row_type=_without(node.row_type, (index % len(node.row_type) for index in lost)))


def _match(node: rel.Match, lost: Lost) -> Rel:
    return replace(node, row_type=_without(node.row_type, (i for i, one in enumerate(node.partition) if one in lost)))


RETYPED: Sequence[tuple[type, Callable[[object, Lost], Rel]]] = (
    *((kind, _same) for kind in (rel.TableScan, rel.StreamScan, rel.Values, rel.SetOperation, rel.Sort)),
    *((kind, _same) for kind in (rel.IntervalJoin, rel.LookupJoin, rel.WindowJoin)),  # of compiled plans
    *((kind, appended) for kind in (rel.AssignWatermark, rel.Over, rel.Rank, rel.Expand)),
    case(rel.Aggregate, _aggregate),
    case(rel.WindowAggregate, _window_aggregate),
    case(rel.WindowTableFunction, _window_table),
    case(rel.Union, _union),
    case(rel.Match, _match),
)
"""Nodes without subqueries over inputs of other types: (node over its new inputs, with its old types; columns)."""
