"""What happens to a job graph before a JobMaster runs it."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.cluster_options import recorded_options
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import set_max_parallelism, set_parallelism
from firesteel.runtime.jobmaster.data_plane import DataPlane

__all__ = ["restored", "with_cluster_defaults"]


def with_cluster_defaults(job_graph: JobGraph, configuration: Mapping[str, str]) -> None:
    """Complete the job's options for its state by those of the cluster."""
    job_graph.configuration = {**recorded_options(configuration), **job_graph.configuration}


async def restored(
    job_graph: JobGraph, configuration: Mapping[str, str], default_parallelism: int, data_plane: DataPlane
) -> bytes | None:
    """Prepare a job graph for its JobMaster, with slow work in a thread, and return the result of `restore`.

    Args:
        job_graph: The job; completed by the cluster's defaults, its parallelism, and the settings of its state.
        configuration: The cluster's configuration.
        default_parallelism: Parallelism of the vertices that leave theirs to the scheduler.
        data_plane: Restores the state.

    Raises:
        FiresteelError: the state can't be restored.
        OSError: a file can't be read or written.
    """
    with_cluster_defaults(job_graph, configuration)
    set_parallelism(job_graph, default_parallelism)
    serialized = await data_plane.restore(job_graph)
    set_max_parallelism(job_graph)
    return serialized
