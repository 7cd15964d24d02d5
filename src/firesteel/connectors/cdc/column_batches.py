"""Column batches of captured rows, with their metadata columns."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.values import to_arrow
from firesteel.connectors.cdc.settings import CaptureSettings

_NAMES = ("+I", "-U", "+U", "-D")

METADATA: Mapping[str, t.DataType] = {
    "table_name": t.VarCharType(2**31 - 1),
    "schema_name": t.VarCharType(2**31 - 1),
    "database_name": t.VarCharType(2**31 - 1),
    "op_ts": t.LocalZonedTimestampType(3),
    "row_kind": t.VarCharType(2**31 - 1),
}
"""Metadata columns by key; `schema_name` is PostgreSQL's."""


def captured_batch(
    settings: CaptureSettings,
    columns: Sequence[pa.Array],
    length: int,
    names: Mapping[str, str],
    changes: tuple[Sequence[Kind], Sequence[int]] | None = None,
) -> ColumnBatch:
    """Return a batch of rows.

    Args:
        settings: The settings of the source.
        columns: The columns without those of metadata.
        length: Number of rows.
        names: The names that are metadata of all rows, by key.
        changes: Kinds and times (ms) of the rows; None for rows of a snapshot, which are insertions at 0.
    """
    kinds, times = changes or ([Kind.INSERT] * length, [0] * length)
    arrays = list(columns)
    for key in settings.metadata:
        if key == "op_ts":
            values: list[object] = [datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC) for ms in times]
        else:
            values = [_NAMES[kind] for kind in kinds] if key == "row_kind" else [names[key]] * length
        arrays.append(to_arrow(values, METADATA[key]))
    stored = None if changes is None or settings.is_append_only else np.array(kinds, np.int8)
    return ColumnBatch(tuple(arrays), length, stored)
