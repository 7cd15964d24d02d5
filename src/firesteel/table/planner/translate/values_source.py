"""Streams of rows that a program holds in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import RowType
from firesteel.columns.values import to_arrow
from firesteel.connectors.table_connector import Batches
from firesteel.table.planner.rel import rel

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

ROWS_PER_BATCH = 10_000


def values_stream(environment: StreamExecutionEnvironment, node: rel.Values, name: str) -> Batches:
    """Return the stream of constant rows."""
    return batches_stream(environment, batches(node.rows, node.row_type), name)


def batches(rows: Sequence[Sequence[object]], row_type: RowType) -> list[ColumnBatch]:
    """Return rows of Python values as column batches of bounded size."""
    types = row_type.field_types()
    found = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        part = rows[start : start + ROWS_PER_BATCH]
        columns = tuple(to_arrow([row[i] for row in part], kind) for i, kind in enumerate(types))
        found.append(ColumnBatch(columns, len(part)))
    return found


def batches_stream(environment: StreamExecutionEnvironment, found: Sequence[ColumnBatch], name: str) -> Batches:
    """Return the stream of column batches that a program holds."""
    return environment.from_collection(found).name(name)
