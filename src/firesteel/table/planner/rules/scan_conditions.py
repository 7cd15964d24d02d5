"""Conditions for sources that need not read all rows. Flink: `PushFilterIntoTableSourceScanRule`."""

from __future__ import annotations

from dataclasses import replace

from firesteel.columns.rex import Rex
from firesteel.connectors.table_connector import FilteringSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts, input_refs, is_repeatable, remap

__all__ = ["push_condition_into_scan"]


def push_condition_into_scan(node: Rel, is_streaming: bool) -> Rel:
    """Tell a scan which rows a filter needs; the filter itself stays, as a source may give others, too."""
    if not (isinstance(node, rel.Filter) and isinstance(node.input, rel.TableScan)):
        return node
    scan = node.input
    if scan.condition is not None or not isinstance(scan.source, FilteringSource):
        return node
    parts = [remap(part, scan.columns.__getitem__) for part in conjuncts(node.condition) if _reads_stored(part, scan)]
    condition = conjunction([part for part in dict.fromkeys(parts) if scan.source.uses_condition(part)])
    return node if condition is None else replace(node, input=replace(scan, condition=condition))


def _reads_stored(part: Rex, scan: rel.TableScan) -> bool:
    columns = input_refs(part)
    return is_repeatable(part) and bool(columns) and max(columns) < len(scan.columns)
