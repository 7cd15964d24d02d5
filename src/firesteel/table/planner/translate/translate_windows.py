"""Translation of windows: table functions, and aggregation by windows, slices or sessions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from firesteel.columns.kernels.calc import CalcFactory
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sliced_windows import LocalWindowFactory, SlicedWindowFactory, SlicedWindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rex import InputRef, Rex
from firesteel.columns.window_clock import IN_UTC
from firesteel.connectors.table_connector import Batches
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rules.sliced_windows import sliced_windows
from firesteel.table.planner.translate.plan_parts import call_plan, types_of
from firesteel.table.planner.translate.window_plans import window_plan, window_source

if TYPE_CHECKING:
    from firesteel.table.planner.translate.translate import Translator


def window_table(translator: Translator, node: rel.WindowTableFunction) -> Batches:
    """Add the columns of windows to each row; sessions need the rows of their keys in one subtask."""
    time_type = node.row_type.fields[-1].data_type
    factory = WindowTableFactory(_window(translator, node.window, node.input), types_of(node.input), time_type)
    keys = node.window.partition if node.window.kind == "SESSION" else None
    return translator.operator(node, factory, translator.stream(node.input), keys)


def window_aggregate(translator: Translator, node: rel.WindowAggregate) -> Batches:
    """Aggregate by windows, by slices of them where every kind of call allows it."""
    calls = tuple(map(call_plan, node.calls))
    sliced = None if translator.retracts(node.input) else sliced_windows(node, calls, partial(_window, translator))
    if sliced is not None:
        return _sliced_windows(translator, node, *sliced)
    factory = WindowAggregateFactory(
        node.keys,
        calls,
        None if node.window is None else _window(translator, node.window, node.input),
        node.window_columns,
        node.properties,
        types_of(node.input),
        types_of(node),
        translator.retracts(node.input),
        node.flat,
        IN_UTC if node.window is not None else window_source(node, translator.settings.time_zone),
        node.window is None,
    )
    return translator.operator(node, factory, translator.stream(node.input), node.keys)


def _window(translator: Translator, window: rel.Window, source: Rel) -> WindowPlan:
    return window_plan(window, source, translator.settings.time_zone)


def _sliced_windows(
    translator: Translator, node: rel.WindowAggregate, source: Rel, expressions: tuple[Rex, ...], plan: SlicedWindowPlan
) -> Batches:
    """Add an aggregation by slices, which replaces the window table function and the projection below it."""
    rows = translator.operator(
        node.input, CalcFactory(None, expressions, translator.settings), translator.stream(source)
    )
    if plan.window.kind == "SESSION":
        return _sessions(translator, node, rows, plan)
    local = translator.operator(node, LocalWindowFactory(plan), rows, description=f"Local{describe(node)}")
    return translator.operator(node, SlicedWindowFactory(plan), local, tuple(range(len(plan.keys))))


def _sessions(translator: Translator, node: rel.WindowAggregate, rows: Batches, plan: SlicedWindowPlan) -> Batches:
    """Add an aggregation by sessions, and bring its columns into the order of the node's."""
    columns = dict(plan.outputs)
    times = {"start": "start", "end": "end", "time": "rowtime"}
    kinds = [columns[key] for key in plan.keys], [call.type for call in plan.calls]
    names = [name for name in times if name in columns]
    types = (*kinds[0], *kinds[1], *(columns[name] for name in names))
    properties = tuple(times[name] for name in names)
    factory = WindowAggregateFactory(
        plan.keys, plan.calls, plan.window, None, properties, plan.input_types, types, is_of_table=True
    )
    ended = translator.operator(node, factory, rows, plan.keys)
    order = [*(source for source, _ in plan.outputs), *range(-len(plan.calls), 0)]
    places = [*plan.keys, *range(-len(plan.calls), 0), *names]
    found = tuple(InputRef(places.index(source), types[places.index(source)]) for source in order)
    return translator.operator(node.input, CalcFactory(None, found, translator.settings), ended)
