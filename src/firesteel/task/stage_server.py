"""The server of one slot's stages: it rejects stale requests, repeats recorded answers, and runs the rest.

Spark may send a task twice (speculation, a lost executor) and late (a worker that outlives its job). Three rules keep
that harmless:

1. A request belongs to a deployment, a run, a batch and a try. The slot serves its own deployment only, and nothing
   older than what it has seen.
2. Within a try a stage has one answer. It is recorded until the next try or batch, and a second copy of the task gets
the recorded answer, so consumers see the same buffers whichever copy Spark uses.
3. If the process with the record is gone, the try is over (`TryIsOverError`), and the batch is retried.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator

from firesteel.common.files.spill_file import SpillFile
from firesteel.operators.chain.operator import TaskInfo
from firesteel.operators.chain.operator_errors import USER_ERRORS
from firesteel.task.batch_plan import BatchPlan, SubtaskReport
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.versions import BatchTry

_RECORD_BYTES = 32 << 20
"""Maximum size of an answer that is kept in memory; the rest goes to a file."""

_BEFORE_ANY = BatchTry(0, -1, 0)

OpenTasks = Callable[[StageRequest], SlotTasks]


class StaleRequestError(Exception):
    """A request belongs to an earlier deployment, run, batch or try; the arguments are it and the newest one seen."""

    def __str__(self) -> str:
        asked, seen = self.args
        return f"the request is for {asked}, the slot is at {seen}"


class StageServer:
    """The server that runs requested stages of one slot.

    Args:
        deployment: The deployment of the slot's tasks, see `protocol.deployment_of`.
        open_tasks: Creates the tasks on the first request.
    """

    def __init__(self, deployment: str, open_tasks: OpenTasks) -> None:
        self.deployment = deployment
        self._open_tasks = open_tasks
        self._tasks: SlotTasks | None = None
        self._at = _BEFORE_ANY
        self._answers: dict[int, _Answer] = {}

    def serve(self, request: StageRequest, rows: Iterable[tuple[int, int, bytes]]) -> Generator[Row]:
        """Yield the output rows of a stage; `rows` is the output of earlier stages for the slot.

        If the caller stops early, the tasks are closed, and the next request starts from its parent version.

        Raises:
            StaleRequestError: the request is older than one that the slot has seen.
            TryIsOverError: a process that is gone has run the stage in this try.
            UserFunctionError: user code raised.
        """
        self._follow(request)
        answer = self._answers.get(request.stage)
        if answer is not None:
            for _ in rows:  # Read all rows even if they are not needed, as the sender must not block.
                pass
            yield from answer
            return
        is_done = False
        try:
            answer = _Answer(request.temporary)
            for row in self._run(request, rows):
                answer.append(row)
                yield row
            self._answers[request.stage] = answer
            is_done = True
        finally:
            # Also without an error: a caller that goes away in the middle leaves operators with half of a batch.
            if not is_done:
                self.close()

    def _follow(self, request: StageRequest) -> None:
        if request.deployment != self.deployment:
            raise StaleRequestError(f"tasks {request.deployment}", f"tasks {self.deployment}")
        if request.at < self._at:
            raise StaleRequestError(request.at, self._at)
        if request.at > self._at:
            # Another run starts from a checkpoint, which the open tasks are ahead of.
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

    @property
    def tasks(self) -> SlotTasks | None:
        """The tasks, if there are any now; may be called by other threads."""
        return self._tasks

    def turns(self) -> tuple[list[TaskInfo], TaskInfo | None]:
        """Return all subtasks, and the one that runs now, or None; may be called by other threads."""
        tasks = self._tasks
        return ([], None) if tasks is None else tasks.turns()

    def progress(self, stage: int) -> list[SubtaskReport]:
        """Return the reports of a stage's subtasks."""
        return [] if self._tasks is None else self._tasks.progress(stage)

    def close(self) -> None:
        """Close the tasks; errors are printed, as no caller waits for them."""
        tasks, self._tasks = self._tasks, None
        self._answers.clear()
        if tasks is not None:
            try:
                tasks.close()
            except USER_ERRORS:
                traceback.print_exc()


class _Answer:
    """The recorded rows of an answer, which can be read repeatedly."""

    def __init__(self, temporary: str | None) -> None:
        self._temporary = temporary
        self._rows: list[Row] = []
        self._bytes = 0
        self._file: SpillFile | None = None
        self._places: list[tuple[int, int]] = []

    def append(self, row: Row) -> None:
        self._rows.append(row)
        self._bytes += len(row[3])
        if self._bytes > _RECORD_BYTES:
            if self._file is None:
                self._file = SpillFile(self._temporary)
            self._places.append(self._file.write(self._rows))
            self._rows, self._bytes = [], 0

    def __iter__(self) -> Iterator[Row]:
        for place in self._places:
            assert self._file is not None
            yield from self._file.read(place)
        yield from self._rows
