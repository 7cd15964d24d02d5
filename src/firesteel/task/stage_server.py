"""Serves the stages of one slot: refuses what is stale, repeats what is done, runs the rest.

Spark may send a task twice (speculation, a lost executor) and late (a worker that outlives its job). Three rules keep
that harmless:

1. A request belongs to a deployment, a run, a batch and a try. The slot serves its own deployment only, and nothing
   older than what it has seen.
2. Within a try a stage puts out one answer. It is recorded until the next try or batch, and a second copy of the task
   gets the record: its consumers see the same buffers, whichever copy Spark takes.
3. If the process that had the record is gone, the try is over (`TryIsOverError`), and the batch is tried anew.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator

from firesteel.operators.spill import SpillFile
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.slot_tasks import BatchPlan, SlotTasks, SubtaskReport
from firesteel.task.versions import BatchTry

_RECORD_BYTES = 32 << 20
"""So much of an answer is kept in memory, the rest in a file."""

_BEFORE_ANY = BatchTry(0, -1, 0)

OpenTasks = Callable[[StageRequest], SlotTasks]


class StaleRequestError(Exception):
    """A request belongs to tasks, a run, a batch or a try that are over; the arguments are it and what was seen."""

    def __str__(self) -> str:
        asked, seen = self.args
        return f"the request is for {asked}, the slot is at {seen}"


class StageServer:
    """Runs the stages that requests ask for.

    Args:
        deployment: The tasks that run in the slot, see `protocol.deployment_of`.
        open_tasks: Makes the tasks, for the first request.
    """

    def __init__(self, deployment: str, open_tasks: OpenTasks) -> None:
        self.deployment = deployment
        self._open_tasks = open_tasks
        self._tasks: SlotTasks | None = None
        self._at = _BEFORE_ANY
        self._answers: dict[int, _Answer] = {}

    def serve(self, request: StageRequest, rows: Iterable[tuple[int, int, bytes]]) -> Generator[Row]:
        """Yield the rows that a stage puts out; `rows` are what earlier stages put out for the slot.

        If the caller gives up in the middle, the tasks are closed: the next request starts from its parent version.

        Raises:
            StaleRequestError: the request is older than what the slot has seen.
            TryIsOverError: the stage was run in this try by a process that is gone.
            UserFunctionError: user code raised.
        """
        self._follow(request)
        answer = self._answers.get(request.stage)
        if answer is not None:
            for _ in rows:  # Whoever sends them must not block.
                pass
            yield from answer
            return
        is_done = False
        try:
            answer = _Answer()
            for row in self._run(request, rows):
                answer.append(row)
                yield row
            self._answers[request.stage] = answer
            is_done = True
        finally:
            if not is_done:
                self.close()

    def _follow(self, request: StageRequest) -> None:
        if request.deployment != self.deployment:
            raise StaleRequestError(f"tasks {request.deployment}", f"tasks {self.deployment}")
        if request.at < self._at:
            raise StaleRequestError(request.at, self._at)
        if request.at > self._at:
            if request.at.run != self._at.run:
                self.close()
            self._at = request.at
            self._answers.clear()

    def _run(self, request: StageRequest, rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Row]:
        if self._tasks is None:
            self._tasks = self._open_tasks(request)
        batch: BatchPlan = pickle.loads(request.plan)
        return self._tasks.run_stage(
            request.stage, request.at, request.parent, batch, rows, is_remote=request.is_remote
        )

    def progress(self, stage: int) -> list[SubtaskReport]:
        """Return what the subtasks of a stage did so far."""
        return [] if self._tasks is None else self._tasks.progress(stage)

    def close(self) -> None:
        """Close the tasks; their errors are printed, as nobody waits for an answer."""
        tasks, self._tasks = self._tasks, None
        self._answers.clear()
        if tasks is not None:
            try:
                tasks.close()
            except Exception:
                traceback.print_exc()


class _Answer:
    """The rows of an answer, to be read any number of times."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._bytes = 0
        self._file: SpillFile | None = None
        self._places: list[tuple[int, int]] = []

    def append(self, row: Row) -> None:
        self._rows.append(row)
        self._bytes += len(row[3])
        if self._bytes > _RECORD_BYTES:
            if self._file is None:
                self._file = SpillFile(None)
            self._places.append(self._file.write(self._rows))
            self._rows, self._bytes = [], 0

    def __iter__(self) -> Iterator[Row]:
        for place in self._places:
            assert self._file is not None
            yield from self._file.read(place)
        yield from self._rows
