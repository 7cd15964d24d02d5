"""Watermarks that decide whether a row is late.

A window operator drops a row that arrives after the watermark has passed the window's end. So batches are split at late
rows. That is expensive for a changelog, as the row before an update has the old time. Batches stay whole if no operator
of the plan drops late rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from firesteel.columns.rex import Call, Rex
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import deduplicates, sorts_all
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.rex_tools import walk
from firesteel.table.planner.rel.traversal import inputs_first


def decide_lateness(plans: Iterable[rel.Rel]) -> frozenset[rel.Rel]:
    """Return the nodes whose watermarks decide which rows are late for some operator of the plans."""
    found: set[rel.Rel] = set()
    for node in reversed(inputs_first(plans)):
        if node in found or ASKS_FOR_WATERMARKS[type(node)](node):
            # The versions of a temporal join are kept whenever they come, and no row that it emits has their times.
            found.update(node.inputs[:1] if isinstance(node, rel.TemporalJoin) else node.inputs)
    return frozenset(found)


def _never(node: object) -> bool:
    return False


def _always(node: object) -> bool:
    return True


def _reads_watermark(expressions: Sequence[Rex | None]) -> bool:
    parts = (part for rex in expressions if rex is not None for part in walk(rex))
    return any(isinstance(part, Call) and part.function == "CURRENT_WATERMARK" for part in parts)


def _project(node: rel.Project) -> bool:
    return _reads_watermark(node.expressions)


def _filter(node: rel.Filter) -> bool:
    return _reads_watermark([node.condition])


def _correlate(node: rel.Correlate) -> bool:
    return _reads_watermark([*node.operands, node.condition])


def _join(node: rel.Join | rel.LookupJoin) -> bool:
    return _reads_watermark([node.condition])


def _window_table(node: rel.WindowTableFunction) -> bool:
    # Other windows are columns that a row gets by itself; a session ends by the watermark.
    return node.window.kind == "SESSION"


def _sort(node: rel.Sort) -> bool:
    return not sorts_all(node)


def _rank(node: rel.Rank) -> bool:
    return node.window is not None or deduplicates(node) == "ROWTIME"


ASKS_FOR_WATERMARKS: dict[type, Callable[[object], bool]] = for_each_node(
    "whether it asks which rows are late",
    [
        case(rel.TableScan, _never),
        case(rel.StreamScan, _never),
        case(rel.Values, _never),
        case(rel.AssignWatermark, _never),
        case(rel.Project, _project),
        case(rel.Filter, _filter),
        case(rel.Aggregate, _never),
        case(rel.WindowTableFunction, _window_table),
        case(rel.WindowAggregate, _always),
        case(rel.Join, _join),
        case(rel.IntervalJoin, _always),
        case(rel.TemporalJoin, _always),
        case(rel.LookupJoin, _join),
        case(rel.WindowJoin, _always),
        case(rel.Correlate, _correlate),
        case(rel.Union, _never),
        case(rel.SetOperation, _never),
        case(rel.Sort, _sort),
        case(rel.Over, _always),
        case(rel.Rank, _rank),
        case(rel.Expand, _never),
        case(rel.Match, _always),
    ],
)
"""Whether each node treats a row differently after the watermark has passed the row's time."""
