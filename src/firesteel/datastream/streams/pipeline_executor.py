"""The executor of programs: the client by default, another one for tools that only inspect the graph."""

from __future__ import annotations

from importlib.metadata import distribution
from typing import Any, Protocol

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.graph.stream_graph import StreamGraph

__all__ = ["PipelineExecutor", "pipeline_executor", "set_pipeline_executor"]


class PipelineExecutor(Protocol):
    """Executes stream graphs (Flink: `core.execution.PipelineExecutor`); `firesteel.client` is the default."""

    def check(self, stream_graph: StreamGraph, configuration: Configuration) -> None:
        """Raise the error with which a submission of the job would be rejected."""

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        """Run the job and wait until it ends."""
        ...

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        """Submit the job without waiting for its end."""
        ...

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[Any]:
        """Submit the job and return an iterator over the elements of its collecting sink."""
        ...


_executors: list[PipelineExecutor] = []


def set_pipeline_executor(executor: PipelineExecutor | None) -> None:
    """Set the executor of programs of this process; None restores the client."""
    _executors[:] = [] if executor is None else [executor]


def pipeline_executor() -> PipelineExecutor:
    """Return the executor of programs of this process."""
    if not _executors:
        # The API does not know the client: it is found as Flink finds its executors, by what the package declares.
        [entry_point] = distribution("firesteel").entry_points.select(group="firesteel.executors")
        _executors.append(entry_point.load())
    return _executors[0]
