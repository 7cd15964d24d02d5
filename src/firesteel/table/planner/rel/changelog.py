"""Inference of row kinds and unique keys of a query (Flink: `FlinkChangelogModeInferenceProgram`)."""

from __future__ import annotations

from typing import Any

from firesteel.columns.batch import Kind
from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel

INSERT_ONLY = frozenset({Kind.INSERT})
ALL = frozenset(Kind)


def kinds_of(node: Any, is_streaming: bool) -> frozenset[Kind]:
    """Return the kinds of rows that a node emits; in BATCH mode every result is final."""
    if not is_streaming:
        return INSERT_ONLY
    inputs = [kinds_of(child, is_streaming) for child in node.inputs]
    if isinstance(node, rel.TableScan):
        return frozenset(node.source.kinds)
    if isinstance(node, rel.StreamScan):
        return node.kinds
    if isinstance(node, rel.Aggregate | rel.SetOperation):
        return ALL
    if isinstance(node, rel.Rank):
        return INSERT_ONLY if is_append_only_rank(node, inputs[0]) else ALL
    if isinstance(node, rel.Sort):
        return ALL if sorts_all(node) else inputs[0]
    if isinstance(node, rel.Join):
        outer = node.kind in ("LEFT", "RIGHT", "FULL", "ANTI")
        return ALL if outer or any(i != INSERT_ONLY for i in inputs) else INSERT_ONLY
    if isinstance(node, rel.TemporalJoin):
        return inputs[0]
    if isinstance(node, rel.WindowAggregate | rel.WindowJoin | rel.IntervalJoin | rel.Over | rel.Match):
        return INSERT_ONLY
    found: frozenset[Kind] = frozenset()
    for kinds in inputs:
        found |= kinds
    return found or INSERT_ONLY


def sorts_all(node: rel.Sort) -> bool:
    """Return whether a Sort is a global Top-N, which may retract rows."""
    return node.fetch is not None or node.offset > 0


def is_time(kind: object) -> bool:
    """Return whether a type is that of a time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") in ("ROWTIME", "PROCTIME")


def is_rowtime(kind: object) -> bool:
    """Return whether a type is that of an event-time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") == "ROWTIME"


def is_proctime(kind: object) -> bool:
    """Return whether a type is that of a processing-time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") == "PROCTIME"


def deduplicates(node: rel.Rank) -> str | None:
    """Return ROWTIME or PROCTIME if a Rank keeps the first or last row by time, or None for a Top-N."""
    if node.end != 1 or node.start != 1 or node.function != "ROW_NUMBER" or len(node.order) != 1:
        return None
    kind = node.input.row_type.fields[node.order[0].index].data_type
    if not is_time(kind) or node.window is not None:
        return None
    return "ROWTIME" if is_rowtime(kind) else "PROCTIME"


def is_append_only_rank(node: rel.Rank, input_kinds: frozenset[Kind]) -> bool:
    """Return whether a Rank never retracts a row that it has emitted."""
    if node.window is not None:
        return True
    first = deduplicates(node) is not None and not node.order[0].descending
    return first and input_kinds == INSERT_ONLY


def upsert_key(node: object) -> tuple[int, ...] | None:
    """Return the columns by which later rows of a node replace earlier ones, or None if unknown."""
    if isinstance(node, rel.Project):
        key = upsert_key(node.input)
        if key is None:
            return None
        places = {e.index: i for i, e in reversed(list(enumerate(node.expressions))) if isinstance(e, InputRef)}
        return tuple(places[k] for k in key) if all(k in places for k in key) else None
    if isinstance(node, rel.Filter | rel.AssignWatermark):
        return upsert_key(node.input)
    if isinstance(node, rel.Aggregate):
        return None if node.flat else tuple(range(len(node.keys)))
    if isinstance(node, rel.Rank):
        if node.end == 1:
            return node.partition
        if node.outputs_rank:
            return (*node.partition, len(node.row_type.fields) - 1)
        return upsert_key(node.input)
    if isinstance(node, rel.TableScan):
        return _scan_key(node, node.table.primary_key)
    if isinstance(node, rel.StreamScan):
        return _scan_key(node, node.primary_key)
    if isinstance(node, rel.Join) and node.kind in ("SEMI", "ANTI"):
        return upsert_key(node.left)
    return None


def _scan_key(node: Any, names: tuple[str, ...]) -> tuple[int, ...] | None:
    present = node.row_type.names
    return tuple(present.index(name) for name in names) if names and all(n in present for n in names) else None
