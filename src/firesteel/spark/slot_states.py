"""The TaskExecutor's side of `task.state_lookups`: it asks slot processes for the values of keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypedDict

from firesteel.common.json_types import Json
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.spark.slot_questions import ask
from firesteel.task.question_server import STATE, socket_of

_MARGIN_S: Final = 3.0
"""Time for an answer beyond that for which the slot waits: the thread that answers shares a lock with user code."""


class _Answer(TypedDict, total=False):
    batch: int
    found: list[tuple[int, Json]]
    absent: list[int]
    problem: str
    about: str


async def look_up_state(directory: Path, processes: Iterable[int], request: StateRequest) -> tuple[StateAnswer, ...]:
    """Look up keys in processes concurrently; one that ends meanwhile, or does not answer, is left out."""
    question: dict[str, Json] = {
        "operator": request.operator_id,
        "state": request.state,
        "keys": list(request.keys),
        "wait": request.wait_s,
    }
    timeout_s = request.wait_s + _MARGIN_S

    async def answer_of(process: int) -> _Answer:
        nothing: _Answer = {}
        return await ask(socket_of(directory, process, STATE), question, timeout_s, nothing)

    answers = await asyncio.gather(*map(answer_of, processes))
    return tuple(_state_answer(answer) for answer in answers if answer)


def _state_answer(answer: _Answer) -> StateAnswer:
    return StateAnswer(
        answer.get("batch", -1),
        tuple((index, value) for index, value in answer.get("found", [])),
        tuple(answer.get("absent", [])),
        answer.get("problem", ""),
        answer.get("about", ""),
    )
