"""The batches of a run of a job: what each stage is asked to do, and tries again of what Spark or a slot lost.

The output of a batch consists of the reports of all stages. How Spark runs the stages is up to `LaneJobs` and
`SmallBatches`.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError

from firesteel.operators.exchange.buffers import first_values
from firesteel.spark.idle_slots import IdleSlots
from firesteel.spark.lane_jobs import RunStages
from firesteel.spark.lanes import Lanes
from firesteel.spark.shim import FAILURE_MARK, RunStage, Stage
from firesteel.spark.spark_errors import SparkLostError
from firesteel.task.batch_plan import BatchPlan, StageReport
from firesteel.task.protocol import IDLE_GATE, REPORT_GATE, Row, StageRequest
from firesteel.task.stage_plan import StagePlan
from firesteel.task.versions import BatchTry, Chain

logger = logging.getLogger(__name__)

_TRIES = 4
"""Maximum tries of a batch when executors, shuffle files or slot processes are lost. User code errors are not
retried."""

Parents = Callable[[int], Mapping[int, Chain]]
"""Stage -> the version of each slot that it starts from."""


class Pipeline:
    """The execution of the batches of one run of a job.

    Args:
        context: The SparkContext.
        run: Runs a stage in the slots of a lane.
        plan: The stages of the job.
        region: The pipelined region that is run.
        checkpoint: The job's checkpoint directory.
        temporary: The directory for temporary files of Spark's workers; None for the default.

    Attributes:
        retry_pause_s: Pause before a retry in seconds. A killed process keeps its listening socket for some
            milliseconds after its connections have ended, and a try that connects to it fails, too.
    """

    retry_pause_s = 0.1

    def __init__(
        self,
        context: Any,
        run: RunStage,
        plan: StagePlan,
        region: int,
        checkpoint: str,
        temporary: str | None,
    ) -> None:
        self._context = context
        self._run = run
        self._level_of_gate = tuple(plan.level_of_gate)
        self._stages = plan.stages[region]
        self._slot_of = plan.slot_of
        self._level_of = plan.level_of
        self._checkpoint = checkpoint
        self._temporary = temporary
        self._idle = IdleSlots(plan)

    def run_batch(
        self,
        first: BatchTry,
        plan: BatchPlan,
        parents: Parents,
        is_stopping: Callable[[], bool],
        jobs: RunStages,
    ) -> list[StageReport]:
        """Run a batch, with retries if Spark or a slot lost a part of it; each try starts from the previous version.

        Args:
            first: The first try of the batch.
            plan: What the batch reads.
            parents: Returns the version of each slot that a stage starts from.
            is_stopping: Whether the run is being stopped, so that failures must not be retried.
            jobs: Runs the stages of a batch.

        Raises:
            Py4JJavaError: user code raised, or Spark gave up the batch.
            SmallBatchError: the same in a small batch.
            SparkLostError: the JVM is gone.
        """
        for attempt in range(1, _TRIES + 1):
            at = replace(first, number=attempt)
            try:
                reports = self._reports_of(at, jobs(self._stages_of(at, plan, parents, jobs.lanes)))
            except Exception as error:
                # User code that has failed would fail again, and the job's restart strategy decides about that.
                if is_stopping() or attempt == _TRIES or FAILURE_MARK in str(error):
                    raise
                if self._jvm_is_gone():
                    raise SparkLostError from error
                logger.warning("batch %d is retried, because try %d failed: %s", first.batch_id, attempt, error)
                time.sleep(self.retry_pause_s)
            else:
                self._idle.batch_ended(reports)
                return reports
        raise AssertionError("the last try returns or raises")

    def _jvm_is_gone(self) -> bool:
        try:
            self._context._jsc.sc().isStopped()
        except (Py4JError, OSError):
            return True
        return False

    def _stages_of(self, at: BatchTry, plan: BatchPlan, parents: Parents, lanes: Lanes) -> list[Stage]:
        """Return the functions of all stages for Spark's tasks."""
        stages: list[Stage] = []
        for stage in self._stages:
            stage_plan = plan.of_stage(stage, self._level_of)
            common = _pickled(stage_plan.without_slots())
            request = StageRequest(stage, at, self._checkpoint, common, temporary=self._temporary)
            plans = {slot: _pickled(own) for slot, own in stage_plan.of_slots(stage, self._slot_of).items()}
            versions = parents(stage)
            only_with_rows = self._idle.only_with_rows(stage, stage_plan, versions)
            stages.append(Stage(self._run, request, plans, versions, lanes, self._level_of_gate, only_with_rows))
        return stages

    def _reports_of(self, at: BatchTry, rows: Iterable[Row]) -> list[StageReport]:
        reports: list[StageReport] = []
        for _, slot, gate, payload in rows:
            assert gate in (REPORT_GATE, IDLE_GATE), f"a row of gate {gate} was not consumed"
            if gate == IDLE_GATE:
                reports.append(self._idle.report(int(payload), slot, at.number))
            else:
                reports += first_values(payload)
        return reports


def _pickled(plan: BatchPlan) -> bytes:
    return pickle.dumps(plan, protocol=5)
