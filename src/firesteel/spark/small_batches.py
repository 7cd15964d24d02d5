"""Small batches: one task of Spark per executor, and one for all stages where an executor has all slots.

Most of the time of a small batch is Spark's: to build RDDs, to start a task per lane and stage, to write and read
shuffle files, and to return results. So one task serves all slots of an executor. If no other executor has slots, the
output of a stage is already where the next stage needs it, and the task runs all stages.

The only task of a local Spark is the same for all batches, so its RDD is built once: it gets the stages of its batch,
and returns their output, through a socket of the driver, while Spark starts and ends the job. As long as batches come
one after the other, the task of the next one is started before its input is known.

Large batches use one task per core, see `LaneJobs`.

Why: `docs/decisions/0034-small-batches-in-one-task.md`.
"""

from __future__ import annotations

import logging
import pickle
import socket
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError

from firesteel.spark.lane_jobs import LaneJobs, RunStages
from firesteel.spark.lanes import Lanes
from firesteel.spark.placed_partitions import placed_partitions
from firesteel.spark.rdds import call_site
from firesteel.spark.shim import Stage
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.task.protocol import END_GATE, ERROR_GATE, REQUEST_GATE, FrameParser, Row, frame

logger = logging.getLogger(__name__)

_POLL_S = 1.0
"""Interval in seconds at which the driver checks whether the job is over although its task never answered."""

_PATIENCE_S = 30.0
"""Maximum time in seconds that a task waits for its batch, so that a job that waits for a broker keeps no thread."""

_REASON_S = 5.0
"""How long Spark is asked why a task was lost; on a busy machine its listeners lag by more than a second."""

_MOST_TRIES = 10
"""Upper bound of Spark's tries of a task that are looked at."""

_RECEIVED_BYTES = 1 << 20


class SmallBatchError(Exception):
    """The task of a small batch failed; the message is the traceback in Spark's worker."""


class SmallBatches:
    """Runs small batches of one region.

    Args:
        context: The SparkContext; Spark must be local.
        slots: The slots of the region's lanes.

    Attributes:
        lanes: The single lane with all slots.
    """

    def __init__(self, context: Any, slots: Iterable[int]) -> None:
        self.lanes = Lanes((tuple(sorted(slots)),), ("",))
        self._directory = TemporaryDirectory("batches")
        self._context = context
        self._expected: JavaObject | None = None
        self._expected_s = 0.0
        path = str(self._directory.path / "socket")
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.settimeout(_POLL_S)
        try:
            self._server.bind(path)
            self._server.listen()
            tasks = placed_partitions(context, self.lanes.hosts).mapPartitionsWithIndex(
                _SmallBatchTask(path, _PATIENCE_S)
            )
            self._tasks = tasks._jrdd
        except BaseException:  # The JVM may be gone, too.
            self.close()
            raise

    def __call__(self, stages: Sequence[Stage]) -> list[Row]:
        """Run the stages of a batch one after the other and return the output of the last one.

        Raises:
            SmallBatchError: user code raised, or the batch must be retried.
            Py4JJavaError: Spark could not run the task.
            ConnectionError: the task's process is gone.
        """
        if time.monotonic() - self._expected_s > _PATIENCE_S / 2:
            self.stand_down()  # The task may end before it gets its stages.
        job, self._expected = self._expected or self._started(), None
        with self._connection_of_a_task(job) as connection:
            connection.sendall(frame((0, 0, REQUEST_GATE, pickle.dumps(stages, protocol=5))))
            rows: list[Row] = []
            for row in _received(connection):
                if row[2] == END_GATE:
                    return rows
                if row[2] == ERROR_GATE:
                    raise SmallBatchError(row[3].decode())
                rows.append(row)
        raise ConnectionError(f"Spark's task ended before its answer was complete: {self._failure_of(job)}")

    def expect(self) -> None:
        """Start the task of a batch that comes soon; it takes one of Spark's threads until then."""
        if self._expected is None:
            with suppress(OSError, Py4JError):  # The batch itself will raise the error.
                self._expected_s, self._expected = time.monotonic(), self._started()

    def stand_down(self) -> None:
        """End the task that waits for its batch, if there is one."""
        job, self._expected = self._expected, None
        if job is not None:
            with suppress(OSError, Py4JError):  # It may be cancelled, or gone with its worker or the JVM.
                self._connection_of_a_task(job).close()

    def _started(self) -> JavaObject:
        with call_site(self._context):
            return self._tasks.collectAsync()

    def _failure_of(self, job: JavaObject) -> str:
        """Return the first line of what Spark knows about a lost task, which it may already be trying again."""
        store = self._context._jsc.sc().statusStore()
        deadline = time.monotonic() + _REASON_S
        while time.monotonic() < deadline:
            for job_id in _elements(job.jobIds()):
                for stage in _elements(store.job(job_id).stageIds()):
                    for task in _elements(store.taskList(stage, 0, _MOST_TRIES)):
                        if task.errorMessage().isDefined():
                            return str(task.errorMessage().get()).partition("\n")[0]
            time.sleep(0.05)  # Spark's listeners lag behind.
        return "Spark does not say why"

    def _connection_of_a_task(self, job: JavaObject) -> socket.socket:
        """Return the connection of this job's task, or of one that came too late for its own batch; all are alike."""
        while True:
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                if job.isDone():
                    job.get()
                    raise ConnectionError("Spark's job ended without running its task") from None
            else:
                connection.settimeout(None)
                return connection

    def close(self) -> None:
        """Release the socket; tasks that wait for a batch end."""
        self.stand_down()
        self._server.close()
        self._directory.remove()


def small_batches(context: Any, addresses: Mapping[int, str]) -> AbstractContextManager[RunStages]:
    """Return what runs small batches.

    Args:
        context: The SparkContext.
        addresses: Slot -> its address, see `SlotAddress`.
    """
    if context._jsc.sc().isLocal():
        try:
            return closing(SmallBatches(context, addresses))
        except OSError as error:  # The path of a socket is limited to about 100 characters.
            text = "small batches are slower than they could be: no socket in the temporary directory: %s"
            logger.warning(text, error)
    return nullcontext(LaneJobs(context, Lanes.of(addresses, cores=1), fuses=True))


@dataclass(frozen=True, slots=True)
class _SmallBatchTask:
    """The function of the only task: it gets stages from the driver, and returns their output to it.

    Attributes:
        path: The driver's socket.
        patience_s: Maximum time in seconds until the stages come; then the task ends.
    """

    path: str
    patience_s: float

    def __call__(self, lane: int, rows: Iterable[Any]) -> Iterator[Any]:
        keyed: Iterable[tuple[int, Row]] = list(rows)  # Spark keeps only workers that have read all of their input.
        request: Row | None = None
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(self.path)
            # The driver may never come: it stopped, or gave the batch to others.
            connection.settimeout(self.patience_s)
            with suppress(TimeoutError):
                request = next(_received(connection), None)
            if request is None:
                return iter(())
            connection.settimeout(None)
            try:
                stages: Sequence[Stage] = pickle.loads(request[3])
                for stage in stages:
                    keyed = stage(lane, keyed)
                for _, row in keyed:
                    connection.sendall(frame(row))
            except Exception:
                connection.sendall(frame((0, 0, ERROR_GATE, traceback.format_exc().encode())))
                raise
            connection.sendall(frame((0, 0, END_GATE, b"")))
        return iter(())


def _elements(sequence: JavaObject) -> Iterator[JavaObject]:
    """Yield the elements of a sequence of Scala."""
    rest = sequence.iterator()
    while rest.hasNext():
        yield rest.next()


def _received(connection: socket.socket) -> Iterator[Row]:
    """Yield rows until the other side closes the connection."""
    parser = FrameParser()
    while data := connection.recv(_RECEIVED_BYTES):
        yield from parser.feed(data)
