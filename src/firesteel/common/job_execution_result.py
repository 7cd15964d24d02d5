"""What a finished job leaves behind (module as `pyflink.common.job_execution_result`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Id, run time and accumulators of a finished job; run time is in milliseconds."""

    def __init__(self, job_id: JobID, net_runtime_ms: int, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """Id of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Milliseconds that the job ran."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Final value of an accumulator; None if there is none of that name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Final values of all accumulators."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        return (
            f"Program execution finished\nJob with JobID {self._job_id} has finished.\n"
            f"Job Runtime: {self._net_runtime_ms} ms\n"
        )
