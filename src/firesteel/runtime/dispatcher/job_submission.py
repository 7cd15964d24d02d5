"""The checks of a job before it is accepted: by plans and EXPLAIN, by the client, and by the Dispatcher."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_check import check_options
from firesteel.common.trust import pickling
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamGraph
from firesteel.runtime.heartbeat.heartbeat_options import check_heartbeats

__all__ = ["JobSubmissionError", "check_job_graph", "checked", "submittable"]


class JobSubmissionError(FiresteelError):
    """A job was rejected. Flink: `runtime.client.JobSubmissionException`."""


def submittable(stream_graph: StreamGraph, options: Mapping[str, str]) -> JobGraph:
    """Return the graph of a program as it is submitted.

    Args:
        stream_graph: The program.
        options: Options of the environment, which the job inherits.

    Raises:
        InvalidProgramError: the program can't become a job.
        JobSubmissionError: every cluster would reject the job.
    """
    job_graph = stream_graph.get_job_graph()
    job_graph.configuration = {**options, **job_graph.configuration}
    check_job_graph(job_graph, {})
    return job_graph


def checked(stream_graph: StreamGraph, options: Mapping[str, str]) -> JobGraph:
    """Return the graph of a program that is not going to be submitted, after all that a submission would find.

    Args:
        stream_graph: The program.
        options: Options of the environment, which the job inherits.

    Raises:
        InvalidProgramError: the program can't become a job.
        JobSubmissionError: every cluster would reject the job.
        UnpicklableError: a function of the job can't be sent to other processes.
    """
    job_graph = submittable(stream_graph, options)
    pickling.dumps(job_graph)
    return job_graph


def check_job_graph(job_graph: JobGraph, configuration: Mapping[str, str]) -> None:
    """Reject a job that can't run or can't end.

    These are jobs without vertices, jobs of which some vertices declare resources and others don't, and jobs with an
    invalid option.

    Args:
        job_graph: The job; its options override those of the cluster.
        configuration: The cluster's.

    Raises:
        JobSubmissionError: the job is rejected.
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
    try:
        options = {**configuration, **job_graph.configuration}
        check_options(options)
        check_heartbeats(options)
    except InvalidOptionError as error:
        raise JobSubmissionError(f"job {job_graph.name!r} can't be run as configured: {error}") from error
