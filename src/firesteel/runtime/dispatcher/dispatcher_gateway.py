"""The interface of the Dispatcher for clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.dispatcher.job_submission import JobSubmissionError
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails, JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceOverview
from firesteel.runtime.rpc import large_arguments, no_rpc_timeout

__all__ = [
    "ClusterOverview",
    "DispatcherGateway",
    "DuplicateJobSubmissionError",
    "JobNotFoundError",
    "JobSubmissionError",
]


class DuplicateJobSubmissionError(JobSubmissionError):
    """A job with that id already exists. Flink: `runtime.client.DuplicateJobSubmissionException`.

    Attributes:
        is_globally_terminated: Whether that job has ended; otherwise it is running or being submitted.
    """

    def __init__(self, job_id: str, is_globally_terminated: bool) -> None:
        super().__init__(job_id, is_globally_terminated)
        self.is_globally_terminated = is_globally_terminated

    def __str__(self) -> str:
        state = "has run already" if self.is_globally_terminated else "is running or being submitted"
        return f"job {self.args[0]} {state}; submit a new JobGraph to run the program again"


class JobNotFoundError(FiresteelError):
    """No job has that id. Flink: `runtime.messages.FlinkJobNotFoundException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"there is no job {job_id}"


class JobInitializingError(FiresteelError):
    """The job is not started yet. Flink: `runtime.dispatcher.UnavailableDispatcherOperationException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} is INITIALIZING, and answers once it is started"


@dataclass(frozen=True, slots=True)
class ClusterOverview:
    """The cluster's resources and jobs, without vertices. Flink: `messages.webmonitor.ClusterOverview`."""

    task_managers: int
    slots_total: int
    slots_available: int
    jobs_running: int
    jobs_finished: int
    jobs_cancelled: int
    jobs_failed: int
    jobs: tuple[JobDetails, ...]

    @classmethod
    def of(cls, jobs: tuple[JobDetails, ...], resources: ResourceOverview) -> ClusterOverview:
        """Return the overview of some jobs and the cluster's resources."""
        counts = Counter(job.status for job in jobs)
        return cls(
            resources.task_managers,
            resources.slots_total,
            resources.slots_available,
            jobs_running=sum(count for status, count in counts.items() if not status.is_terminal),
            jobs_finished=counts[JobStatus.FINISHED],
            jobs_cancelled=counts[JobStatus.CANCELED],
            jobs_failed=counts[JobStatus.FAILED],
            jobs=jobs,
        )


class DispatcherGateway(Protocol):
    """The interface of the Dispatcher for clients. Flink: `runtime.dispatcher.DispatcherGateway`."""

    @large_arguments
    async def submit_job(self, job_graph: JobGraph) -> None:
        """Submit a job; returns once it is started, not when it has ended.

        Raises:
            DuplicateJobSubmissionError: a job with that id already exists.
            JobSubmissionError: the job was rejected and leaves no traces.
        """

    async def cancel_job(self, job_id: str) -> None:
        """Request the cancellation of a job; returns before the job is cancelled.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
        """

    async def update_resource_requirements(self, job_id: str, requirements: Mapping[str, ParallelismBounds]) -> None:
        """Set the bounds of the parallelism of each vertex, by its id; they outlive failures of the JobManager.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
            ResourceRequirementsError: the job can't have them.
        """

    async def request_resource_requirements(self, job_id: str) -> Mapping[str, ParallelismBounds]:
        """Return the bounds of the parallelism of each vertex.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
        """
        ...

    async def request_scaling_decisions(self, job_id: str) -> tuple[ScalingDecision, ...] | None:
        """Return the last decisions of a job's autoscaler, newest first; None if it has none.

        Raises:
            JobNotFoundError: there is no such job.
        """
        ...

    @no_rpc_timeout
    async def trigger_savepoint(self, job_id: str, target_directory: str | None = None) -> str:
        """Take a savepoint of a running job and return its path.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
            SavepointError: it could not be taken.
        """
        ...

    @no_rpc_timeout
    async def stop_with_savepoint(self, job_id: str, target_directory: str | None = None, drain: bool = False) -> str:
        """Stop the job with a savepoint and return the path of the savepoint.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
            SavepointError: it could not be taken; the job goes on.
        """
        ...

    @no_rpc_timeout
    async def cancel_with_savepoint(self, job_id: str, target_directory: str | None = None) -> str:
        """Cancel the job with a savepoint, so that it ends as CANCELED, and return the savepoint's path.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
            SavepointError: it could not be taken; the job goes on.
        """
        ...

    @no_rpc_timeout
    async def trigger_checkpoint(self, job_id: str, full: bool = False) -> int:
        """Take a checkpoint of a running job, full or incremental, and return its id.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
            CheckpointError: it could not be taken.
        """
        ...

    async def deliver_coordination_request(self, job_id: str, operator_uid: str, request: bytes) -> bytes:
        """Return the response of an operator to its client; the job may have ended.

        Raises:
            JobNotFoundError: there is no such job.
            ValueError: the request can't be read.
        """
        ...

    async def request_printed(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed to standard output, and the offset at which the text begins.

        Args:
            job_id: The job, which may have ended.
            offset: The number of characters that the client has; where these are not kept, the text begins elsewhere.

        Raises:
            JobNotFoundError: there is no such job.
        """
        ...

    async def request_job_status(self, job_id: str) -> JobStatus:
        """Return the current status of a job.

        Raises:
            JobNotFoundError: no job has that id.
        """
        ...

    async def request_job_details(self, job_id: str) -> JobDetails:
        """Return the details of a job, running or ended.

        Raises:
            JobNotFoundError: no job has that id.
        """
        ...

    async def request_job(self, job_id: str) -> ArchivedExecutionGraph:
        """Return the execution graph of a job: subtasks, attempts, history.

        Raises:
            JobNotFoundError: no job has that id.
        """
        ...

    @no_rpc_timeout
    async def request_job_graph(self, job_id: str) -> bytes:
        """Return the pickled graph of a job that has not ended, with the files that it ships.

        Raises:
            JobNotFoundError: there is no such job.
            ArtifactError: a file of the job cannot be read.
        """
        ...

    @no_rpc_timeout
    async def request_job_result(self, job_id: str) -> JobResult:
        """Wait for the end of a job and return its result.

        Raises:
            JobNotFoundError: no job has that id.
        """
        ...

    async def list_jobs(self) -> tuple[str, ...]:
        """Return the ids of all jobs, running or ended."""
        ...

    async def request_overview(self) -> ClusterOverview:
        """Return the cluster's resources and its jobs, without their vertices."""
        ...
