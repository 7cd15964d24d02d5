"""Results of finished jobs (module as `pyflink.common.job_execution_result`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.job_id import JobID
from firesteel.common.notebook_table import NotebookTable, ShownAsTable

__all__ = ["JobExecutionResult"]


class JobExecutionResult(ShownAsTable):
    """Id, run time and accumulators of a finished job.

    `env.execute` returns it.

    Args:
        job_id: Id under which the cluster ran the job.
        net_runtime_ms: Run time in milliseconds.
        accumulators: Final values by name, which are copied; None for none.

    Example:
        >>> result = JobExecutionResult(JobID("0" * 32), 1500, {"bad lines": 3})
        >>> result.get_net_runtime(), result.get_accumulator_result("bad lines")
        (1500, 3)
    """

    def __init__(self, job_id: JobID, net_runtime_ms: int, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """Return the id of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return the run time of the job in milliseconds."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the final value of an accumulator.

        Args:
            accumulator_name: Name of an accumulator; functions in Python cannot add any.

        Returns:
            None if there is no such accumulator.
        """
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the final values of all accumulators by name."""
        return dict(self._accumulators)

    def _notebook_table(self) -> NotebookTable:
        rows = [("job", self._job_id), ("run time", f"{self._net_runtime_ms} ms"), *self._accumulators.items()]
        return NotebookTable(["result", ""], rows)

    def __str__(self) -> str:
        return (
            f"Program execution finished\nJob with JobID {self._job_id} has finished.\n"
            f"Job Runtime: {self._net_runtime_ms} ms\n"
        )
