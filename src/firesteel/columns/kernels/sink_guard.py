"""What stands before a sink: NULLs in NOT NULL columns are refused, kinds that it does not take are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel
from firesteel.columns.rows import UPDATE_BEFORE


@dataclass(frozen=True)
class SinkGuardFactory:
    """Flink: `ConstraintEnforcer`, `DropUpdateBefore`.

    Attributes:
        not_null: Index and name of columns that must not be NULL.
        drops_nulls: Whether rows with NULL in them are left out (`table.exec.sink.not-null-enforcer`).
        drops_update_before: Whether the sink takes rows by key and needs no -U.
    """

    not_null: tuple[tuple[int, str], ...]
    drops_nulls: bool
    drops_update_before: bool

    def make(self) -> Kernel:
        """Return the kernel."""
        return SinkGuard(self)


class SinkGuard(Kernel):
    """Checks batches on their way to a sink."""

    def __init__(self, plan: SinkGuardFactory) -> None:
        self._plan = plan

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit what the sink may have.

        Raises:
            ValueError: a NULL is in a NOT NULL column.
        """
        plan = self._plan
        if plan.drops_update_before and batch.kinds is not None:
            batch = batch.filter(batch.kinds != UPDATE_BEFORE)
        for column, name in plan.not_null:
            if not batch.columns[column].null_count:
                continue
            if not plan.drops_nulls:
                raise ValueError(
                    f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can set job "
                    "configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this exception and drop such "
                    "records silently."
                )
            valid = batch.columns[column].is_valid().to_numpy(zero_copy_only=False)
            batch = batch.filter(np.asarray(valid))
        self.context.emit(batch)
