"""The data that a TaskExecutor needs to run one attempt of one subtask."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.failure import TaskFailure

__all__ = ["TaskDeploymentDescriptor"]


@dataclass(frozen=True, slots=True)
class TaskDeploymentDescriptor:
    """A deployable attempt of one subtask. Flink: `runtime.deployment.TaskDeploymentDescriptor`.

    Attributes:
        job_id: The job, 32 hex digits.
        job_name: Its name.
        execution_attempt_id: The attempt; task states are reported under it.
        attempt_number: 0 for the first attempt.
        vertex_id: The JobVertex, 32 hex digits.
        vertex_name: Its name.
        subtask_index: From 0.
        parallelism: Number of subtasks of the vertex.
        max_parallelism: Number of key groups of the vertex.
        allocation_id: The slot allocation to run in.
        global_slot: The slot's number in the job, 0..S-1; -1 if the job's slots are not numbered.
        region: Number of the pipelined region, see `graph.regions`.
        is_batch: Whether the job runs in BATCH mode.
        serialized_job_graph: The JobGraph, pickled by cloudpickle; all subtasks of the job share one bytes object. A
        task needs more than its vertex: the numbering of all edges and their target slots.
        configuration: The job's configuration.
    """

    job_id: str
    job_name: str
    execution_attempt_id: str
    attempt_number: int
    vertex_id: str
    vertex_name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    allocation_id: str
    global_slot: int
    region: int
    is_batch: bool
    serialized_job_graph: bytes
    configuration: dict[str, str]

    @property
    def task_name_with_subtask(self) -> str:
        """The task name shown to users: `Map -> Sink (2/4)`."""
        return f"{self.vertex_name} ({self.subtask_index + 1}/{self.parallelism})"

    def failure(self, message: str) -> TaskFailure:
        """Return a failure of this task."""
        return TaskFailure(
            message,
            vertex_id=self.vertex_id,
            vertex_name=self.vertex_name,
            subtask_index=self.subtask_index,
            parallelism=self.parallelism,
        )
