"""Runs the jobs of a program in this process with the code of slots, batch by batch, and without Spark."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.connectors.cdc.enumerator import POLLING_MS
from firesteel.datastream.streams.pipeline_executor import set_pipeline_executor
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamGraph
from firesteel.migration.ended_job import EndedJob, ended
from firesteel.runtime.dispatcher.job_submission import submittable
from firesteel.testing import LocalResult, ManualClock, run_local

__all__ = ["local_execution"]


@contextmanager
def local_execution(batches: int | None = None, between: Callable[[], object] | None = None) -> Iterator[None]:
    """Let jobs run here: to their end, or for a number of batches where their sources have none.

    Args:
        batches: The number.
        between: What happens after these; then the job is restored from its checkpoint and runs for as many again.
    """
    set_pipeline_executor(_LocalExecutor(batches, between))
    try:
        yield
    finally:
        set_pipeline_executor(None)


class _LocalExecutor:
    def __init__(self, batches: int | None, between: Callable[[], object] | None) -> None:
        self._batches = batches
        self._between = between

    def check(self, stream_graph: StreamGraph, configuration: Configuration) -> None:
        submittable(stream_graph, configuration.to_dict())

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        self._run(stream_graph, configuration)
        return ended()

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        self._run(stream_graph, configuration)
        return EndedJob()

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[Any]:
        elements = self._run(stream_graph, configuration).collected.get(collect_id, [])
        return CloseableIterator(itertools.islice(elements, limit), job_client=EndedJob())

    def _run(self, stream_graph: StreamGraph, configuration: Configuration) -> LocalResult:
        job_graph = submittable(stream_graph, configuration.to_dict())
        with tempfile.TemporaryDirectory() as checkpoint:
            if self._between is not None:
                self._run_part(job_graph, checkpoint)
                self._between()
            return self._run_part(job_graph, checkpoint)

    def _run_part(self, job_graph: JobGraph, checkpoint: str) -> LocalResult:
        batches = None if job_graph.job_type == "BATCH" else self._batches
        with ManualClock() as clock:
            result = run_local(
                job_graph, batches=batches, checkpoint=Path(checkpoint), clock=clock, clock_step_ms=2 * POLLING_MS
            )
        for line in result.lines:
            print(line)
        return result
