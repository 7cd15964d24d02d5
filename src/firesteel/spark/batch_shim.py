"""BATCH mode inside Spark's Python workers: the operators run right there, made for one task and gone with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from firesteel.operators.errors import failure_of
from firesteel.spark.shim import SlotFailedError
from firesteel.task.protocol import Row
from firesteel.task.slot_tasks import BatchPlan, SlotTasks


@dataclass(frozen=True, slots=True)
class LocalSlots:
    """Runs a stage of one slot in this worker."""

    job: bytes
    attempt: int
    batch: BatchPlan

    def __call__(self, slot: int, stage: int, batch_id: int, rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Row]:
        """Run the stage; an error carries the failure of the operator."""
        tasks = SlotTasks(self.job, slot, self.attempt, store=None)
        try:
            yield from tasks.run_stage(stage, batch_id, self.batch, rows)
        except Exception as error:
            raise SlotFailedError(failure_of(error)) from error
        finally:
            tasks.close()
