"""What `env.execute()` and its kin call."""

from __future__ import annotations

import atexit
import itertools
import weakref
from typing import Any

from firesteel.client.job_client import EmbeddedJobClient
from firesteel.common.configuration import Configuration
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.datastream.closeable_iterator import CloseableIterator
from firesteel.graph.stream_graph import StreamGraph

_running: weakref.WeakSet[EmbeddedJobClient] = weakref.WeakSet()


def execute_async(stream_graph: StreamGraph, configuration: Configuration) -> EmbeddedJobClient:
    """Submit the job and return at once. The job ends with this process at the latest."""
    job_graph = stream_graph.get_job_graph()
    job_graph.configuration = {**configuration.to_dict(), **job_graph.configuration}
    client = EmbeddedJobClient(job_graph)
    if not _running:
        # Now and not at import: so it runs before what ends the JVM, which was registered with the first job.
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _running.add(client)
    return client


def execute(stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
    """Submit the job and wait for its end; an interrupt cancels it.

    Raises:
        JobFailedError: the job failed.
        JobCanceledError: the job was cancelled.
    """
    return execute_async(stream_graph, configuration).wait()


def collect(
    stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
) -> CloseableIterator:
    """Submit the job and iterate over what its collecting sink gets, at most `limit` elements."""
    client = execute_async(stream_graph, configuration)
    elements: Any = client.collected()
    if limit is not None:
        elements = itertools.islice(elements, limit)
    return CloseableIterator(elements, client.cancel_and_wait)


def _close_all() -> None:
    for client in list(_running):
        client.close()
