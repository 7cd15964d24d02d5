"""A STREAMING job: one small Spark job after the other, each over what came in meanwhile."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.local_path import local_path
from firesteel.common.time import Duration
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.spark.commits import commit
from firesteel.spark.gateway import CORES
from firesteel.spark.lanes import Lanes
from firesteel.spark.pipeline import Pipeline
from firesteel.spark.remote_slots import RemoteSlots
from firesteel.spark.run import Run
from firesteel.task.protocol import deployment_of
from firesteel.task.slot_tasks import BatchPlan

CHECKPOINT_INTERVAL = "execution.checkpointing.interval"
BUFFER_TIMEOUT = "execution.buffer-timeout.interval"
_DEFAULT_BUFFER_TIMEOUT = "100 ms"


@dataclass(slots=True)
class _SavepointRequest:
    """A savepoint that was asked for; `answer` gets its path or an error."""

    directory: str
    after: AfterSavepoint
    answer: asyncio.Future[str]


@dataclass(slots=True)
class _CheckpointRequest:
    """A checkpoint that was asked for; `answer` gets its id or an error."""

    full: bool
    answer: asyncio.Future[int]


class StreamingRun(Run):
    """Runs batches until all input is read, and takes checkpoints.

    A batch begins as soon as there is something to do, but at most one per `execution.buffer-timeout.interval`. Behind
    each batch the state of all slots is a version that a lost slot goes back to. Behind the first batch after each
    `execution.checkpointing.interval` (without: behind each), or after somebody asked for one, a checkpoint is taken
    and what sinks have ready is committed. If nothing comes in any more, an empty batch is run for the last of it.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        configuration = self._query.job_graph.configuration
        self._interval_s = _seconds(configuration.get(CHECKPOINT_INTERVAL, "0 ms"))
        self._spacing_s = _seconds(configuration.get(BUFFER_TIMEOUT, _DEFAULT_BUFFER_TIMEOUT))
        self._wake = threading.Event()
        self._savepoints: deque[_SavepointRequest] = deque()
        self._checkpoint_requests: deque[_CheckpointRequest] = deque()
        self._is_over = False
        self._enumerator = SplitEnumerator(self._query.job_graph, checkpoint_interval_s=self._interval_s)
        self._checkpoints = Checkpoints(self._plan, self._directory, self._commit)
        self._begun_s = self._checkpointed_s = float("-inf")
        self._awaits_checkpoint = False
        self._ends_with_savepoint = False

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Take a savepoint between two batches: its path.

        Raises:
            FiresteelError: it could not be written, or the run ended before.
        """
        request = _SavepointRequest(directory, after, self._loop.create_future())
        self._savepoints.append(request)
        self._requested()
        return await request.answer

    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint behind the next batch, which is an empty one if nothing comes in: its id.

        Raises:
            FiresteelError: the run ended before.
        """
        request = _CheckpointRequest(full, self._loop.create_future())
        self._checkpoint_requests.append(request)
        self._requested()
        return await request.answer

    def _requested(self) -> None:
        """A thread that is over serves nobody."""
        if self._is_over:
            self._refuse_requests()
        self._wake_up()

    def _wake_up(self) -> None:
        self._wake.set()

    def _commit(self, committables: list[Any]) -> None:
        commit(committables, self._collect)

    def _execute(self) -> None:
        try:
            self._run_batches()
        finally:
            self._checkpoints.end()

    def _run_batches(self) -> None:
        restored = self._checkpoints.recover(self._enumerator)
        slots = self._slots()
        lanes = Lanes.of(slots.addresses, int(self._context.getConf().get(CORES)))
        pipeline = Pipeline(self._context, slots, self._plan, lanes, str(self._directory))
        if restored is not None:
            self._tell(self._listener.checkpoint_restored, restored)
        while (plan := self._next_plan()) is not None:
            self._run_batch(pipeline, plan)

    def _run_batch(self, pipeline: Pipeline, plan: BatchPlan) -> None:
        self._begun_s = time.monotonic()
        is_due = self._begun_s - self._checkpointed_s >= self._interval_s
        asked = tuple(self._checkpoint_requests)
        saved = tuple(self._savepoints)
        plan = replace(
            plan,
            is_checkpoint=is_due or bool(asked) or bool(saved) or self._enumerator.has_ended,
            in_full=any(request.full for request in asked),
            is_savepoint=bool(saved),
        )
        at = self._checkpoints.next_batch()
        reports = pipeline.run_batch(at, plan, self._checkpoints.parents, self._stopping.is_set)
        self._checkpoints.batch_ended(at.batch_id, reports)
        self._enumerator.batch_ended(subtask for report in reports for subtask in report.subtasks)
        self._awaits_checkpoint = not plan.is_checkpoint
        if plan.is_checkpoint:
            self._checkpointed_s = time.monotonic()
            stats = self._checkpoints.complete(self._enumerator, self._begun_s)
            self._tell(self._listener.checkpoint_completed, stats)
            for request in asked:
                self._checkpoint_requests.popleft()
                self._tell(_answer, request.answer, stats.checkpoint_id, None)
        if reports[0].try_number == 1:
            self._enumerator.batch_took(time.monotonic() - self._begun_s)
        # At the end sinks have finished everything, and after it somebody may remove what there is to save.
        for _ in tuple(self._savepoints) if self._enumerator.has_ended else saved:
            self._serve(self._savepoints.popleft())
        self._tell_progress(reports)

    def _next_plan(self) -> BatchPlan | None:
        """Return the next batch when there is something to do; None if the run is to end."""
        while not (self._stopping.is_set() or self._ends_with_savepoint):
            self._wake.clear()
            if self._enumerator.has_ended:
                return None
            if self._savepoints:
                drains = self._savepoints[0].after is AfterSavepoint.DRAIN
                return self._enumerator.plan_end() if drains else self._enumerator.plan_nothing()
            wait_s = self._begun_s + self._spacing_s - time.monotonic()
            if wait_s <= 0:
                now = time.time_ns() // 1_000_000
                plan = self._enumerator.plan(now)
                due = self._checkpoints.next_time
                is_asked = bool(self._checkpoint_requests)
                checkpoint_in_s = self._checkpoint_in_s()
                if plan.ranges or plan.ended or is_asked or checkpoint_in_s <= 0 or (due is not None and due <= now):
                    return plan
                wait_s = min(self._enumerator.pause_s(now), checkpoint_in_s)
                if due is not None:
                    wait_s = min(wait_s, (due - now) / 1000)
            self._wake.wait(max(wait_s, 0.001))
        return None

    def _checkpoint_in_s(self) -> float:
        """When a checkpoint is due for what has been processed since the last one; never if nothing has."""
        if not self._awaits_checkpoint:
            return math.inf
        return self._checkpointed_s + self._interval_s - time.monotonic()

    def _serve(self, request: _SavepointRequest) -> None:
        """Take a savepoint after a batch in which the sinks have finished what they had begun."""
        try:
            stats = self._checkpoints.savepoint(local_path(request.directory), self._enumerator)
        except Exception as error:
            self._tell(_answer, request.answer, None, error)
            return
        self._tell(self._listener.checkpoint_completed, stats)
        self._tell(_answer, request.answer, stats.external_path, None)
        if request.after is AfterSavepoint.CANCEL:
            self._stopping.wait()
        self._ends_with_savepoint |= request.after is not AfterSavepoint.GO_ON

    def _refuse_requests(self) -> None:
        self._is_over = True
        for what, requests in (("savepoint", self._savepoints), ("checkpoint", self._checkpoint_requests)):
            for request in requests:
                error = RuntimeError(f"job {self._query.job_id} ended before the {what} was taken")
                _answer(request.answer, None, error)
            requests.clear()

    def _slots(self) -> RemoteSlots:
        """Return where the slots are and whose tasks run in them."""
        addresses, deployments = [""] * self._query.slots, [""] * self._query.slots
        for subtask in self._query.subtasks:
            addresses[subtask.slot] = subtask.address
            deployments[subtask.slot] = deployment_of(subtask.execution_attempt_id)
        return RemoteSlots(tuple(addresses), tuple(deployments))


def _answer(answer: asyncio.Future[Any], result: str | int | None, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


def _seconds(text: str) -> float:
    return Duration.parse(text).to_millis() / 1000
