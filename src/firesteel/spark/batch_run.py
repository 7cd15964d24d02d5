"""The run of a BATCH job: one Spark job over all input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.trust import pickling
from firesteel.coordinator.batch_leftovers import remove_earlier_runs, remove_failed_run
from firesteel.coordinator.batch_output import BatchOutput
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.operators.chain.clock import SteadyClock
from firesteel.operators.sinks.committables import remove_files
from firesteel.spark import batch_shim
from firesteel.spark.batch_shim import LocalSlots
from firesteel.spark.commits import commit
from firesteel.spark.lanes import Lanes
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.run import Run
from firesteel.task.batch_plan import StageReport
from firesteel.task.job_place import remote_store
from firesteel.task.preloading import FOR_WORKERS
from firesteel.task.state_seal import StateSeal
from firesteel.task.version_store import claim_run, claim_stored_run
from firesteel.task.versions import BatchTry, Chain


class BatchRun(Run):
    """A run as one Spark job over all input; Spark retries lost tasks, and the operators run in its workers."""

    def __init__(self, *args: Any, seal: StateSeal) -> None:
        super().__init__(*args)
        self._seal = seal

    def _execute(self) -> None:
        remote = remote_store(self._options, self._directory)
        output = BatchOutput(remote or self._directory, self._committers, self._seal)
        reports: list[StageReport] = []
        committables = output.decided()
        if committables is None:
            run = claim_run(self._directory) if remote is None else claim_stored_run(remote, self._directory)
            try:
                reports = self._run_job(run)
            except BaseException:
                remove_failed_run(self._directory, run, self._query.attempt)
                raise
            committables = [committable for report in reports for committable in report.committables]
            output.decide(committables, owner=str(run))
            remove_earlier_runs(self._directory, run)
        commit(committables, self._collect, self._committers, self._keep)
        output.delivered()
        remove_files(committables)
        self._tell_progress(reports)

    def _run_job(self, run: int) -> list[StageReport]:
        self._context.environment[FOR_WORKERS] = batch_shim.__name__
        job = pickling.dumps(self._query.job_graph)
        slots = LocalSlots(job, self._query.attempt, dict(self._options))
        plan = replace(SplitEnumerator(self._query.job_graph, self._options).plan_all(), now_ms=SteadyClock().now_ms())
        lanes = Lanes.one_per_slot(self._query.slots)
        temporary = temporary_directory(self._options)
        pipeline = Pipeline(self._context, slots, self._plan, 0, lanes, str(self._directory), temporary)
        no_versions: dict[int, Chain] = dict.fromkeys(range(self._query.slots), ())
        return pipeline.run_batch(BatchTry(run, 0), plan, lambda stage: no_versions, self._stopping.is_set)
