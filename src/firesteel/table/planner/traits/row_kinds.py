"""The kinds of rows that nodes take and emit: one declaration per node (Flink: `FlinkChangelogModeInferenceProgram`).

A node without a declaration does not import. A plan in which a node gets kinds that it does not take is refused.

Why: `docs/decisions/0040-row-kinds-by-declaration.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from firesteel.columns.batch import Kind
from firesteel.common.cases import case
from firesteel.common.table_errors import TableException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import deduplicates, sorts_all, updates_over
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rel.node_tables import for_each_node

__all__ = [
    "ALL",
    "INSERT_ONLY",
    "Kinds",
    "check_row_kinds",
    "kinds_of",
    "kinds_of_all",
    "normalizes",
    "unsupported_changes",
]

Kinds = frozenset[Kind]
T = TypeVar("T")

INSERT_ONLY: Kinds = frozenset({Kind.INSERT})
ALL: Kinds = frozenset(Kind)
_WITHOUT_DELETES: Kinds = ALL - {Kind.DELETE}


@dataclass(frozen=True, slots=True)
class RowKinds:
    """The declaration of a node.

    Attributes:
        emits: (node, kinds of each input) -> the kinds that it emits.
        takes: (node) -> the kinds that each input may send.
    """

    emits: Callable[[object, list[Kinds]], Kinds]
    takes: Callable[[object], Kinds]


def _forwarded(node: rel.Rel, inputs: list[Kinds]) -> Kinds:
    return frozenset().union(*inputs)


def _inserts(node: rel.Rel, inputs: list[Kinds] | None = None) -> Kinds:
    return INSERT_ONLY


def _all(node: rel.Rel, inputs: list[Kinds] | None = None) -> Kinds:
    return ALL


def _only_inserts(node: rel.Rel) -> Kinds:
    return INSERT_ONLY


def _anything(node: rel.Rel) -> Kinds:
    return ALL


def _of_scan(node: rel.TableScan, inputs: list[Kinds]) -> Kinds:
    return ALL if normalizes(node) else frozenset(node.source.kinds)


def _of_stream(node: rel.StreamScan, inputs: list[Kinds]) -> Kinds:
    return ALL if normalizes(node) else node.kinds


def normalizes(node: rel.TableScan | rel.StreamScan) -> bool:
    """Return whether upserts by a primary key become a full changelog (Flink: `ChangelogNormalize`)."""
    if isinstance(node, rel.TableScan):
        return frozenset(node.source.kinds) not in (INSERT_ONLY, ALL) and bool(node.table.primary_key)
    return node.kinds not in (INSERT_ONLY, ALL) and bool(node.primary_key)


def _of_aggregate(node: rel.Aggregate, inputs: list[Kinds]) -> Kinds:
    # A group disappears only if rows are retracted; a table aggregate replaces its rows by deletes and inserts.
    return _WITHOUT_DELETES if inputs == [INSERT_ONLY] and not node.flat else ALL


def _of_rank(node: rel.Rank, inputs: list[Kinds]) -> Kinds:
    if node.window is not None:
        return INSERT_ONLY
    # The first row by time stays; the last one is replaced, but its key never goes.
    if deduplicates(node) is not None and inputs == [INSERT_ONLY]:
        return _WITHOUT_DELETES if node.order[0].descending else INSERT_ONLY
    return ALL


def _of_sort(node: rel.Sort, inputs: list[Kinds]) -> Kinds:
    return ALL if sorts_all(node) else inputs[0]


def _of_join(node: rel.Join, inputs: list[Kinds]) -> Kinds:
    if node.kind == "INNER":
        return inputs[0] | inputs[1]
    return inputs[0] if node.kind == "SEMI" and inputs[1] == INSERT_ONLY else ALL


def _of_temporal_join(node: rel.TemporalJoin, inputs: list[Kinds]) -> Kinds:
    return inputs[0]


def _of_over(node: rel.Over, inputs: list[Kinds]) -> Kinds:
    return ALL if updates_over(node) else INSERT_ONLY


def _taken_by_over(node: rel.Over) -> Kinds:
    return ALL if updates_over(node) else INSERT_ONLY


def _taken_by_rank(node: rel.Rank) -> Kinds:
    return ALL if node.window is None else INSERT_ONLY


def _taken_by_sort(node: rel.Sort) -> Kinds:
    return ALL if sorts_all(node) else INSERT_ONLY


def _declared(
    kind: type[T], emits: Callable[[T, list[Kinds]], Kinds], takes: Callable[[T], Kinds]
) -> tuple[type, RowKinds]:
    return kind, RowKinds(case(kind, emits)[1], case(kind, takes)[1])


ROW_KINDS: dict[type, RowKinds] = for_each_node(
    "the kinds of rows that it takes and emits",
    [
        _declared(rel.TableScan, _of_scan, _anything),
        _declared(rel.StreamScan, _of_stream, _anything),
        _declared(rel.Values, _inserts, _anything),
        _declared(rel.AssignWatermark, _forwarded, _anything),
        _declared(rel.Project, _forwarded, _anything),
        _declared(rel.Filter, _forwarded, _anything),
        _declared(rel.Aggregate, _of_aggregate, _anything),
        _declared(rel.WindowTableFunction, _forwarded, _anything),
        _declared(rel.WindowAggregate, _inserts, _anything),
        _declared(rel.Join, _of_join, _anything),
        _declared(rel.IntervalJoin, _inserts, _only_inserts),
        _declared(rel.TemporalJoin, _of_temporal_join, _anything),
        _declared(rel.LookupJoin, _forwarded, _anything),
        _declared(rel.WindowJoin, _inserts, _only_inserts),
        _declared(rel.Correlate, _forwarded, _anything),
        _declared(rel.Union, _forwarded, _anything),
        _declared(rel.SetOperation, _all, _anything),
        _declared(rel.Sort, _of_sort, _taken_by_sort),
        _declared(rel.Over, _of_over, _taken_by_over),
        _declared(rel.Rank, _of_rank, _taken_by_rank),
        _declared(rel.Expand, _forwarded, _anything),
        _declared(rel.Match, _inserts, _only_inserts),
    ],
)
"""The declaration of each node."""


def kinds_of(node: rel.Rel, is_streaming: bool) -> Kinds:
    """Return the kinds of rows that a node emits; in BATCH mode every result is final."""
    return _kinds(node, {}) if is_streaming else INSERT_ONLY


def kinds_of_all(nodes: Iterable[rel.Rel]) -> dict[rel.Rel, Kinds]:
    """Return the kinds of rows that nodes of plans in STREAMING mode, and all nodes below them, emit."""
    known: dict[rel.Rel, Kinds] = {}
    for node in nodes:
        _kinds(node, known)
    return known


def _kinds(node: rel.Rel, known: dict[rel.Rel, Kinds]) -> Kinds:
    if node not in known:
        known[node] = ROW_KINDS[type(node)].emits(node, [_kinds(child, known) for child in node.inputs])
    return known[node]


def check_row_kinds(nodes: Iterable[rel.Rel]) -> None:
    """Check that the nodes of plans of STREAMING mode take the kinds of rows that they get.

    Raises:
        TableException: one does not.
    """
    known: dict[rel.Rel, Kinds] = {}
    for node in nodes:
        takes = ROW_KINDS[type(node)].takes(node)
        for child in node.inputs:
            if refused := _kinds(child, known) - takes:
                raise TableException(unsupported_changes(describe(node).split("(")[0], refused, child))


def unsupported_changes(consumer: str, refused: Kinds, node: rel.Rel) -> str:
    """Return Flink's sentence about kinds of rows that a consumer does not take from a node."""
    updates = refused & {Kind.UPDATE_BEFORE, Kind.UPDATE_AFTER}
    what = " and ".join(["update"] * bool(updates) + ["delete"] * (Kind.DELETE in refused))
    return f"{consumer} doesn't support consuming {what} changes which is produced by node {describe(_producer(node))}"


def _producer(node: rel.Rel) -> rel.Rel:
    """Return the node that makes a query change its rows."""
    while isinstance(node, rel.Project | rel.Filter):
        node = node.input
    return node
