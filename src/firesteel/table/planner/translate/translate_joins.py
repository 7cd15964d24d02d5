"""Translation of nodes with several inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.kernels.joins.interval_joins import IntervalJoinFactory
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.kernels.joins.lookup_joins import LookupJoinFactory
from firesteel.columns.kernels.joins.temporal_joins import TemporalJoinFactory
from firesteel.columns.kernels.joins.window_joins import WindowJoinFactory
from firesteel.columns.kernels.set_operations import SetOperationFactory
from firesteel.connectors.table_connector import Batches
from firesteel.functions.operator_builder import transformation_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.traits.upsert_keys import joined_key
from firesteel.table.planner.translate.plan_parts import ttl_ms, types_of
from firesteel.table.planner.translate.window_plans import window_source

if TYPE_CHECKING:
    from firesteel.table.planner.translate.translate import Translator


def union(translator: Translator, node: rel.Union) -> Batches:
    """Read all inputs as one stream, whose parallelism is that of the first."""
    first, *others = (translator.stream(child) for child in node.inputs)
    if translator.retracts(node):
        parallelism, columns = transformation_of(first).parallelism, tuple(range(len(node.row_type)))
        # By row: else the batches of one subtask go to several, and a row may be retracted before it is inserted.
        others = [
            one if transformation_of(one).parallelism == parallelism else translator.by_columns(one, columns)
            for one in others
        ]
    return first.union(*others) if others else first


def join(translator: Translator, node: rel.Join) -> Batches:
    """Join by key, without bounds of time; the kernel chooses its algorithm by how the job runs."""
    plan, inputs = replace(_plan(translator, node), unique=_unique(translator, node)), _inputs(translator, node)
    factory = JoinFactory(plan)
    if plan.broadcast is not None:
        return translator.broadcast_join(node, factory, inputs, plan.broadcast)
    return translator.join(node, factory, inputs, _keys(translator, node))


def interval_join(translator: Translator, node: rel.IntervalJoin) -> Batches:
    """Keep rows as long as the times of the other input may match."""
    factory = IntervalJoinFactory(
        _plan(translator, node.join), node.left_time, node.right_time, node.low, node.high, node.is_rowtime
    )
    return translator.join(node, factory, _inputs(translator, node), _keys(translator, node.join))


def temporal_join(translator: Translator, node: rel.TemporalJoin) -> Batches:
    """Keep the versions of the right input, and give each row that of its time."""
    assert node.right_time is not None, "validated"
    factory = TemporalJoinFactory(_plan(translator, node.join), node.left_time, node.right_time)
    return translator.join(node, factory, _inputs(translator, node), _keys(translator, node.join))


def window_join(translator: Translator, node: rel.WindowJoin) -> Batches:
    """Join the rows of each window when it ends."""
    windows = window_source(node, translator.settings.time_zone)
    ends = (node.left_window[1], node.right_window[1])
    factory = WindowJoinFactory(_plan(translator, node.join), ends, windows.clock)
    return translator.join(
        node, factory, _inputs(translator, node), _keys(translator, replace(node.join, null_aware=False))
    )


def lookup_join(translator: Translator, node: rel.LookupJoin) -> Batches:
    """Ask the external system of the right side for each row, without state."""
    width = len(node.left.row_type)
    factory = LookupJoinFactory(
        node.lookup,
        node.left_keys,
        node.kind == "LEFT",
        types_of(node.left),
        tuple(node.row_type.field_types()[width:]),
        node.condition,
        translator.settings,
    )
    return translator.operator(node, factory, translator.stream(node.left))


def set_operation(translator: Translator, node: rel.SetOperation) -> Batches:
    """Count equal rows of both inputs."""
    keys = tuple(range(len(node.row_type)))
    factory = SetOperationFactory(node.kind, node.all, types_of(node))
    return translator.join(node, factory, _inputs(translator, node), (keys, keys))


_BROADCAST = {None: None, "left": 0, "right": 1}


def _plan(translator: Translator, node: rel.Join) -> JoinPlan:
    return JoinPlan(
        node.kind,
        (node.left_keys, node.right_keys),
        node.condition,
        types_of(node.left),
        types_of(node.right),
        translator.settings,
        node.null_aware,
        translator.retracts(node.left) or translator.retracts(node.right),
        (ttl_ms(node.state_ttl[0]), ttl_ms(node.state_ttl[1])),
        _BROADCAST[node.broadcast],
    )


def _unique(translator: Translator, node: rel.Join) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return the columns of each input by which its rows replace others."""
    left, right = (joined_key(node, i) if translator.retracts(child) else None for i, child in enumerate(node.inputs))
    return (None, None) if node.null_aware else (left, right)


def _inputs(translator: Translator, node: Rel) -> tuple[Batches, Batches]:
    left, right = (translator.stream(child) for child in node.inputs)
    return left, right


def _keys(translator: Translator, node: rel.Join) -> tuple[tuple[int, ...], ...]:
    # NOT IN needs all rows of the right side in one subtask.
    return ((), ()) if node.null_aware else (node.left_keys, node.right_keys)
