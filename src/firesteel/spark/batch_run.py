"""The run of a BATCH job: one Spark job over all input."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from firesteel.common.files.remote_path import RemotePath
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.trust import pickling
from firesteel.coordinator.batch_leftovers import remove_earlier_runs, remove_failed_run
from firesteel.coordinator.batch_output import BatchOutput
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.operators.chain.clock import SteadyClock
from firesteel.operators.sinks.committables import Committable, remove_files
from firesteel.spark.batch_shim import LocalSlots
from firesteel.spark.commits import commit
from firesteel.spark.forwarded_output import OutputPipes
from firesteel.spark.lane_jobs import LaneJobs
from firesteel.spark.lanes import Lanes
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.run import Run
from firesteel.spark.worker_output import LOG_FILE
from firesteel.task.batch_plan import BatchPlan, StageReport
from firesteel.task.job_place import remote_store
from firesteel.task.preloading import FOR_WORKERS, modules_of
from firesteel.task.state_seal import StateSeal
from firesteel.task.version_store import claim_run, claim_stored_run
from firesteel.task.versions import BatchTry, Chain

PRELOADED = (
    "firesteel.spark.batch_shim",
    "firesteel.spark.exchange",
    "firesteel.operators.chain.factory",
    "firesteel.operators.chain.fusion",
)
"""Modules of all BATCH jobs. This process, which runs no operators, does not import most of them."""


def preloaded(job: bytes) -> tuple[str, ...]:
    """Return the modules that workers have before they are forked. Spark starts other workers for other modules.

    Args:
        job: A pickled job graph. Its columns need NumPy.

    Example:
        >>> preloaded(b"")[0]
        'firesteel.spark.batch_shim'
    """
    has_columns = any(module.startswith("firesteel.columns.") for module in modules_of(job))
    return (*PRELOADED, "numpy") if has_columns else PRELOADED


class BatchRun(Run):
    """A run as one Spark job over all input; Spark retries lost tasks, and the operators run in its workers."""

    def __init__(self, *args: Any, seal: StateSeal) -> None:
        super().__init__(*args)
        self._seal = seal
        self._job = b""
        self._remote: RemotePath | None = None
        self._output: BatchOutput | None = None
        self._decided: list[Committable] | None = None
        self._enumerator: SplitEnumerator | None = None
        self._input: BatchPlan | None = None

    def _prepare(self) -> None:
        self._job = pickling.dumps(self._query.job_graph)
        self._remote = remote_store(self._options, self._directory)
        self._output = BatchOutput(self._remote or self._directory, self._committers, self._seal)
        self._decided = self._output.decided()
        if self._decided is None:
            with self._asking():
                self._enumerator = SplitEnumerator(self._query.job_graph, self._options)
                self._input = self._enumerator.plan_all()

    def _leave(self, has_failed: bool) -> None:
        if self._enumerator is not None:
            self._enumerator.close()

    def _execute(self) -> None:
        assert self._output is not None
        reports: list[StageReport] = []
        committables = self._decided
        if committables is None:
            run = self._claimed()
            try:
                reports = self._run_job(run)
            except BaseException:
                remove_failed_run(self._directory, run, self._query.attempt)
                raise
            committables = [committable for report in reports for committable in report.committables]
            # Before any commit: from here on no other execution may commit another division of the same output.
            self._output.decide(committables, owner=str(run))
            remove_earlier_runs(self._directory, run)
        commit(committables, self._collect, self._committers, self._keep)
        self._output.delivered()
        remove_files(committables)
        self._tell_progress(reports)

    def _claimed(self) -> int:
        """Return the number of this run."""
        if self._remote is None:
            return claim_run(self._directory)
        return claim_stored_run(self._remote, self._directory)

    def _run_job(self, run: int) -> list[StageReport]:
        assert self._input is not None
        self._context.environment[FOR_WORKERS] = " ".join(preloaded(self._job))
        plan = replace(self._input, now_ms=SteadyClock().now_ms())
        jobs = LaneJobs(self._context, Lanes.one_per_slot(self._query.slots), fuses=False)
        temporary = temporary_directory(self._options)
        no_versions: dict[int, Chain] = dict.fromkeys(range(self._query.slots), ())
        with self._shown_output(temporary) as output:
            slots = LocalSlots(self._job, self._query.attempt, dict(self._options), output)
            pipeline = Pipeline(self._context, slots, self._plan, 0, str(self._directory), temporary)
            return pipeline.run_batch(BatchTry(run, 0), plan, lambda stage: no_versions, self._stopping.is_set, jobs)

    @contextmanager
    def _shown_output(self, temporary: str | None) -> Iterator[tuple[str, ...]]:
        """Yield the paths to which workers print."""
        if not self._context.master.startswith("local["):
            yield LOG_FILE, LOG_FILE
            return
        with closing(OutputPipes(temporary)) as pipes:
            yield pipes.paths
