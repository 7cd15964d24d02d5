"""What `execute()` and its kin hand a program to: the client, unless somebody only wants to look at the graph."""

from __future__ import annotations

from typing import Any, Protocol

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.datastream.closeable_iterator import CloseableIterator
from firesteel.graph.stream_graph import StreamGraph

__all__ = ["PipelineExecutor", "pipeline_executor", "set_pipeline_executor"]


class PipelineExecutor(Protocol):
    """Runs stream graphs. Flink: `core.execution.PipelineExecutor`; `firesteel.client` is the one that runs jobs."""

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        """Run it and wait for its end."""
        ...

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        """Start it."""
        ...

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[Any]:
        """Start it and iterate over what its collecting sink gets."""
        ...


_executors: list[PipelineExecutor] = []


def set_pipeline_executor(executor: PipelineExecutor | None) -> None:
    """Let programs of this process go to another executor; None: to the client again."""
    _executors[:] = [] if executor is None else [executor]


def pipeline_executor() -> PipelineExecutor:
    """Where programs go."""
    if _executors:
        return _executors[0]
    from firesteel import client  # the one late import: the API does not depend on what runs it

    return client
