"""What is checked about a job before it is taken."""

from __future__ import annotations

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher_gateway import JobSubmissionError

__all__ = ["check_job_graph"]


def check_job_graph(job_graph: JobGraph) -> None:
    """Refuse a job without vertices, and one of which some vertices declare resources and others don't.

    Raises:
        JobSubmissionError: the job can't be taken.
    """
    declared = [vertex.name for vertex in job_graph.vertices if vertex.min_resources is not None]
    if declared and len(declared) < len(job_graph.vertices):
        missing = [vertex.name for vertex in job_graph.vertices if vertex.name not in declared]
        raise JobSubmissionError(
            f"job {job_graph.name!r} has partial resources: {declared} declare theirs, {missing} don't; "
            "declare them for all vertices or for none"
        )
    if not job_graph.vertices:
        raise JobSubmissionError(
            f"job {job_graph.name!r} ({job_graph.job_id}) has no vertices, so there is nothing to run"
        )
