"""Partitions that a filter leaves. Flink: `PushPartitionIntoTableSourceScanRule`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import CharType, DataType, VarCharType
from firesteel.columns.evaluate import compile_filter
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.columns.values import to_arrow
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts, input_refs, remap, walk

_SAFE = frozenset({"=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IN", "NOT IN", "IS NULL", "IS NOT NULL"})
"""Functions that never fail, so that evaluating them early changes no result."""


def push_partitions_into_scan(node: Rel, is_streaming: bool) -> Rel:
    """Tell a scan which partitions a filter leaves; the filter itself stays."""
    if not (isinstance(node, rel.Filter) and isinstance(node.input, rel.TableScan)):
        return node
    scan = node.input
    keys = scan.table.partition_keys
    if not keys or scan.partitions is not None:
        return node
    names = scan.row_type.names
    parts = [part for part in conjuncts(node.condition) if _is_prunable(part, names, keys)]
    wanted = conjunction(parts)
    if wanted is None:
        return node
    condition = remap(wanted, lambda index: keys.index(names[index]))
    return replace(node, input=replace(scan, partitions=condition))


def _is_prunable(part: Rex, names: list[str], keys: tuple[str, ...]) -> bool:
    columns = input_refs(part)
    return all(map(_is_safe, walk(part))) and bool(columns) and all(names[index] in keys for index in columns)


def _is_safe(rex: object) -> bool:
    if not isinstance(rex, Call):
        return isinstance(rex, InputRef | Literal)
    # Among texts, as others may fail: 'x' is no number, and perhaps no row of that partition is ever read.
    if rex.function == "CAST":
        return all(isinstance(kind, CharType | VarCharType) for kind in (rex.type, rex.operands[0].type))
    return rex.function in _SAFE


def partition_predicate(scan: rel.TableScan) -> PartitionPredicate | None:
    """Return which partitions a scan reads, None: all."""
    if scan.partitions is None:
        return None
    types = {column.name: column.type for column in scan.table.physical_columns}
    keys = tuple((key, types[key]) for key in scan.table.partition_keys)
    return PartitionPredicate(scan.partitions, keys)


@dataclass(frozen=True)
class PartitionPredicate:
    """A condition over the values of partition columns.

    Attributes:
        condition: Refers to the partition columns by their places in `keys`.
        keys: Names and types of the partition columns.
    """

    condition: Rex
    keys: tuple[tuple[str, DataType], ...]

    def __call__(self, values: dict[str, object]) -> bool:
        """Return whether the partition with these values can have rows of the result."""
        columns = tuple(to_arrow([values[name]], kind) for name, kind in self.keys)
        compiled = compile_filter(self.condition, EvaluationContext())
        return bool(compiled(ColumnBatch(columns, 1))[0])
