"""Statements that go as far as their submission: the job is checked as the client checks it, and not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from firesteel.client import check
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.datastream.streams.pipeline_executor import set_pipeline_executor
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.graph.stream_graph import StreamGraph
from firesteel.migration.ended_job import EndedJob, ended, nothing


class _Submission:
    """An executor that submits no job."""

    def check(self, stream_graph: StreamGraph, configuration: Configuration) -> None:
        check(stream_graph, configuration)

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        check(stream_graph, configuration)
        return ended()

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        check(stream_graph, configuration)
        return EndedJob()

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[Any]:
        check(stream_graph, configuration)
        return nothing()


@contextmanager
def planned_only() -> Iterator[None]:
    """Submit no job in this context."""
    set_pipeline_executor(_Submission())
    try:
        yield
    finally:
        set_pipeline_executor(None)


def refusal(way: Callable[[], Any]) -> str | None:
    """Return the error that a call raises, or None."""
    try:
        way()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
