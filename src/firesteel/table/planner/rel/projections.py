"""Small nodes that many rules put around others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, refs, row_type, unique_names


def extended(node: Rel, extra: list[Rex], prefix: str) -> Rel:
    """Return a node with additional columns after its own, named by a prefix and a number."""
    if not extra:
        return node
    names = unique_names([*node.row_type.names, *(f"{prefix}{i}" for i in range(len(extra)))])
    types = [*node.row_type.field_types(), *(rex.type for rex in extra)]
    return rel.Project(node, (*refs(node.row_type), *extra), row_type(names, types))


def first_columns(node: Rel, kind: RowType) -> Rel:
    """Return the first columns of a node, as many as a row type has, under its names and types."""
    return rel.Project(node, refs(node.row_type)[: len(kind)], kind)


def of_sides(join: Rel, width: int, start: int, kind: RowType) -> Rel:
    """Return a join without the columns that were added to its inputs.

    Args:
        join: The join.
        width: The columns of the left input as it was, which are the first ones.
        start: Where the columns of the right input begin.
        kind: The remaining columns.
    """
    columns = refs(join.row_type)
    return rel.Project(join, (*columns[:width], *columns[start : start + len(kind) - width]), kind)


def filtered(node: Rel, conditions: list[Rex]) -> Rel:
    """Return the rows of a node for which all conditions are true."""
    condition = conjunction(conditions)
    return node if condition is None else rel.Filter(node, condition)


def distinct(node: Rel, state_ttl: str | None = None) -> Rel:
    """Return the node without repetitions."""
    return rel.Aggregate(node, tuple(range(len(node.row_type))), (), node.row_type, state_ttl=state_ttl)


def one_row() -> Rel:
    """Return a node of one row without columns, the input of SELECT without FROM."""
    return rel.Values(((),), row_type([], []))


def with_inputs(node: Rel, inputs: Sequence[Rel]) -> Rel:
    """Return a copy of a node with other inputs."""
    if isinstance(node, rel.OfJoin):
        return replace(node, join=replace(node.join, left=inputs[0], right=inputs[1]))
    if isinstance(node, rel.TwoInputs):
        return replace(node, left=inputs[0], right=inputs[1])
    if isinstance(node, rel.LookupJoin):
        return replace(node, left=inputs[0])
    if isinstance(node, rel.Union):
        return replace(node, inputs=tuple(inputs))
    if isinstance(node, rel.TableScan | rel.StreamScan | rel.Values):
        return node
    return replace(node, input=inputs[0])


def renamed(node: Rel, columns: tuple[str, ...], name: str) -> Rel:
    """Return a node under other column names; without any, or if these are its names, it is the node itself.

    Raises:
        ValidationException: it has more or fewer columns.
    """
    if not columns or tuple(node.row_type.names) == columns:
        return node
    if len(columns) != len(node.row_type):
        raise ValidationException(
            f"SQL validation failed. List of column aliases must have same degree as table; table '{name}' has "
            f"{len(node.row_type)} columns {node.row_type.names}, whereas alias list has {len(columns)} columns"
        )
    kind = row_type(list(columns), node.row_type.field_types())
    return rel.Project(node, refs(node.row_type), kind)
