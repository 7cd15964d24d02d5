"""Which nodes emit no `-U`, the row before an update (Flink: `UpdateKind` in `FlinkChangelogModeInferenceProgram`).

A node that makes updates itself, such as an aggregate, need not say which row it replaces if nothing that reads it
asks: not a sink that replaces rows by key, nor a temporal join for its versions. Unlike in Flink, other joins always
ask.

Why: `docs/decisions/0066-updates-without-the-row-before.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from firesteel.columns.batch import Kind
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import sorts_all
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of, normalizes


class Updates(Enum):
    """Where the updates of a node come from."""

    OWN = "it makes them, so it can leave out -U; it needs those of its inputs"
    FORWARDED = "they are those of its inputs, of which it needs what its readers need"
    KEPT = "it needs and emits -U"


def without_update_before(queries: Iterable[tuple[rel.Rel, bool]]) -> frozenset[rel.Rel]:
    """Return the nodes of the plans of a job in STREAMING mode that emit updates, but no `-U`.

    Args:
        queries: Each plan, and whether what reads it needs `-U`.
    """
    known = dict.fromkeys(plan for plan, _ in queries)
    nodes = inputs_first(known)
    needed = {plan for plan, is_needed in queries if is_needed}
    for node in reversed(nodes):
        if node in needed or UPDATES[type(node)](node) is not Updates.FORWARDED:
            needed.update(_asked(node))
    found: set[rel.Rel] = set()
    for node in nodes:
        if node not in needed and Kind.UPDATE_BEFORE in kinds_of(node, True) and _leaves_out(node, found):
            found.add(node)
    return frozenset(found)


def _leaves_out(node: rel.Rel, found: set[rel.Rel]) -> bool:
    updates = UPDATES[type(node)](node)
    if updates is Updates.FORWARDED:
        return all(child in found or Kind.UPDATE_BEFORE not in kinds_of(child, True) for child in _asked(node))
    return updates is Updates.OWN


def _asked(node: rel.Rel) -> tuple[rel.Rel, ...]:
    """Return the inputs whose `-U` it may need: not the versions of a temporal join, each of which ends by the next."""
    return node.inputs[:1] if isinstance(node, rel.TemporalJoin) else node.inputs


def _own(node: rel.Rel) -> Updates:
    return Updates.OWN


def _forwarded(node: rel.Rel) -> Updates:
    return Updates.FORWARDED


def _kept(node: rel.Rel) -> Updates:
    return Updates.KEPT


def _scan(node: rel.TableScan | rel.StreamScan) -> Updates:
    return Updates.OWN if normalizes(node) else Updates.KEPT


def _correlate(node: rel.Correlate) -> Updates:
    return Updates.FORWARDED if node.condition is None else Updates.KEPT


def _sort(node: rel.Sort) -> Updates:
    return Updates.OWN if sorts_all(node) else Updates.KEPT


def _join(node: rel.Join) -> Updates:
    # Of rows that only come, an outer join emits no updates, but deletes and inserts.
    is_of_inserts = all(kinds_of(child, True) == INSERT_ONLY for child in node.inputs)
    return Updates.OWN if is_of_inserts else Updates.KEPT


UPDATES: dict[type, Callable[[object], Updates]] = for_each_node(
    "where its updates come from",
    [
        case(rel.TableScan, _scan),
        case(rel.StreamScan, _scan),
        case(rel.Values, _kept),
        case(rel.AssignWatermark, _forwarded),
        case(rel.Project, _forwarded),
        case(rel.Filter, _kept),  # It may let the row before an update pass, and not the one after it.
        case(rel.Aggregate, _own),
        case(rel.WindowTableFunction, _forwarded),
        case(rel.WindowAggregate, _kept),
        case(rel.Join, _join),
        case(rel.IntervalJoin, _kept),
        case(rel.TemporalJoin, _forwarded),
        case(rel.LookupJoin, _forwarded),
        case(rel.WindowJoin, _kept),
        case(rel.Correlate, _correlate),
        case(rel.Union, _forwarded),
        case(rel.SetOperation, _kept),
        case(rel.Sort, _sort),
        case(rel.Over, _kept),
        case(rel.Rank, _own),
        case(rel.Expand, _forwarded),
        case(rel.Match, _kept),
    ],
)
"""Where the updates of each node come from."""
