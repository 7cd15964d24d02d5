"""The state of joins in the forms of former releases, which joined rows one by one if they were on disk or expired."""

from __future__ import annotations

from itertools import chain

import numpy as np

from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.rows.live_rows import LiveRows
from firesteel.columns.kernels.rows.row_log import RowLog
from firesteel.columns.rows import batch_of
from firesteel.columns.values import arrow_type

CHANGES = ("left changes", "right changes")
_ROWS = ("left", "right")
"""Tables of `[row, number of matches, time of the last write (ms)]` by key."""
_LOGS = ("left log", "right log")


def take_former(plan: JoinPlan, context: KernelContext, sides: tuple[LiveRows, LiveRows]) -> bool:
    """Move rows in former forms to the sides of a join.

    Returns:
        Whether all rows that were moved have the numbers of their matches.
    """
    have_matches = True
    for index, (side, types) in enumerate(zip(sides, (plan.left_types, plan.right_types), strict=True)):
        log = RowLog(context.table(_LOGS[index]))  # of inner joins of inputs without updates
        for rows in list(log.rows()):
            side.add(rows, *np.zeros((2, rows.length), np.int64))
        log.remove()
        for kept, _ in taken_values(context, _ROWS[index]):
            former, matches, written = zip(*chain.from_iterable(kept), strict=True)
            side.add(batch_of(former, list(map(arrow_type, types))), np.array(matches), np.array(written))
            # Semi joins by equations alone counted the matches of keys.
            have_matches &= not plan.is_semi or plan.condition is not None
    return have_matches
