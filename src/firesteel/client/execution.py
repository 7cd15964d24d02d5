"""Execution of programs: the implementation of `env.execute()` and related methods."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from firesteel.client.job_client import EmbeddedJobClient
from firesteel.client.progress import progress_reporter
from firesteel.client.remote_job_client import RemoteJobClient
from firesteel.client.rest_client import DEFAULT_ADDRESS, TOKEN, RestClusterClient
from firesteel.client.staged_data import StagedData
from firesteel.common.configuration import Configuration
from firesteel.common.jars import note_of_jar
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.options import stored_options
from firesteel.common.options.execution_options import ATTACHED, EXECUTION_TARGET
from firesteel.common.options.known_options import doubt_about
from firesteel.common.options.option import Option
from firesteel.common.options.option_check import note_without_counterpart
from firesteel.common.options.rest_options import REST_ADDRESS
from firesteel.common.options.stored_options import PIPELINE_JARS
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.missing_returns import warn_of_missing_returns
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamGraph
from firesteel.runtime.dispatcher.job_submission import checked, submittable
from firesteel.runtime.logs import leave_log_to_the_program

_logger = logging.getLogger(__name__)
_running: weakref.WeakSet[EmbeddedJobClient] = weakref.WeakSet()
_submitted: list[str] = []
_cluster_of: Callable[[str, str | None, Mapping[str, str]], RestClusterClient] = RestClusterClient


def execute_async(stream_graph: StreamGraph, configuration: Configuration) -> EmbeddedJobClient | RemoteJobClient:
    """Submit the job and return without waiting for its end.

    The option `execution.target` sets where the job runs: `local` in this process, at whose end the job ends, too;
    `application` like `local`, with a REST API and a dashboard; `remote` on the cluster at `rest.address`.

    Args:
        stream_graph: The program.
        configuration: Options of the environment, which the job inherits.

    Returns:
        A client of the running job.

    Raises:
        InvalidOptionError: the target is unknown.
        JobSubmissionError: every cluster would reject the job.

    Example:
        >>> _ = env.from_collection([1, 2, 3], Types.INT()).add_sink(SinkFunction(lambda number: None))
        >>> client = execute_async(env.get_stream_graph(), Configuration())
        >>> result = client.wait()
    """
    options = configuration.to_dict()
    target = EXECUTION_TARGET.of(options)
    job_graph = submittable(stream_graph, options)
    tell_of_options(job_graph)
    warn_of_missing_returns(stream_graph.nodes.values())
    # Before anything can fail: a program whose submission was rejected has tried, and is not taken for one without job.
    _submitted[:] = [job_graph.job_id]
    staged = StagedData(job_graph)
    staged.write()
    try:
        if target == "remote":
            cluster = _cluster_of(REST_ADDRESS.text_in(options) or DEFAULT_ADDRESS, os.environ.get(TOKEN), options)
            return RemoteJobClient(cluster, job_graph, staged)
        return _embedded(job_graph, staged, serves_rest=target == "application")
    # An interrupt, too, must not leave the staged data behind.
    except BaseException:
        staged.remove()
        raise


def set_cluster_client(make: Callable[[str, str | None, Mapping[str, str]], RestClusterClient]) -> None:
    """Let `make` create the clients of clusters, from address, token and options."""
    global _cluster_of
    _cluster_of = make


_STORED_DEFAULTS = {one.key: one.default for one in vars(stored_options).values() if isinstance(one, Option)}


def has_submitted() -> bool:
    """Return whether this process has submitted a job, or tried to."""
    return bool(_submitted)


def tell_of_options(job_graph: JobGraph) -> None:
    """Log which of the job's options nobody knows, and which have no counterpart here.

    Options that a setter of PyFlink's API has stored with their default value are left out: nobody asked for them.
    """
    options = job_graph.configuration
    notes = [doubt for key in options if (doubt := doubt_about(key)) is not None]
    jars = [note_of_jar(jar) for jar in options.get(PIPELINE_JARS.key, "").split(";") if jar]
    asked = [key for key, value in options.items() if key != PIPELINE_JARS.key and value != _STORED_DEFAULTS.get(key)]
    for note in (*notes, *jars, note_without_counterpart(asked)):
        if note is not None:
            _logger.warning("job %r: %s", job_graph.name, note)


def check(stream_graph: StreamGraph, configuration: Configuration) -> None:
    """Raise the error with which a submission of the job would be rejected.

    Args:
        stream_graph: The program.
        configuration: Options of the environment, which the job inherits.

    Raises:
        FiresteelError: the job can't be submitted.
    """
    checked(stream_graph, configuration.to_dict())


def _embedded(job_graph: JobGraph, staged: StagedData, serves_rest: bool) -> EmbeddedJobClient:
    leave_log_to_the_program()
    client = EmbeddedJobClient(job_graph, serves_rest, staged)
    if not _running:
        # Registered now rather than at import, so that it runs before the handler that stops the JVM.
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _running.add(client)
    return client


def execute(stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
    """Submit the job and wait until it ends; an interrupt cancels it.

    Args:
        stream_graph: The program.
        configuration: Options of the environment, which the job inherits.

    Returns:
        Id, run time and accumulators of the job.

    Raises:
        JobFailedError: the job failed.
        JobCanceledError: the job was cancelled.

    Example:
        >>> _ = env.from_collection([1, 2, 3], Types.INT()).add_sink(SinkFunction(lambda number: None))
        >>> result = execute(env.get_stream_graph(), Configuration())
        >>> result.get_net_runtime() > 0
        True
    """
    client = execute_async(stream_graph, configuration)
    if not configuration.get(ATTACHED):
        progress_reporter().detached(str(client.get_job_id()))
        return JobExecutionResult(client.get_job_id(), 0, {})
    return client.wait()


def collect(
    stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
) -> CloseableIterator[Any]:
    """Submit the job and return an iterator over up to `limit` elements of its collecting sink.

    Args:
        stream_graph: The program.
        configuration: Options of the environment, which the job inherits.
        collect_id: The result of `DataStream.collect_async()`.
        limit: Maximum number of elements; None returns all.

    Example:
        >>> collect_id = env.from_collection([1, 2, 3], Types.INT()).collect_async()
        >>> with collect(env.get_stream_graph(), Configuration(), collect_id, limit=None) as elements:
        ...     print(list(elements))
        [1, 2, 3]
    """
    client = execute_async(stream_graph, configuration)
    elements: Any = client.collected(collect_id)
    if limit is not None:
        elements = itertools.islice(elements, limit)
    return CloseableIterator(elements, client.cancel_and_wait, client)


def _close_all() -> None:
    for client in list(_running):
        client.close()
