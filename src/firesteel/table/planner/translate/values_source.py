"""Streams of rows that a program holds in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import to_arrow
from firesteel.functions.operator_descriptors import CollectionSourceOperator

ROWS_PER_BATCH = 10_000


def values_stream(environment: Any, node: Any, name: str) -> Any:
    """Return the stream of constant rows."""
    return batches_stream(environment, batches(node.rows, node.row_type), name)


def batches(rows: Sequence[Sequence[Any]], row_type: Any) -> list[ColumnBatch]:
    """Return rows of Python values as column batches of bounded size."""
    types = row_type.field_types()
    found = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        part = rows[start : start + ROWS_PER_BATCH]
        columns = tuple(to_arrow([row[i] for row in part], kind) for i, kind in enumerate(types))
        found.append(ColumnBatch(columns, len(part)))
    return found


def batches_stream(environment: Any, found: Sequence[ColumnBatch], name: str) -> Any:
    """Return the stream of column batches that a program holds."""
    stream = environment.from_collection([0])
    transformation = stream._transformation
    transformation.operator = CollectionSourceOperator(tuple(found))
    transformation.name = name
    return stream
