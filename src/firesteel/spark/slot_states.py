"""The TaskExecutor's side of `task.state_lookups`: it asks slot processes for the values of keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypedDict

from firesteel.common.json_types import Json
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.spark.slot_questions import SlotConnection
from firesteel.task.question_server import STATE, socket_of

_MARGIN_S: Final = 3.0
"""Time for an answer beyond that for which the slot waits: the thread that answers shares a lock with user code."""


class _Answer(TypedDict, total=False):
    batch: int
    found: list[tuple[int, Json]]
    absent: list[int]
    problem: str
    about: str


class SlotStates:
    """Looks up state in the slot processes of a TaskExecutor."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._connections: dict[int, SlotConnection] = {}
        self._late: set[asyncio.Task[_Answer]] = set()

    async def look_up(self, processes: Iterable[int], request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in processes concurrently; one that ends meanwhile, or does not answer, is left out.

        Each key is in one process: the others are not waited for when all keys are answered.
        """
        question: dict[str, Json] = {
            "operator": request.operator_id,
            "state": request.state,
            "keys": list(request.keys),
            "wait": request.wait_s,
        }
        waiting = {asyncio.create_task(self._ask(process, question, request.wait_s)) for process in processes}
        answers: list[StateAnswer] = []
        while waiting and sum(len(answer.found) + len(answer.absent) for answer in answers) < len(request.keys):
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            answers += (_state_answer(task.result()) for task in done if task.result())
        self._late |= waiting  # The loop itself would let go of them.
        for task in waiting:
            task.add_done_callback(self._late.discard)
        return tuple(answers)

    async def _ask(self, process: int, question: dict[str, Json], wait_s: float) -> _Answer:
        connection = self._connections.get(process)
        if connection is None:
            connection = self._connections[process] = SlotConnection(socket_of(self._directory, process, STATE))
        nothing: _Answer = {}
        return await connection.ask(question, wait_s + _MARGIN_S, nothing)

    def forget(self, process: int) -> None:
        """Close the connection to a process that has ended."""
        connection = self._connections.pop(process, None)
        if connection is not None:
            connection.close()


def _state_answer(answer: _Answer) -> StateAnswer:
    return StateAnswer(
        answer.get("batch", -1),
        tuple((index, value) for index, value in answer.get("found", [])),
        tuple(answer.get("absent", [])),
        answer.get("problem", ""),
        answer.get("about", ""),
    )
