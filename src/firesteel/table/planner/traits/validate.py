"""The checks of optimized plans: what does not run is refused here, and nowhere later.

EXPLAIN, submission and `collect` go through them. Flink has them in its translation of nodes (`StreamExec...`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from firesteel.columns.column_types import ArrayType, MapType, MultisetType, RowType, TimestampKind
from firesteel.columns.data_type import DataType
from firesteel.columns.type_families import TIMESTAMPS
from firesteel.columns.type_text import type_text
from firesteel.common.cases import case
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import LookupSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import (
    deduplicates,
    follows_arrival,
    is_proctime,
    is_rowtime,
    is_time,
    sorts_all,
    updates_over,
)
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.time_attributes import with_kind
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rel.window_columns import window_time
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, check_row_kinds, kinds_of
from firesteel.table.planner.traits.upsert_keys import upsert_key

__all__ = ["validate"]

_NO_ORDER = "The window rank function requires order by clause with non-constant fields."
_RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})
_OF_WHOLE_PARTITIONS = frozenset({"LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"})
"""Functions over a window that need the rows that follow."""


def validate(plans: Sequence[rel.Rel], is_streaming: bool) -> None:
    """Check the plans of a job.

    Raises:
        TableException: a node can't be run in this mode.
        ValidationException: a join lacks what it needs.
    """
    nodes = inputs_first(plans)
    if is_streaming:
        check_row_kinds(nodes)
    for node in nodes:
        CHECKS[type(node)](node, is_streaming)


def _runs(node: rel.Rel, is_streaming: bool) -> None:
    """Accept a node that runs in both modes, whatever its fields are."""


def _check_scan(node: rel.TableScan, is_streaming: bool) -> None:
    if is_streaming:
        return
    name = ".".join(node.table.path)
    if not node.source.is_bounded:
        raise ValidationException(
            f"Querying an unbounded table '{name}' in batch mode is not allowed. The table source is unbounded."
        )
    if frozenset(node.source.kinds) != INSERT_ONLY:
        raise TableException(
            "Querying a table in batch mode is currently only possible for INSERT-only table sources. But the source "
            f"for table '{name}' produces other changelog messages than just INSERT."
        )


def _check_aggregate(node: rel.Aggregate, is_streaming: bool) -> None:
    if is_streaming and any(call.function == "APPROX_COUNT_DISTINCT" for call in node.calls):
        raise TableException(
            "APPROX_COUNT_DISTINCT is not supported in stream mode but over windows; use COUNT(DISTINCT ...)"
        )


def _check_over(node: rel.Over, is_streaming: bool) -> None:
    for group in node.groups:
        _check_order(node.input, group.order)
        if is_streaming:
            _check_over_group(node, group)
        elif not group.order and any(call.function in _RANKINGS for call in group.calls):
            raise ValidationException(f"Over Agg: {_NO_ORDER} please re-check the over window statement.")


def _check_over_group(node: rel.Over, group: rel.OverGroup) -> None:
    if not group.order:
        raise TableException(_NO_ORDER)
    if not is_time(_type_of(node.input, group.order[0])) and (group.frame.low is not None or not updates_over(node)):
        raise TableException(
            "OVER windows' ordering in stream mode must be defined on a time attribute, unless all windows of the "
            "SELECT are ordered by other columns and begin with UNBOUNDED PRECEDING."
        )
    if len(group.order) > 1 and is_time(_type_of(node.input, group.order[0])):
        raise TableException("The window can only be ordered by a single time column.")
    if group.order[0].descending:
        raise TableException("OVER windows' ordering in stream mode must be ascending")
    if whole := [call.function for call in group.calls if call.function in _OF_WHOLE_PARTITIONS]:
        raise TableException(f"{whole[0]} Function is not supported in stream mode.")
    if group.frame.high != 0:
        unit = "ROWS" if group.frame.is_rows else "RANGE"
        raise TableException(f"OVER {unit} FOLLOWING windows are not supported yet.")


def _check_window_table(node: rel.WindowTableFunction, is_streaming: bool) -> None:
    kind = node.input.row_type.fields[node.window.time].data_type
    if not is_streaming and is_proctime(kind):
        raise TableException("Processing time Window TableFunction is not supported yet.")
    if is_streaming and not is_time(kind):
        raise ValidationException(
            f"The window function requires the timecol is a time attribute type, but is {_plain_text(kind)}."
        )


def _check_window_aggregate(node: rel.WindowAggregate, is_streaming: bool) -> None:
    if is_streaming or node.window is None:
        return
    if is_proctime(node.input.row_type.fields[node.window.time].data_type):
        raise ValidationException("Window can not be defined over a proctime attribute column in batch mode")


def _plain_text(kind: DataType) -> str:
    """Return the name of the type of a column that is no time attribute any more."""
    assert isinstance(kind, TIMESTAMPS)
    return type_text(with_kind(kind, TimestampKind.REGULAR).nullable())


def _check_match(node: rel.Match, is_streaming: bool) -> None:
    if is_streaming and not is_time(_type_of(node.input, node.order[0])):
        raise TableException("You must specify either rowtime or proctime for order by as the first one.")
    if node.order[0].descending:
        raise TableException("Primary sort order of a streaming table must be ascending on time.")


def _check_rank(node: rel.Rank, is_streaming: bool) -> None:
    _check_order(node.input, node.order)
    if node.window is not None:
        _check_window_time(node, is_streaming, "TopN")
    if not is_streaming or node.function == "ROW_NUMBER" or node.window is not None:
        return
    if deduplicates(node) is None or kinds_of(node.input, True) != INSERT_ONLY or node.outputs_rank:
        raise TableException(f"{node.function}() on streaming table is not supported currently")


def _check_order(node: rel.Rel, order: Sequence[rel.Collation]) -> None:
    for collation in order:
        if (kind := unordered(_type_of(node, collation))) is not None:
            raise TableException(
                f"Type({type_text(kind.nullable())}) is not an orderable data type, it is not supported as a "
                "ORDER_BY/GROUP_BY/JOIN_EQUAL field."
            )


def unordered(kind: DataType) -> DataType | None:
    """Return the part of a type whose values have no order, None if it has none."""
    match kind:
        case MapType() | MultisetType():
            return kind
        case ArrayType():
            return unordered(kind.element_type)
        case RowType():
            return next(filter(None, map(unordered, kind.field_types())), None)
    return None


def _check_sort(node: rel.Sort, is_streaming: bool) -> None:
    _check_order(node, node.collations)
    if not is_streaming:
        return
    if sorts_all(node):
        if node.fetch is None:
            raise TableException("OFFSET without FETCH or LIMIT is not supported on a stream")
    elif not _sorts_by_time(node):
        if is_proctime(_type_of(node, node.collations[0])) and not node.collations[0].descending:
            raise TableException(
                "Sort by a processing time and further columns is not supported: the order would depend on the clock."
            )
        raise TableException("Sort on a non-time-attribute field is not supported.")


def _sorts_by_time(node: rel.Sort) -> bool:
    first = node.collations[0]
    return not first.descending and (is_rowtime(_type_of(node, first)) or follows_arrival(node))


def _check_temporal_join(node: rel.TemporalJoin, is_streaming: bool) -> None:
    join = node.join
    time = join.left.row_type.fields[node.left_time].data_type
    if is_streaming and not is_time(time):
        raise ValidationException(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
        )
    if is_proctime(time):
        raise _no_lookup_join(join)
    if node.right_time is None:
        raise ValidationException(
            "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but "
            "no row time attribute can be found."
        )
    key = upsert_key(join.right)
    if key is None:
        raise ValidationException(
            "Temporal Table Join requires primary key in versioned table, but no primary key can be found."
        )
    if not set(key) <= set(join.right_keys):
        left, right = join.left.row_type.names, join.right.row_type.names
        pairs = zip(join.left_keys, join.right_keys, strict=True)
        raise ValidationException(
            f"Temporal table's primary key [{', '.join(right[k] for k in key)}] must be included in the equivalence "
            f"condition of temporal join, but current temporal join condition is "
            f"[{', '.join(f'{left[a]}={right[b]}' for a, b in pairs)}]."
        )


def _no_lookup_join(join: rel.Join) -> TableException | ValidationException:
    """Return why a join in processing time did not become one of lookups (`rules/join_kinds.py`)."""
    if not _has_lookups(join.right):
        # Which rows of the right table a row would find depends on how fast both are read.
        return TableException(
            "Processing-time temporal join is not supported yet. The right table needs a connector with lookups."
        )
    if not isinstance(join.right, rel.TableScan):
        return ValidationException(
            "A lookup join needs a plain connector table on the right, without further operations"
        )
    return ValidationException("Temporal table join requires an equality condition on fields of the lookup table.")


def _has_lookups(node: rel.Rel) -> bool:
    while isinstance(node, rel.Project | rel.Filter):
        node = node.input
    return isinstance(node, rel.TableScan) and isinstance(node.source, LookupSource)


def _check_window_join(node: rel.WindowJoin, is_streaming: bool) -> None:
    _check_window_time(node, is_streaming, "Join")


def _check_window_time(node: rel.Rel, is_streaming: bool, what: str) -> None:
    if is_streaming and is_proctime(window_time(node.inputs[0])):
        raise TableException(f"Processing time Window {what} is not supported yet.")


def _type_of(node: rel.Rel, collation: rel.Collation) -> DataType:
    return node.row_type.fields[collation.index].data_type


CHECKS: dict[type, Callable[[object, bool], None]] = for_each_node(
    "the check of plans",
    [
        case(rel.TableScan, _check_scan),
        case(rel.StreamScan, _runs),
        case(rel.Values, _runs),
        case(rel.AssignWatermark, _runs),
        case(rel.Project, _runs),
        case(rel.Filter, _runs),
        case(rel.Aggregate, _check_aggregate),
        case(rel.WindowTableFunction, _check_window_table),
        case(rel.WindowAggregate, _check_window_aggregate),
        case(rel.Join, _runs),
        case(rel.IntervalJoin, _runs),
        case(rel.TemporalJoin, _check_temporal_join),
        case(rel.LookupJoin, _runs),
        case(rel.WindowJoin, _check_window_join),
        case(rel.Correlate, _runs),
        case(rel.Union, _runs),
        case(rel.SetOperation, _runs),
        case(rel.Sort, _check_sort),
        case(rel.Over, _check_over),
        case(rel.Rank, _check_rank),
        case(rel.Expand, _runs),
        case(rel.Match, _check_match),
    ],
)
"""The check of each node, beside that of the kinds of its rows; (node, whether the plan runs in streaming mode)."""
