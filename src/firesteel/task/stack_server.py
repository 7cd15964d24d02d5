"""Samples of the stacks of a slot process, for flame graphs, profiles and thread dumps.

User code runs in the main thread, which can't answer by itself while it is in a long call.

Why: `docs/decisions/0054-stacks-are-sampled-by-a-thread.md`.

Questions (see `question_server`): `{"samples": 100, "delay": 0.05, "depth": 100}` or `{"dump": true}`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from firesteel.common.json_types import Json
from firesteel.common.our_code import OUR_CODE
from firesteel.common.stack_frames import Frame, frames_of, threads_of_this_process
from firesteel.operators.chain.operator import Operator, OperatorInput, TaskInfo
from firesteel.task.question_server import STACKS, QuestionServer, socket_of

_MEASURED_S = 0.001
_ON_CPU_SHARE = 0.1
"""A thread that has used its processor for this share of the time before a sample computes, or waits for its turn at a
busy processor. One that waits for data uses none."""

OPERATOR = "operator "
"""What labels of operators begin with."""

_OPERATORS = f"{OUR_CODE}/operators"
_WAITS_FOR_TURN = "waits for its turn in the slot"


class Turns(NamedTuple):
    """The subtasks of the slot, and the one that runs now, or None between them."""

    all: Sequence[TaskInfo]
    running: TaskInfo | None


def stack_socket(directory: Path, process_id: int) -> Path:
    """Return the socket at which a slot process answers."""
    return socket_of(directory, process_id, STACKS)


class StackServer:
    """Answers requests for the stacks of this process.

    Args:
        path: The socket.
        turns: Returns the subtasks and whose turn it is; called in another thread than the main one.
    """

    def __init__(self, path: Path, turns: Callable[[], Turns]) -> None:
        self._turns = turns
        self._main = threading.main_thread().ident or 0
        self._server = QuestionServer(path, self._answer)

    def start(self) -> None:
        """Start the thread, which ends with the process."""
        self._server.start()

    def _answer(self, request: Mapping[str, float]) -> Json:
        if request.get("dump"):
            return {"threads": [list(thread) for thread in threads_of_this_process(operator_label)]}
        samples = _Samples(int(request["depth"]))
        begun_s = time.monotonic()
        for number in range(1, int(request["samples"]) + 1):
            time.sleep(max(0.0, begun_s + number * request["delay"] - _MEASURED_S - time.monotonic()))
            self._take(samples)
        return {"subtasks": samples.to_json()}

    def _take(self, samples: _Samples) -> None:
        is_on_cpu = _uses_processor(self._main)
        # One after the other without an await of the lock in between: the turn fits the stack.
        turns, frame = self._turns(), sys._current_frames().get(self._main)
        if frame is not None:
            samples.add(turns, frame, is_on_cpu)


def _uses_processor(thread: int) -> bool:
    """Return whether a thread uses a processor, or would if there were one for it."""
    if not hasattr(time, "pthread_getcpuclockid"):  # on macOS: user code has the process to itself
        used_s: Callable[[], float] = time.process_time
    else:
        clock = time.pthread_getcpuclockid(thread)

        def used_s() -> float:
            return time.clock_gettime(clock)

    before_s, begun_s = used_s(), time.monotonic()
    time.sleep(_MEASURED_S)
    return used_s() - before_s >= _ON_CPU_SHARE * (time.monotonic() - begun_s)


class _Samples:
    """The samples of the subtasks of a slot."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._subtasks: dict[tuple[str, int], _SubtaskSamples] = {}

    def add(self, turns: Turns, frame: FrameType, is_on_cpu: bool) -> None:
        """Add a sample to each subtask: the stack to the one that runs, or to all if the slot works for all of them."""
        stack = tuple(frames_of(frame, self._depth, operator_label))
        for task in turns.all:
            known = self._subtasks.setdefault((task.vertex_id, task.subtask_index), _SubtaskSamples(task.vertex_name))
            if turns.running is None or turns.running is task:
                known.add(stack, is_on_cpu)
            else:
                name = f"{turns.running.vertex_name} ({turns.running.subtask_index + 1}/{turns.running.parallelism})"
                known.add(((f"{_WAITS_FOR_TURN}: {name} runs", "", 0),), False)

    def to_json(self) -> Json:
        """Return the fields of `SubtaskStacks` of all subtasks."""
        return [
            [vertex_id, one.vertex_name, subtask, [[list(f) for f in stack] for stack in one.stacks], one.samples]
            for (vertex_id, subtask), one in self._subtasks.items()
        ]


class _SubtaskSamples:
    def __init__(self, vertex_name: str) -> None:
        self.vertex_name = vertex_name
        self.stacks: dict[tuple[Frame, ...], int] = {}
        self.samples: list[Json] = []

    def add(self, stack: tuple[Frame, ...], is_on_cpu: bool) -> None:
        self.samples.append([self.stacks.setdefault(stack, len(self.stacks)), is_on_cpu])


def operator_label(frame: FrameType) -> str | None:
    """Return the operator that a frame of ours runs, as `operator 'Map'`, or None."""
    code = frame.f_code
    if not code.co_filename.startswith(_OPERATORS) or code.co_varnames[:1] not in (("self",), ("operator",)):
        return None
    found = frame.f_locals.get(code.co_varnames[0])
    if isinstance(found, OperatorInput):
        found = found.operator
    return f"{OPERATOR}{found.name!r}" if isinstance(found, Operator) else None
