"""Which nodes emit no `-U`, the row before an update (Flink: `UpdateKind` in `FlinkChangelogModeInferenceProgram`).

An aggregate, or another node that makes updates itself, leaves out `-U` if no consumer needs it. Sinks that replace
rows by key do not need it, nor does a join of rows that replace each other by a key which the equations are part of. A
temporal join does not need that of its versions.

Why: `docs/decisions/0066-updates-without-the-row-before.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from firesteel.columns.batch import Kind
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import sorts_all
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, Kinds, kinds_of_all, normalizes
from firesteel.table.planner.traits.upsert_keys import joined_key


class Updates(Enum):
    """Where the updates of a node come from."""

    OWN = "it makes them, so it can leave out -U; it needs those of its inputs"
    FORWARDED = "they are those of its inputs, of which it needs what its readers need"
    KEPT = "it needs and emits -U"


def without_update_before(queries: Sequence[tuple[rel.Rel, bool]]) -> frozenset[rel.Rel]:
    """Return the nodes of the plans of a job in STREAMING mode that emit updates, but no `-U`.

    Args:
        queries: Each plan, and whether what reads it needs `-U`.
    """
    nodes = inputs_first(plan for plan, _ in queries)
    kinds = kinds_of_all(nodes)
    updates = {node: UPDATES[type(node)](node, [kinds[child] for child in node.inputs]) for node in nodes}
    needed = {plan for plan, is_needed in queries if is_needed}
    for node in reversed(nodes):
        if node in needed or updates[node] is not Updates.FORWARDED:
            needed.update(_asked(node))
    found: set[rel.Rel] = set()

    def leaves_out(node: rel.Rel) -> bool:
        if updates[node] is Updates.FORWARDED:
            return all(child in found or Kind.UPDATE_BEFORE not in kinds[child] for child in _asked(node))
        return updates[node] is Updates.OWN

    for node in nodes:
        if node not in needed and Kind.UPDATE_BEFORE in kinds[node] and leaves_out(node):
            found.add(node)
    return frozenset(found)


def kinds_without(queries: Sequence[tuple[rel.Rel, bool]]) -> dict[rel.Rel, Kinds]:
    """Return the kinds of rows that each node of such plans emits."""
    left_out = without_update_before(queries)
    kinds = kinds_of_all(plan for plan, _ in queries)
    return {node: found - {Kind.UPDATE_BEFORE} if node in left_out else found for node, found in kinds.items()}


def _asked(node: rel.Rel) -> tuple[rel.Rel, ...]:
    """Return the inputs whose `-U` a node may need; a temporal join drops that of a version."""
    return node.inputs[:1] if isinstance(node, rel.TemporalJoin) else node.inputs


def _own(node: rel.Rel, inputs: list[Kinds]) -> Updates:
    return Updates.OWN


def _forwarded(node: rel.Rel, inputs: list[Kinds]) -> Updates:
    return Updates.FORWARDED


def _kept(node: rel.Rel, inputs: list[Kinds]) -> Updates:
    return Updates.KEPT


def _scan(node: rel.TableScan | rel.StreamScan, inputs: list[Kinds]) -> Updates:
    return Updates.OWN if normalizes(node) else Updates.KEPT


def _correlate(node: rel.Correlate, inputs: list[Kinds]) -> Updates:
    return Updates.FORWARDED if node.condition is None else Updates.KEPT


def _sort(node: rel.Sort, inputs: list[Kinds]) -> Updates:
    return Updates.OWN if sorts_all(node) else Updates.KEPT


def _join(node: rel.Join, inputs: list[Kinds]) -> Updates:
    if inputs == [INSERT_ONLY, INSERT_ONLY]:  # An outer join then emits no updates, but deletes and inserts.
        return Updates.OWN
    if node.condition is not None or node.null_aware:  # It may hold for the row before, and not for the one after it.
        return Updates.KEPT
    replace = (kinds == INSERT_ONLY or joined_key(node, index) is not None for index, kinds in enumerate(inputs))
    return Updates.FORWARDED if all(replace) else Updates.KEPT


UPDATES: dict[type, Callable[[object, list[Kinds]], Updates]] = for_each_node(
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
