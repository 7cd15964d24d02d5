"""The last row of each key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.row_keys import key_column


def last_by_key(rows: ColumnBatch, keys: Sequence[int]) -> ColumnBatch:
    """Return the last row of each key.

    Args:
        rows: Changes in their order.
        keys: The positions of the key columns.
    """
    names = [f"key{index}" for index in range(len(keys))]
    columns = [*(key_column(rows.columns[key]) for key in keys), pa.array(np.arange(rows.length))]
    groups = pa.table(columns, names=[*names, "row"]).group_by(names).aggregate([("row", "max")])
    # Groups come in any order; rows of a changelog must keep theirs.
    return rows.take(np.sort(groups["row_max"].to_numpy()))
