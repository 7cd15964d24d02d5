"""Conversion of the state of an inner join that is restored with another algorithm than the one that wrote it.

A savepoint may be restored with or without a time to live, with state in memory or on disk, or after a change of the
query that lets an input have updates.
"""

from __future__ import annotations

from firesteel.columns.hashing import groups_of, row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.row_joins import sides_of
from firesteel.columns.kernels.row_log import RowLog
from firesteel.columns.rows import batch_of, keys_of, rows_of
from firesteel.columns.values import arrow_type

SIDES = ("left", "right")
LOGS = ("left log", "right log")


def rows_to_logs(plan: JoinPlan, context: KernelContext) -> None:
    """Move the rows that `RegularJoin` stored to the logs of `InnerJoin`."""
    for index, types in enumerate((plan.left_types, plan.right_types)):
        table = context.table(SIDES[index])
        kept = [entry[0] for entries in table.data.values() for entry in entries]
        if not kept:
            continue
        rows = batch_of(kept, [arrow_type(kind) for kind in types])
        groups = groups_of(row_hashes(rows, plan.keys[index]), context.max_parallelism)
        RowLog(context.table(LOGS[index])).append(rows, groups)
        for key in list(table.data):
            table.remove(key)


def logs_to_rows(plan: JoinPlan, context: KernelContext) -> None:
    """Move the rows that `InnerJoin` stored to the tables of `RegularJoin`."""
    for index, side in enumerate(sides_of(plan, context)):
        log, keys = RowLog(context.table(LOGS[index])), plan.keys[index]
        for rows in log.rows():
            for key, row in zip(keys_of(rows, keys, context.max_parallelism), rows_of(rows), strict=True):
                side.keep(key, [*side.rows(key), side.entry(row, 0)])
        log.remove()
