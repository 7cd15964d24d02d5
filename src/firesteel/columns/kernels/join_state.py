"""Conversion of the state of a join that is restored with another algorithm than the one that wrote it.

A savepoint may be restored with or without a time to live, and with state in memory or on disk. Earlier releases wrote
inner joins of inputs without updates as logs of rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import groups_of, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.row_joins import sides_of
from firesteel.columns.kernels.row_log import RowLog
from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import Row, batch_of, keys_of, rows_of
from firesteel.columns.values import arrow_type

ROWS = ("left", "right")
CHANGES = ("left changes", "right changes")
_FORMER_LOGS = ("left log", "right log")


def to_changes(plan: JoinPlan, context: KernelContext) -> None:
    """Move the rows that `RegularJoin` or an earlier release stored to the logs of `UpdatingJoin`."""
    for index, types in enumerate((plan.left_types, plan.right_types)):
        keys, table, former = plan.keys[index], context.table(ROWS[index]), RowLog(context.table(_FORMER_LOGS[index]))
        kept = [entry[0] for entries in table.data.values() for entry in entries]
        found = former.rows()
        if kept:
            found.append(batch_of(kept, [arrow_type(kind) for kind in types]))
        log = RowLog(context.table(CHANGES[index]))
        for rows in found:
            signed = rows.with_columns([*rows.columns, pa.array(np.ones(rows.length, np.int8))])
            log.append(signed, groups_of(row_hashes(rows, keys), context.max_parallelism))
        former.remove()
        for key in list(table.data):
            table.remove(key)


def to_rows(plan: JoinPlan, context: KernelContext) -> bool:
    """Move the rows that `UpdatingJoin` or an earlier release stored to the tables of `RegularJoin`.

    Returns:
        Whether there were any. Their matches have not been counted.
    """
    has_moved = False
    for index, side in enumerate(sides_of(plan, context)):
        types = (plan.left_types, plan.right_types)[index]
        logs = [RowLog(context.table(names[index])) for names in (CHANGES, _FORMER_LOGS)]
        kept = [row for log in logs for row in _left(log.rows(), len(types))]
        rows = batch_of(kept, [arrow_type(kind) for kind in types])
        for key, row in zip(keys_of(rows, plan.keys[index], context.max_parallelism), kept, strict=True):
            side.keep(key, [*side.rows(key), side.entry(row, 0)])
        has_moved |= bool(kept)
        for log in logs:
            log.remove()
    return has_moved


def _left(parts: list[ColumnBatch], width: int) -> Iterator[Row]:
    """Yield the rows that are left of those that came (1) and went (-1); without that column all came.

    Equal rows may differ, as 0.0 and -0.0 do; the first of them went, as in `UpdatingJoin`.
    """
    came: defaultdict[object, list[Row]] = defaultdict(list)
    went: Counter[object] = Counter()
    for part in parts:
        for row in rows_of(part):
            key = freeze(row[:width])
            if len(row) > width and row[width] < 0:
                went[key] += 1
            else:
                came[key].append(row[:width])
    for key, rows in came.items():
        yield from rows[went[key] :]
