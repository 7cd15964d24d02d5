"""Reuse of equal subplans, which then run once. Flink: `SubplanReuser`."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType, RowType
from firesteel.columns.rex import Call, InputRef, Literal, UserCall
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import calls_deterministic

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_REUSABLE = (
    rel.TableScan,
    rel.AssignWatermark,
    rel.Project,
    rel.Filter,
    rel.Aggregate,
    rel.WindowTableFunction,
    rel.WindowAggregate,
    rel.Join,
    rel.IntervalJoin,
    rel.WindowJoin,
    rel.Union,
    rel.Rank,
    rel.Over,
    rel.Expand,
)
"""Nodes that are equal if their attributes and inputs are. Other nodes are only equal to themselves."""


class _NotReusableError(Exception):
    """A node has an attribute that can't be compared, or an expression that isn't deterministic."""


def share_subplans(roots: Sequence[Rel]) -> list[Rel]:
    """Return the plans with one node in place of all equal ones."""
    sharing = _Sharing()
    return [sharing.shared(root) for root in roots]


class _Sharing:
    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Rel, Rel]] = {}
        self._by_key: dict[Hashable, Rel] = {}

    def shared(self, node: Rel) -> Rel:
        """Return the node that represents all nodes equal to this one."""
        known = self._by_id.get(id(node))
        if known is not None:
            return known[1]
        inputs = [self.shared(child) for child in node.inputs]
        changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        result = with_inputs(node, inputs) if changed else node
        key = _key(result)
        if key is not None:
            result = self._by_key.setdefault(key, result)
        # The node is kept beside, so that its id is not given to another one.
        self._by_id[id(node)] = (node, result)
        return result


def _key(node: object) -> Hashable:
    """Return what equal nodes over the same inputs have in common, None if the node is only equal to itself."""
    if not isinstance(node, _REUSABLE):
        return None
    try:
        # By the ids of inputs, which are shared already; equality would compare whole plans again at each level.
        key = (_attributes(node), tuple(map(id, node.inputs)))
        hash(key)
    except (_NotReusableError, TypeError):
        return None
    return key


def _attributes(node: DataclassInstance) -> Hashable:
    names = (field.name for field in dataclasses.fields(node))
    return (
        type(node),
        # A source is made of its table, which is compared, and has no equality of its own.
        *(_part(getattr(node, name)) for name in names if name not in ("input", "inputs", "left", "right", "source")),
    )


def _part(value: object) -> Hashable:
    if isinstance(value, Call | UserCall):
        if not calls_deterministic(value):
            raise _NotReusableError
        # Two functions of users are equal if they are the same object: what they compute is not known.
        function = value.function if isinstance(value, Call) else id(value.function)
        return (type(value), function, _part(value.type), *map(_part, value.operands))
    if isinstance(value, Literal):  # equal numbers may differ in type or sign
        return Literal, type(value.value), repr(value.value), _part(value.type)
    if isinstance(value, InputRef):
        return InputRef, value.index
    if isinstance(value, RowType):
        return tuple((field.name, _part(field.data_type)) for field in value.fields), value.is_nullable
    if isinstance(value, DataType):  # the equality of types ignores whether a time is an attribute
        return value, getattr(value, "kind", None)
    if isinstance(value, ResolvedTable):
        columns = tuple((column.name, _part(column.type)) for column in value.physical_columns)
        return value.path, tuple(value.options.items()), columns, value.primary_key, value.partition_keys
    if isinstance(value, rel.AggregateCall) and not getattr(value.function, "deterministic", True):
        raise _NotReusableError
    if isinstance(value, tuple):
        return tuple(map(_part, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _attributes(value)
    return value
