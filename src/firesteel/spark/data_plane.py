"""Runs a job's records through Spark: one Structured Streaming query (STREAMING) or one DataFrame job (BATCH).

Both are the same linear pipeline: a row per slot, `mapInArrow` for stage 0, then `repartitionById` and `mapInArrow` per
further stage. The rows that come out at the end are the reports of all stages; with them the driver commits the sinks.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
from py4j.protocol import Py4JError

from firesteel.common.time import Duration
from firesteel.operators.buffers import decode
from firesteel.runtime.jobmaster.data_plane import DataPlaneListener, QueryDescriptor, RunningQuery, SubtaskProgress
from firesteel.spark.commits import Collect, commit
from firesteel.spark.enumerator import SplitEnumerator
from firesteel.spark.failures import failure_of_spark_error
from firesteel.task.protocol import REPORT_GATE
from firesteel.task.slot_tasks import StageReport
from firesteel.task.stage_plan import StagePlan

CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"


class SparkDataPlane:
    """Starts queries on one SparkSession (implements `runtime.jobmaster.data_plane.DataPlane`).

    Args:
        session: Gives the session; called in a thread, since it may wait for the JVM.
        collect: Takes what collecting sinks got, batch by batch.
    """

    spans_job = True

    def __init__(self, session: Callable[[], Any], collect: Collect) -> None:
        self._session = session
        self._collect = collect
        self._checkpoints: dict[str, str] = {}
        self._temporary: list[str] = []

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> RunningQuery:
        """Start the query in a thread of its own and return at once."""
        kind = _BatchJob if query.job_graph.job_type == "BATCH" else _StreamingQuery
        checkpoint = self._checkpoints.get(query.job_id)
        if checkpoint is None:
            checkpoint = self._checkpoints[query.job_id] = self._checkpoint_directory(query)
        running = kind(query, listener, self._session, self._collect, checkpoint)
        running.begin()
        return running

    def _checkpoint_directory(self, query: QueryDescriptor) -> str:
        """The job's own directory below the configured one, or a temporary one."""
        configured = query.job_graph.configuration.get(CHECKPOINT_DIRECTORY)
        if configured is not None:
            return str(Path(configured.removeprefix("file://")) / query.job_id)
        directory = tempfile.mkdtemp(prefix=f"firesteel-{query.job_id[:8]}-")
        self._temporary.append(directory)
        return directory

    def close(self) -> None:
        """Remove the temporary checkpoint directories; no query runs any more."""
        while self._temporary:
            shutil.rmtree(self._temporary.pop(), ignore_errors=True)


class _Run:
    """What both kinds of runs share: a thread that runs the pipeline, and reports that go to the listener's loop."""

    def __init__(
        self,
        query: QueryDescriptor,
        listener: DataPlaneListener,
        session: Callable[[], Any],
        collect: Collect,
        checkpoint: str,
    ) -> None:
        self._query = query
        self._listener = listener
        self._get_session = session
        self._collect = collect
        self._checkpoint = checkpoint
        self._plan = StagePlan(query.job_graph)
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._ended = asyncio.Event()
        self._next_time: int | None = None
        self._thread = threading.Thread(target=self._run, name=f"query-{query.job_id[:8]}", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def stop(self) -> None:
        """Stop the run and wait for its thread."""
        self._stopping.set()
        # A thread of its own and not one of the loop's pool: that is closed already when the process is about to end.
        threading.Thread(target=self._interrupt_until_ended, name="interrupter", daemon=True).start()
        await self._ended.wait()

    def _interrupt_until_ended(self) -> None:
        """Again and again: what is only about to start can't be interrupted yet."""
        while self._thread.is_alive():
            # A JVM that is gone, because the process ends, needs no interrupting: Py4J tells it in either way.
            with contextlib.suppress(Py4JError, OSError):
                self._interrupt()
            self._thread.join(0.5)
        self._tell(self._ended.set)

    def _interrupt(self) -> None:
        raise NotImplementedError

    def _execute(self, session: Any) -> None:
        """Run to the end of input, or until `_stopping`."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            session = self._get_session()
            if not self._stopping.is_set():
                self._execute(session)
        except Exception as error:
            if not self._stopping.is_set():
                failure = failure_of_spark_error(error, traceback.format_exc())
                self._tell(self._listener.query_failed, failure)
            return
        if not self._stopping.is_set():
            self._tell(self._listener.query_finished)

    def _tell(self, call: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            # The loop is closed: nobody waits for the answer any more.
            self._stopping.set()

    def _stages(self, frame: Any, run: Any) -> Any:
        """All stages, one behind the other, over the rows that start the slots."""
        from pyspark.sql import functions

        from firesteel.spark.map_in_arrow import map_in_arrow
        from firesteel.spark.shim import Stage

        levels = tuple(self._plan.level_of_gate)
        frame = map_in_arrow(frame, Stage(run, 0, levels))
        for stage in range(1, self._plan.levels):
            frame = frame.repartitionById(self._query.slots, functions.col("target"))
            frame = map_in_arrow(frame, Stage(run, stage, levels))
        return frame

    def _finish_batch(self, frame: Any, batch_id: int) -> None:
        """Run the batch, read the reports, commit the sinks, tell the listener."""
        from firesteel.spark.shim import BATCH_ID_PROPERTY

        frame.sparkSession.sparkContext.setLocalProperty(BATCH_ID_PROPERTY, str(batch_id))
        table = frame.select("gate", "payload").toArrow()
        reports: list[StageReport] = []
        for gate, payload in zip(table["gate"].to_pylist(), table["payload"].to_pylist(), strict=True):
            assert gate == REPORT_GATE, f"a row of gate {gate} was not consumed"
            reports += decode(payload)[0][0]  # type: ignore[index]
        commit((c for report in reports for c in report.committables), self._collect)
        times = [report.next_time for report in reports if report.next_time is not None]
        self._next_time = min(times, default=None)
        self._tell(self._listener.subtasks_progressed, _progress(reports))


def _progress(reports: list[StageReport]) -> list[SubtaskProgress]:
    return [
        SubtaskProgress(s.vertex_id, s.subtask_index, s.records_in, s.records_out, s.has_ended)
        for report in reports
        for s in report.subtasks
    ]


class _StreamingQuery(_Run):
    """One Structured Streaming query: its source is a row per slot and batch, the enumerator plans the batches."""

    _handle: Any = None

    def _execute(self, session: Any) -> None:
        from firesteel.spark.shim import RemoteSlots

        enumerator = SplitEnumerator(self._query.job_graph, self._checkpoint)
        slots = self._query.slots
        source = (
            session.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", slots)
            .option("numPartitions", slots)
            .load()
            .select("value")
        )
        frame = self._stages(source, RemoteSlots(self._addresses(), self._checkpoint))
        ended = threading.Event()
        errors: list[Exception] = []

        def on_batch(batch: Any, batch_id: int) -> None:
            if ended.is_set() or self._stopping.is_set():
                raise _StopQueryError
            try:
                if not enumerator.plan(batch_id, self._stopping.wait, lambda: self._next_time):
                    raise _StopQueryError
                started = time.monotonic()
                self._finish_batch(batch, batch_id)
                enumerator.batch_took(time.monotonic() - started)
            except Exception as error:
                errors.append(error)
                raise
            if enumerator.has_ended:
                ended.set()

        self._handle = (
            frame.writeStream.foreachBatch(on_batch)
            .option("checkpointLocation", f"{self._checkpoint}/spark")
            .trigger(processingTime=_trigger(self._query.job_graph.configuration))
            .start()
        )
        while self._handle.isActive and not ended.wait(0.05):
            pass
        if ended.is_set():
            self._handle.stop()
        elif errors:
            raise errors[0]
        else:
            self._handle.awaitTermination(0)

    def _addresses(self) -> tuple[str, ...]:
        addresses = dict.fromkeys(range(self._query.slots), "")
        for subtask in self._query.subtasks:
            addresses[subtask.slot] = subtask.address
        return tuple(addresses.values())

    def _interrupt(self) -> None:
        if self._handle is not None:
            self._handle.stop()


class _StopQueryError(Exception):
    """Ends the query from inside a batch."""


def _trigger(configuration: dict[str, str]) -> str:
    """How often a batch starts: `execution.checkpointing.interval`, else as soon as the one before it ended."""
    interval = configuration.get(CHECKPOINT_INTERVAL)
    return "0 seconds" if interval is None else f"{Duration.parse(interval).to_millis()} milliseconds"


class _BatchJob(_Run):
    """One DataFrame job over all input."""

    _context: Any = None

    def _execute(self, session: Any) -> None:
        from firesteel.spark.batch_shim import LocalSlots

        self._context = session.sparkContext
        self._context.setJobGroup(self._query.job_id, self._query.job_graph.name, interruptOnCancel=True)
        plan = SplitEnumerator(self._query.job_graph, self._checkpoint).plan_all()
        job = cloudpickle.dumps(self._query.job_graph, protocol=pickle.HIGHEST_PROTOCOL)
        slots = self._query.slots
        frame = session.range(0, slots, 1, slots)
        self._finish_batch(self._stages(frame, LocalSlots(job, self._query.attempt, plan, self._checkpoint)), 0)

    def _interrupt(self) -> None:
        if self._context is not None:
            self._context.cancelJobGroup(self._query.job_id)
