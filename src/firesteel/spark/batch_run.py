"""A BATCH job: one Spark job over all input."""

from __future__ import annotations

import pickle

import cloudpickle

from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.spark.batch_shim import LocalSlots
from firesteel.spark.commits import commit
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.run import Run


class BatchRun(Run):
    """One Spark job over all input; Spark starts lost tasks again, the operators run inside its workers."""

    def _execute(self) -> None:
        job = cloudpickle.dumps(self._query.job_graph, protocol=pickle.HIGHEST_PROTOCOL)
        slots = LocalSlots(job, self._query.attempt, self._query.job_graph.configuration)
        plan = SplitEnumerator(self._query.job_graph).plan_all()
        pipeline = Pipeline(self._context, slots, self._plan, self._query.slots, str(self._directory))
        reports = pipeline.run_batch(0, plan, self._stopping.is_set)
        commit((c for report in reports for c in report.committables), self._collect)
        self._tell_progress(reports)
