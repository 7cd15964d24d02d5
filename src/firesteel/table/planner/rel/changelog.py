"""Properties of nodes that depend on time attributes and ranges of ranks."""

from __future__ import annotations

from typing import TypeGuard

from firesteel.columns.column_types import LocalZonedTimestampType, TimestampType
from firesteel.table.planner.rel import rel


def sorts_all(node: rel.Sort) -> bool:
    """Return whether a Sort is a global Top-N, which may retract rows."""
    return node.fetch is not None or node.offset > 0


def is_time(kind: object) -> TypeGuard[TimestampType | LocalZonedTimestampType]:
    """Return whether a type is that of a time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") in ("ROWTIME", "PROCTIME")


def is_rowtime(kind: object) -> TypeGuard[TimestampType | LocalZonedTimestampType]:
    """Return whether a type is that of an event-time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") == "ROWTIME"


def is_proctime(kind: object) -> TypeGuard[TimestampType | LocalZonedTimestampType]:
    """Return whether a type is that of a processing-time attribute."""
    return getattr(getattr(kind, "kind", None), "name", "") == "PROCTIME"


def follows_arrival(node: rel.Sort) -> bool:
    """Return whether a sort is by processing time alone, so that rows come in order as they are."""
    return len(node.collations) == 1 and is_proctime(node.row_type.fields[node.collations[0].index].data_type)


def updates_over(node: rel.Over) -> bool:
    """Return whether an Over is ordered by columns that are no time, so that rows before others may come later."""
    kinds = [node.input.row_type.fields[group.order[0].index].data_type for group in node.groups if group.order]
    return len(kinds) == len(node.groups) and not any(map(is_time, kinds))


def deduplicates(node: rel.Rank) -> str | None:
    """Return ROWTIME or PROCTIME if a Rank keeps the first or last row by time, or None for a Top-N."""
    if node.end != 1 or node.start != 1 or node.function != "ROW_NUMBER" or len(node.order) != 1:
        return None
    kind = node.input.row_type.fields[node.order[0].index].data_type
    if not is_time(kind) or node.window is not None:
        return None
    return "ROWTIME" if is_rowtime(kind) else "PROCTIME"
