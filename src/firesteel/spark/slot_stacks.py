"""The TaskExecutor's side of `task.stack_server`: it asks slot processes for their stacks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypedDict

from firesteel.common.json_types import Json
from firesteel.common.stack_frames import ThreadText
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.spark.slot_questions import ask
from firesteel.task.stack_server import OPERATOR, stack_socket

_MARGIN_S: Final = 3.0
"""Time for an answer beyond that of its samples: the thread that answers shares a lock with user code."""

_ALL_CALLS: Final = 1000

_SubtaskFields = tuple[str, str, int, list[list[tuple[str, str, int]]], list[tuple[int, bool]]]


class _Answer(TypedDict, total=False):
    subtasks: list[_SubtaskFields]
    threads: list[ThreadText]


async def sample_stacks(directory: Path, processes: Iterable[int], request: StackRequest) -> tuple[SubtaskStacks, ...]:
    """Sample the stacks of processes concurrently; one that ends meanwhile, or does not answer, has no samples."""
    order = {"samples": request.samples, "delay": request.delay_s, "depth": request.depth}
    timeout_s = request.samples * request.delay_s + _MARGIN_S
    answers = await asyncio.gather(*(_ask(directory, process, order, timeout_s) for process in processes))
    found = [_subtask(one) for answer in answers for one in answer.get("subtasks", [])]
    return tuple(one for one in found if request.vertex_id in (None, one.vertex_id))


async def dump_threads(directory: Path, processes: Mapping[int, str]) -> tuple[ThreadText, ...]:
    """Return the threads of processes, which are named by what they run."""
    asked = (_ask(directory, process, {"dump": True}, _MARGIN_S) for process in processes)
    answers = await asyncio.gather(*asked)
    found: list[ThreadText] = []
    for (process, tasks), answer in zip(processes.items(), answers, strict=True):
        slot = f"slot process {process}" + (f" of {tasks}" if tasks else "")
        found += [(f"{name} of {slot}", f"{slot}, thread {text}") for name, text in answer.get("threads", [])]
    return tuple(found)


async def running_operator(directory: Path, process: int) -> tuple[str | None, int | None, str | None]:
    """Return vertex, subtask and operator whose turn it is in a process, each None if that is not known."""
    answer = await _ask(directory, process, {"samples": 1, "delay": 0.001, "depth": _ALL_CALLS}, _MARGIN_S)
    for vertex_id, _, subtask, stacks, _ in answer.get("subtasks", []):
        names = [name for stack in stacks for name, file, _ in stack if not file and name.startswith(OPERATOR)]
        if names:
            return vertex_id, subtask, names[-1].removeprefix(OPERATOR).strip("'")
    return None, None, None


async def _ask(directory: Path, process: int, order: Mapping[str, Json], timeout_s: float) -> _Answer:
    return await ask(stack_socket(directory, process), order, timeout_s, {})


def _subtask(fields: _SubtaskFields) -> SubtaskStacks:
    vertex_id, vertex_name, subtask, stacks, samples = fields
    return SubtaskStacks(
        vertex_id,
        vertex_name,
        subtask,
        tuple(tuple((name, file, line) for name, file, line in stack) for stack in stacks),
        tuple((stack, is_on_cpu) for stack, is_on_cpu in samples),
    )
