"""The check before a sink: rejects NULLs in NOT NULL columns and drops row kinds that the sink does not accept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel, PlannedKernel
from firesteel.columns.rows import DELETE, UPDATE_BEFORE
from firesteel.columns.state_layout import STATELESS, Layout


class UpdateBefore(Enum):
    """What becomes of `-U` rows before a sink that replaces rows by key."""

    KEPT = "kept"
    DROPPED = "dropped"
    DELETES = "deletes"


@dataclass(frozen=True)
class SinkGuardFactory:
    """Plan of the check before a sink. Flink: `ConstraintEnforcer`, `DropUpdateBefore`.

    Attributes:
        not_null: Index and name of the NOT NULL columns.
        drops_nulls: Whether rows that violate NOT NULL are dropped (`table.exec.sink.not-null-enforcer`).
        before: What becomes of -U rows.
    """

    not_null: tuple[tuple[int, str], ...]
    drops_nulls: bool
    before: UpdateBefore

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return SinkGuard(self)


class SinkGuard(PlannedKernel[SinkGuardFactory]):
    """Checks batches before they are written to a sink."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows that the sink accepts.

        Raises:
            ValueError: A NOT NULL column contains NULL.
        """
        plan = self._plan
        if batch.kinds is not None and plan.before is UpdateBefore.DROPPED:
            stays = batch.kinds != UPDATE_BEFORE
            batch = batch if stays.all() else batch.filter(stays)
        elif batch.kinds is not None and plan.before is UpdateBefore.DELETES:
            # The +U that follows may have another primary key, so the old one has to go.
            kinds = np.where(batch.kinds == UPDATE_BEFORE, np.int8(DELETE), batch.kinds)
            batch = ColumnBatch(batch.columns, batch.length, kinds)
        for column, name in plan.not_null:
            if not batch.columns[column].null_count:
                continue
            if not plan.drops_nulls:
                raise ValueError(
                    f"Column '{name}' is NOT NULL, however, a null value is being written into it. You can set job "
                    "configuration 'table.exec.sink.not-null-enforcer'='DROP' to suppress this exception and drop such "
                    "records silently."
                )
            batch = batch.without_nulls(column)
        self.context.emit(batch)
