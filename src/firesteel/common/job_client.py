"""Handle to one submitted job (module as `pyflink.common.job_client`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_id import JobID

__all__ = ["JobClient"]


class JobClient(ABC):
    """Asks after one submitted job and steers it (Flink: `core.execution.JobClient`)."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """Id of the job."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture:
        """Future `JobStatus`."""

    @abstractmethod
    def cancel(self) -> CompletableFuture:
        """Cancels the job; the future is done when the cancellation was accepted."""

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Stops the job with a savepoint; future path of the savepoint."""

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Takes a savepoint of the running job; future path of the savepoint."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture:
        """Future values of the job's accumulators by name."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture:
        """Future `JobExecutionResult`, there when the job has ended."""
