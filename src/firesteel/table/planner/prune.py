"""Column pruning, down to the connector. Calcite: `ProjectJoinTransposeRule` and similar rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from firesteel.columns.types import RowType
from firesteel.table.planner import rel
from firesteel.table.planner.rex_tools import input_refs, remap, row_type

Places = dict[int, int]
"""The new positions of the remaining columns, by old position."""


def prune_columns(node: Any) -> Any:
    """Return an equivalent plan whose inner nodes have only the columns that are read.

    Projections and aggregates determine the columns read; the nodes below are narrowed to them.
    """
    if isinstance(node, rel.Project):
        source, places = narrow(node.input, {i for rex in node.expressions for i in input_refs(rex)})
        return replace(node, input=source, expressions=tuple(_moved(rex, places) for rex in node.expressions))
    return node


def narrow(node: Any, used: set[int]) -> tuple[Any, Places]:
    """Return a node with fewer columns, those that are used at least, and where they are."""
    rule = _RULES.get(type(node))
    if rule is None or len(used) >= len(node.row_type):
        return node, {i: i for i in range(len(node.row_type))}
    return rule(node, used)


def _moved(rex: Any, places: Places) -> Any:
    return remap(rex, lambda index: places[index])


def _picked(kind: RowType, chosen: list[int]) -> RowType:
    return row_type([kind.names[i] for i in chosen], [kind.fields[i].data_type for i in chosen])


def _project(node: rel.Project, used: set[int]) -> tuple[Any, Places]:
    chosen = sorted(used) or [0]
    kind = _picked(node.row_type, chosen)
    slim = replace(node, expressions=tuple(node.expressions[i] for i in chosen), row_type=kind)
    return prune_columns(slim), {old: new for new, old in enumerate(chosen)}


def _scan(node: rel.TableScan, used: set[int]) -> tuple[Any, Places]:
    width = len(node.columns)
    if node.metadata or not width:
        return node, {i: i for i in range(len(node.row_type))}
    chosen = sorted(used) or [0]
    slim = replace(node, columns=tuple(node.columns[i] for i in chosen), row_type=_picked(node.row_type, chosen))
    return slim, {old: new for new, old in enumerate(chosen)}


def _filter(node: rel.Filter, used: set[int]) -> tuple[Any, Places]:
    source, places = narrow(node.input, used | input_refs(node.condition))
    return rel.Filter(source, _moved(node.condition, places)), places


def _watermark(node: rel.AssignWatermark, used: set[int]) -> tuple[Any, Places]:
    source, places = narrow(node.input, used | input_refs(node.expression) | {node.column})
    chosen = sorted(places, key=lambda old: places[old])
    return (
        rel.AssignWatermark(
            source, places[node.column], _moved(node.expression, places), _picked(node.row_type, chosen)
        ),
        places,
    )


def _window_table(node: rel.WindowTableFunction, used: set[int]) -> tuple[Any, Places]:
    width, window = len(node.input.row_type), node.window
    source, places = narrow(node.input, {i for i in used if i < width} | {window.time, *window.partition})
    chosen = [*sorted(places, key=lambda old: places[old]), width, width + 1, width + 2]
    moved = replace(window, time=places[window.time], partition=tuple(places[i] for i in window.partition))
    slim = rel.WindowTableFunction(source, moved, _picked(node.row_type, chosen))
    return slim, {old: new for new, old in enumerate(chosen)}


def _join(node: rel.Join, used: set[int]) -> tuple[Any, Places]:
    return _joined(node, used, ((), ()))


def _joined(node: rel.Join, used: set[int], needed: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Any, Places]:
    width = len(node.left.row_type)
    condition = set() if node.condition is None else input_refs(node.condition)
    both = used | condition
    is_semi = node.kind in ("SEMI", "ANTI")
    left, on_left = narrow(node.left, {i for i in both if i < width} | {*node.left_keys, *needed[0]})
    right, on_right = narrow(node.right, {i - width for i in both if i >= width} | {*node.right_keys, *needed[1]})
    start = len(left.row_type)
    places = on_left | {width + old: start + new for old, new in on_right.items()}
    chosen = sorted(on_left if is_semi else places, key=lambda old: places[old])
    slim = replace(
        node,
        left=left,
        right=right,
        left_keys=tuple(on_left[i] for i in node.left_keys),
        right_keys=tuple(on_right[i] for i in node.right_keys),
        condition=None if node.condition is None else _moved(node.condition, places),
        row_type=_picked(node.row_type, chosen),
    )
    return slim, on_left if is_semi else places


def _sides(join: rel.Join, places: Places, left: int, right: int) -> tuple[int, int]:
    """Return where a column of each input is, of a join that was narrowed."""
    width = len(join.left.row_type)
    start = min((new for old, new in places.items() if old >= width), default=0)
    return places[left], places[width + right] - start


def _interval_join(node: rel.IntervalJoin, used: set[int]) -> tuple[Any, Places]:
    slim, places = _joined(node.join, used, ((node.left_time,), (node.right_time,)))
    left, right = _sides(node.join, places, node.left_time, node.right_time)
    return replace(node, join=slim, left_time=left, right_time=right), places


_RULES: dict[type, Callable[[Any, set[int]], tuple[Any, Places]]] = {
    rel.Project: _project,
    rel.TableScan: _scan,
    rel.Filter: _filter,
    rel.AssignWatermark: _watermark,
    rel.WindowTableFunction: _window_table,
    rel.Join: _join,
    rel.IntervalJoin: _interval_join,
}
