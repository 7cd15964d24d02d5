"""Slots that a batch can skip: those with nothing to read, no work due and no rows.

The cost of a small batch thus depends on the slots that receive records, not on all slots of the job.

Why: `docs/decisions/0026-idle-slots.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from firesteel.operators.chain.clock import now_ms
from firesteel.task.batch_plan import BatchPlan, StageReport
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_transfer import NOTHING_STORED


class IdleSlots:
    """The last report of each slot, from which slots to skip are determined.

    Args:
        plan: The stages of the job.
    """

    def __init__(self, plan: StagePlan) -> None:
        self._slot_of = plan.slot_of
        self._last: dict[tuple[int, int], StageReport] = {}

    def only_with_rows(self, stage: int, batch: BatchPlan, slots: Iterable[int]) -> frozenset[int]:
        """Return the slots that a stage may skip if there are no rows for them.

        The first batch of a run and batches before checkpoints run in all slots, and so do slots that upload files of a
        checkpoint.
        """
        if batch.is_checkpoint or batch.in_full:
            return frozenset()
        now = now_ms() if batch.now_ms is None else batch.now_ms
        busy = batch.busy_slots(stage, self._slot_of)
        return frozenset(slot for slot in slots if slot not in busy and self._has_nothing_due(stage, slot, now))

    def _has_nothing_due(self, stage: int, slot: int, now: int) -> bool:
        last = self._last.get((stage, slot))
        # Without a report of this run nothing is known of the slot, so the first batch skips none.
        return last is not None and (last.next_time is None or last.next_time > now)

    def report(self, stage: int, slot: int, try_number: int) -> StageReport:
        """Return the report on behalf of a skipped slot, which has not changed."""
        last = self._last[stage, slot]
        # What the last report handed over once must not be committed, or counted, again.
        return replace(last, committables=[], try_number=try_number, stored=NOTHING_STORED, state_s=0.0)

    def batch_ended(self, reports: Iterable[StageReport]) -> None:
        """Remember the reports of a batch."""
        self._last.update(((report.stage, report.slot), report) for report in reports)
