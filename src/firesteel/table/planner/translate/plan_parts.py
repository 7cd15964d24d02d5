"""Parts of nodes as kernels take them."""

from __future__ import annotations

from firesteel.columns.column_types import DataType
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.common.time import Duration
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel


def types_of(node: Rel) -> tuple[DataType, ...]:
    """Return the types of the columns of a node."""
    return tuple(node.row_type.field_types())


def ttl_ms(text: str | None) -> int | None:
    """Return the time to live of a hint in ms."""
    return None if text is None else Duration.parse(text).to_millis()


def call_plan(call: rel.AggregateCall) -> CallPlan:
    """Return an aggregate call; one of a user's function has a copy of its own."""
    function = call.function if isinstance(call.function, str) else call.function.for_call()
    return CallPlan(function, call.arguments, call.type, call.distinct, call.condition, call.order_by)


def collation_of(collations: tuple[rel.Collation, ...]) -> tuple[tuple[int, bool, bool], ...]:
    """Return an order as column, whether it is descending, and whether NULL comes first."""
    return tuple((c.index, c.descending, c.nulls_first) for c in collations)
