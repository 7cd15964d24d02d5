"""How many rows a node has, by a guess. Calcite: `RelMdRowCount`, `RelMdUtil.guessSelectivity`."""

from __future__ import annotations

from math import prod

from firesteel.columns.column_types import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    NullType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from firesteel.columns.rex import Call, Rex
from firesteel.connectors.table_connector import StatisticsSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjuncts, disjuncts

__all__ = ["UNKNOWN_ROWS", "Estimates", "selectivity", "shared_keys"]

UNKNOWN_ROWS = 1e8
"""The rows of a table without statistics, as in Flink."""
_SELECTIVITY = {"=": 0.15, "IN": 0.15, "IS NOT NULL": 0.9, "<": 0.5, "<=": 0.5, ">": 0.5, ">=": 0.5}
_OTHER = 0.25
_OF_KEYS = 0.1
"""The share of groups in the rows that are grouped."""
_LONG = 100
_SIZES: dict[type[DataType], int] = {
    **dict.fromkeys((NullType, BooleanType, TinyIntType), 1),
    SmallIntType: 2,
    **dict.fromkeys((IntType, FloatType, DateType, TimeType), 4),
    **dict.fromkeys((BigIntType, DoubleType, TimestampType, LocalZonedTimestampType), 8),
    DecimalType: 12,
}
"""Bytes of a value. A text or binary value has two per character that it may have, others (nested ones) `_LONG`."""


def selectivity(condition: Rex) -> float:
    """Return the share of rows that satisfy a condition."""
    parts, choices = conjuncts(condition), disjuncts(condition)
    if len(parts) != 1:
        return prod(map(selectivity, parts))
    if len(choices) > 1:
        return min(1.0, sum(map(selectivity, choices)))
    return _SELECTIVITY.get(condition.function, _OTHER) if isinstance(condition, Call) else _OTHER


class Estimates:
    """Estimated numbers of rows. That of a node is found once, and so are the statistics of its tables."""

    def __init__(self) -> None:
        self._known: dict[Rel, float] = {}

    def row_count(self, node: Rel) -> float:
        """Return the estimated number of rows of a node, at least 1."""
        if node not in self._known:
            self._known[node] = max(1.0, self._rows(node))
        return self._known[node]

    def size_in_bytes(self, node: Rel) -> float:
        """Return the estimated size of the rows of a node. Flink: `FlinkRelMdSize`."""
        return self.row_count(node) * sum(map(_bytes, node.row_type.field_types()))

    def all_rows(self, node: Rel) -> float:
        """Return the estimated number of rows of the largest table of a node, without the conditions on it."""
        match node:
            case rel.Values() | rel.TableScan() | rel.StreamScan() | rel.Aggregate():
                return self.row_count(node)
            case rel.Join():
                return max(map(self.all_rows, node.inputs))
            case rel.Union():
                return sum(map(self.all_rows, node.inputs))
        return self.all_rows(node.inputs[0])

    def _rows(self, node: Rel) -> float:
        match node:
            case rel.Values():
                return len(node.rows)
            case rel.TableScan():
                return _of_table(node)
            case rel.StreamScan():
                return UNKNOWN_ROWS
            case rel.Filter():
                return self.row_count(node.input) * selectivity(node.condition)
            case rel.Aggregate():
                return self.row_count(node.input) * _OF_KEYS if node.keys else 1
            case rel.Sort() if node.fetch is not None:
                return min(self.row_count(node.input), node.fetch)
            case rel.Join():
                return self._of_join(node)
            case rel.Union():
                return sum(map(self.row_count, node.inputs))
        return self.row_count(node.inputs[0])

    def _of_join(self, join: rel.Join) -> float:
        left, right = map(self.row_count, join.inputs)
        if join.kind in ("SEMI", "ANTI"):
            return left * 0.5
        rows = left * right
        if join.left_keys:
            rows /= shared_keys(*map(self.all_rows, join.inputs))
        rows *= 1 if join.condition is None else selectivity(join.condition)
        kept = {"LEFT": left, "RIGHT": right, "FULL": left + right}.get(join.kind, 0)
        return max(rows, kept)


def _of_table(scan: rel.TableScan) -> float:
    found = scan.source.row_count() if isinstance(scan.source, StatisticsSource) else None
    return UNKNOWN_ROWS if found is None else found


def _bytes(kind: DataType) -> int:
    length = getattr(kind, "length", None)
    # Most texts of a column are much shorter than it allows.
    return _SIZES.get(type(kind), _LONG if length is None else min(2 * length, _LONG))


def shared_keys(left: float, right: float) -> float:
    """Return how many keys two inputs share, by all their rows: the smaller one has the key that the other refers to.

    So a condition on the smaller input leaves as large a share of the other one's rows.
    """
    return min(left, right)
