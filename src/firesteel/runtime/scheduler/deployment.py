"""Creation of task deployment descriptors for executions with a slot."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.cluster_options import options_of_job
from firesteel.common.trust import pickling
from firesteel.graph.regions import regions_of
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.scheduler.slot_sharing_strategy import SlotNumbering
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor

__all__ = ["TaskDeploymentDescriptorFactory"]


class TaskDeploymentDescriptorFactory:
    """A factory of a job's descriptors. Flink: `runtime.deployment.TaskDeploymentDescriptorFactory`.

    The job graph is serialized once; all subtasks and attempts share the bytes.

    Args:
        graph: The job.
        cluster: The options of the cluster.
        numbering: The numbers of the job's slots; None if they are not numbered.
        serialized_job_graph: The job serialized for tasks; None to serialize it here.
    """

    def __init__(
        self,
        graph: ExecutionGraph,
        cluster: Mapping[str, str],
        numbering: SlotNumbering | None,
        serialized_job_graph: bytes | None = None,
    ) -> None:
        self._graph = graph
        self._numbering = numbering
        self._region_of = regions_of(graph.job_graph)
        self._configuration = options_of_job(graph.job_graph.configuration, cluster)
        self._serialized_job_graph: bytes = serialized_job_graph or pickling.dumps(graph.job_graph)

    def descriptor(self, vertex: ExecutionVertex) -> TaskDeploymentDescriptor:
        """Return the descriptor of the current attempt, which has its slot."""
        execution, job_vertex = vertex.current, vertex.job_vertex
        assert execution.allocation_id is not None, f"{vertex.name} has no slot"
        numbering = self._numbering
        return TaskDeploymentDescriptor(
            job_id=self._graph.job_id,
            job_name=self._graph.name,
            execution_attempt_id=execution.attempt_id,
            attempt_number=execution.attempt_number,
            vertex_id=job_vertex.id,
            vertex_name=job_vertex.name,
            subtask_index=vertex.subtask_index,
            parallelism=job_vertex.parallelism,
            max_parallelism=job_vertex.max_parallelism,
            allocation_id=execution.allocation_id,
            global_slot=-1 if numbering is None else numbering.slot_of(job_vertex.id, vertex.subtask_index),
            region=self._region_of[job_vertex.id],
            is_batch=self._graph.job_graph.job_type == "BATCH",
            serialized_job_graph=self._serialized_job_graph,
            configuration=self._configuration,
        )
