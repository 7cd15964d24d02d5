"""Client of a submitted job (module as `pyflink.common.job_client`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID

__all__ = ["JobClient"]


class JobClient(ABC):
    """A client that queries and controls a submitted job (Flink: `core.execution.JobClient`).

    Example:
        >>> numbers = env.from_collection([1, 2, 3], Types.INT())
        >>> _ = numbers.add_sink(SinkFunction(lambda number: None))
        >>> client = env.execute_async("numbers")
        >>> result = client.get_job_execution_result().result()
        >>> result.get_job_id() == client.get_job_id()
        True
        >>> client.get_job_status().result() is JobStatus.FINISHED
        True
    """

    @abstractmethod
    def get_job_id(self) -> JobID:
        """Return the id of the job."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture:
        """Return a future of the current `JobStatus`."""

    @abstractmethod
    def cancel(self) -> CompletableFuture:
        """Cancel the job; the future completes when the cancellation is accepted."""

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Stop the job with a savepoint and return a future of the savepoint's path.

        Args:
            advance_to_end_of_event_time: Whether to emit the final watermark before the savepoint.
            savepoint_directory: Directory of the savepoint; None uses the configured default.
        """

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Trigger a savepoint of the running job and return a future of its path.

        Args:
            savepoint_directory: Directory of the savepoint; None uses the configured default.
        """

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture:
        """Return a future of the values of the job's accumulators by name."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture:
        """Return a future of the `JobExecutionResult`, which completes when the job ends."""

    def wait(self) -> JobExecutionResult:
        """Wait until the job ends and return its result; its progress is shown meanwhile. PyFlink has no such method.

        Raises:
            JobExecutionError: the job failed or was cancelled.
        """
        result: JobExecutionResult = self.get_job_execution_result().result()
        return result

    def close(self) -> None:  # noqa: B027 - most clients hold nothing
        """Release what the client holds: for a job in this process its cluster, with which the job ends."""
