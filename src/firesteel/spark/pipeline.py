"""The stages of a job as Spark jobs: one RDD job per batch, one Spark stage per stage.

A row per slot goes through `mapPartitionsWithIndex` for stage 0, then through `partitionBy` and another one for each
further stage. What comes out at the end are the reports of all stages. Nothing else of Spark is used: no SQL planning,
no offset and commit logs, which would cost more than a small batch itself.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError

from firesteel.operators.buffers import decode
from firesteel.spark.errors import SparkLostError
from firesteel.spark.shim import FAILURE_MARK, RunStage, Stage
from firesteel.task.protocol import REPORT_GATE, StageRequest
from firesteel.task.slot_tasks import BatchPlan, StageReport
from firesteel.task.stage_plan import StagePlan

logger = logging.getLogger(__name__)

_TRIES = 4
"""How often a batch is run when Spark lost something: executors, shuffle files. Failures of user code count once."""


class Pipeline:
    """Runs the batches of one run of a job.

    Args:
        context: The SparkContext.
        run: How a stage of a slot is run.
        plan: The stages.
        slots: How many partitions each has.
        checkpoint: The job's checkpoint directory.
        versions: Where the slots' versions go; nowhere in BATCH mode.
    """

    def __init__(
        self, context: Any, run: RunStage, plan: StagePlan, slots: int, checkpoint: str, versions: str = ""
    ) -> None:
        self._context = context
        self._run = run
        self._level_of_gate = tuple(plan.level_of_gate)
        self._stages = plan.levels
        self._slots = slots
        self._checkpoint = checkpoint
        self._versions = versions
        self._row_per_slot = context.parallelize(range(slots), slots)

    def run_batch(self, batch_id: int, plan: BatchPlan, is_stopping: Callable[[], bool]) -> list[StageReport]:
        """Run a batch, again if Spark lost a part of it; the slots then start from the version before it.

        Raises:
            Py4JJavaError: user code raised, or Spark gave the batch up.
            SparkLostError: the JVM is gone.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                return self._try_batch(batch_id, plan)
            except Exception as error:
                if is_stopping() or attempt == _TRIES or FAILURE_MARK in str(error):
                    raise
                if self._jvm_is_gone():
                    raise SparkLostError from error
                logger.warning("batch %d is run again, try %d failed: %s", batch_id, attempt, error)
        raise AssertionError("the last try returns or raises")

    def _jvm_is_gone(self) -> bool:
        try:
            self._context._jsc.sc().isStopped()
        except (Py4JError, OSError):
            return True
        return False

    def _try_batch(self, batch_id: int, plan: BatchPlan) -> list[StageReport]:
        rows = self._row_per_slot
        for stage in range(self._stages):
            if stage:
                rows = rows.partitionBy(self._slots, _target)
            # Only the first stage reads sources.
            stage_plan = replace(plan, ranges={}) if stage else plan
            request = StageRequest(
                stage, batch_id, self._checkpoint, self._versions, pickle.dumps(stage_plan, protocol=5)
            )
            rows = rows.mapPartitionsWithIndex(Stage(self._run, request, self._level_of_gate))
        try:
            reports = rows.collect()
        finally:
            if self._stages > 1:
                rows.cleanShuffleDependencies()
        return [report for _, buffer in reports for report in _reports_of(*buffer)]


def _target(target: int) -> int:
    return target


def _reports_of(source: int, gate: int, payload: bytes) -> list[StageReport]:
    assert gate == REPORT_GATE, f"a row of gate {gate} was not consumed"
    return decode(payload)[0][0]  # type: ignore[index]
