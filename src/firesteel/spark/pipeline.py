"""The stages of a job as Spark jobs: one RDD job per batch, with one Spark stage per stage.

An empty partition per lane goes through `mapPartitionsWithIndex` for the first stage, then through an exchange and
another one for each further stage. The final output consists of the reports of all stages. No other part of Spark is
used: SQL planning, offset logs and commit logs would cost more than a small batch itself.
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
from firesteel.spark.exchange import Exchange
from firesteel.spark.idle_slots import IdleSlots
from firesteel.spark.lanes import Lanes
from firesteel.spark.placed_partitions import placed_partitions
from firesteel.spark.rdds import call_site
from firesteel.spark.shared_stages import SharedStages
from firesteel.spark.shim import FAILURE_MARK, RunStage, Stage
from firesteel.spark.small_batches import SmallBatches
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
        lanes: Which slots each partition serves.
        checkpoint: The job's checkpoint directory.
        small_batches: Runs small batches; None if they are run like others.

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
        lanes: Lanes,
        checkpoint: str,
        temporary: str | None,
        small_batches: SmallBatches | None = None,
    ) -> None:
        self._context = context
        self._run = run
        self._level_of_gate = tuple(plan.level_of_gate)
        self._stages = plan.stages[region]
        self._slot_of = plan.slot_of
        self._level_of = plan.level_of
        self._lanes = lanes
        self._checkpoint = checkpoint
        self._temporary = temporary
        self._partitions = placed_partitions(context, lanes.hosts)
        self._exchange = Exchange(context, len(lanes.slots))
        self._small_batches = small_batches
        self._idle = IdleSlots(plan)

    def run_batch(
        self,
        first: BatchTry,
        plan: BatchPlan,
        parents: Parents,
        is_stopping: Callable[[], bool],
        *,
        is_small: bool = False,
    ) -> list[StageReport]:
        """Run a batch, with retries if Spark or a slot lost a part of it; each try starts from the previous version.

        Args:
            first: The first try of the batch.
            plan: What the batch reads.
            parents: Returns the version of each slot that a stage starts from.
            is_stopping: Whether the run is being stopped, so that failures must not be retried.
            is_small: Whether most of the batch's time is expected to be the fixed cost of Spark's tasks.

        Raises:
            Py4JJavaError: user code raised, or Spark gave up the batch.
            SmallBatchError: the same in a small batch.
            SparkLostError: the JVM is gone.
        """
        run = self._run_small if is_small and self._small_batches is not None else self._run_on_lanes
        for attempt in range(1, _TRIES + 1):
            at = replace(first, number=attempt)
            try:
                reports = self._reports_of(at, run(at, plan, parents))
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

    def _run_small(self, at: BatchTry, plan: BatchPlan, parents: Parents) -> Iterable[Row]:
        assert self._small_batches is not None
        return self._small_batches(self._stages_of(at, plan, parents, self._small_batches.lanes))

    def _run_on_lanes(self, at: BatchTry, plan: BatchPlan, parents: Parents) -> Iterable[Row]:
        rows = self._partitions
        with call_site(self._context), SharedStages(self._context) as shared:
            for number, stage in enumerate(self._stages_of(at, plan, parents, self._lanes)):
                if number > 0:
                    rows = self._exchange(rows)
                rows = rows.mapPartitionsWithIndex(shared.share(stage))
            try:
                return [row for _, row in rows.collect()]
            finally:
                if len(self._stages) > 1:
                    # Spark removes shuffle files when the driver's garbage collector finds them, which small batches
                    # outrun.
                    rows.cleanShuffleDependencies()

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
