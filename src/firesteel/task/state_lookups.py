"""Look-ups in the keyed state of a slot, while its main thread runs a batch.

A look-up sees the last batch that the subtask has completed. State in memory has views for that
(`operators.state.served_table`), made by the first look-up. A view can only be made, and state on disk can only be
read, between two batches: such look-ups wait for the batch that runs.

Why: `docs/decisions/0058-state-is-read-beside-the-batch.md`.

Question: `{"operator": id, "state": name, "keys": [...], "wait": seconds}`. Answer: one of

- `{"batch": number, "found": [[index of the key, value], ...], "absent": [index, ...]}`, for the keys of the slot,
- `{"problem": kind, "about": text}`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from firesteel.common.garbage_collection import collect_garbage_in_short_turns
from firesteel.common.json_types import Json
from firesteel.common.keys.canonical_keys import key_keeper, key_of
from firesteel.common.keys.key_groups import key_group_range
from firesteel.common.state_problems import StateProblem
from firesteel.common.values.json_keys import JsonKeyError, from_json
from firesteel.common.values.json_values import JsonValueError, to_json
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.operator import TaskInfo
from firesteel.operators.state.disk_list import DiskList
from firesteel.operators.state.entries import Entry, Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.map_table import MapTable
from firesteel.operators.state.served_table import UNUSED_AFTER_S
from firesteel.task.question_server import STATE, QuestionServer, socket_of
from firesteel.task.slot_tasks import SlotTasks

_SWITCH_S = 0.0005

Tasks = Callable[[], SlotTasks | None]
"""Returns the tasks of the slot, if there are any now."""


class Question(TypedDict):
    """A question, see above."""

    operator: str
    state: str
    keys: list[Json]
    wait: float


class LookupProblem(Exception):
    """A look-up that has no answer; the arguments are the kind of the problem, and what to say about it."""


def state_server(directory: Path, process_id: int, tasks: Tasks) -> QuestionServer[Question]:
    """Return the server that looks up state."""
    # By default a thread waits 5 ms until busy user code lets it run, and a look-up waits several times.
    usual_s = sys.getswitchinterval()

    def answer(question: Question) -> Json:
        sys.setswitchinterval(min(_SWITCH_S, usual_s))
        collect_garbage_in_short_turns(True)
        return answer_of(question, tasks)

    def rest() -> None:
        sys.setswitchinterval(usual_s)
        collect_garbage_in_short_turns(False)

    path = socket_of(directory, process_id, STATE)
    return QuestionServer(path, answer, rest, UNUSED_AFTER_S)


def answer_of(question: Question, tasks: Tasks) -> Json:
    """Return the answer to a question."""
    try:
        return _looked_up(question, tasks())
    except LookupProblem as problem:
        kind, about = problem.args
        return {"problem": kind.value, "about": about}


def _looked_up(question: Question, tasks: SlotTasks | None) -> Json:
    if tasks is None:
        raise LookupProblem(StateProblem.NOT_RUNNING, "")
    task, backend = _keyed_operator(tasks, question["operator"])
    states = backend.described_tables()
    if question["state"] not in states:
        raise LookupProblem(StateProblem.NO_STATE, ", ".join(sorted(map(repr, states))) or "none")
    table, kind = states[question["state"]]
    own = _own_keys(task, backend, question["keys"])
    stored, batch_id = _read(tasks, task, backend, (table, kind), list(own.values()), question["wait"])
    shown = [_shown(kind, value, backend.times_to_live.get(table)) for value in stored]
    return {
        "batch": batch_id,
        "found": [[index, _json(value)] for index, value in zip(own, shown, strict=True) if value is not None],
        "absent": [index for index, value in zip(own, shown, strict=True) if value is None],
    }


def _keyed_operator(tasks: SlotTasks, operator_id: str) -> tuple[TaskInfo, KeyedStateBackend]:
    # Lists of dicts are made without a bytecode in between, so the main thread does not change them meanwhile.
    subtasks = [subtask for stage in list(tasks.stages.values()) for subtask in list(stage.values())]
    for subtask in subtasks:
        for found, operator in subtask.operators:
            if found == operator_id:
                backend = getattr(operator, "backend", None)
                if not isinstance(backend, KeyedStateBackend):
                    raise LookupProblem(StateProblem.NO_STATE, "none, as it is not keyed")
                return subtask.task, backend
    raise LookupProblem(StateProblem.NO_OPERATOR if subtasks else StateProblem.NOT_RUNNING, "")


def _own_keys(task: TaskInfo, backend: KeyedStateBackend, keys: Sequence[Json]) -> dict[int, Entry]:
    """Return the keys of the subtask in the form in which tables have them, by their indexes in the question."""
    read, keep = from_json(backend.key_type), key_keeper(backend.key_type)
    groups = key_group_range(task.subtask_index, task.parallelism, task.max_parallelism)
    try:
        entries = {index: keep(read(key)) for index, key in enumerate(keys)}
    except JsonKeyError as error:
        raise LookupProblem(StateProblem.WRONG_KEY, str(error)) from None
    return {index: entry for index, entry in entries.items() if backend.key_group(entry) in groups}


def _read(
    tasks: SlotTasks,
    task: TaskInfo,
    backend: KeyedStateBackend,
    named: tuple[str, str],
    entries: list[Entry],
    wait_s: float,
) -> tuple[list[Stored], int]:
    table, kind = named
    if table in backend.served:
        return backend.served[table].read(entries)
    # Between two batches: nobody changes the tables while this thread has the turn.
    # As long as a batch runs, the main thread has it.
    if not tasks.turn.acquire(timeout=wait_s):
        raise LookupProblem(StateProblem.NOT_RUNNING, "")
    try:
        if backend.is_on_disk:
            return [_direct(backend, table, entry) for entry in entries], task.last_batch
        return backend.served_table(table, kind, task.last_batch).read(entries)
    finally:
        tasks.turn.release()


def _direct(backend: KeyedStateBackend, name: str, entry: Entry) -> Stored:
    table = backend.changing_table(name)
    if isinstance(table, MapTable):
        return dict(table.items(entry)) or None
    stored = table.data.get(entry)
    return list(stored) if isinstance(stored, DiskList) else stored


def _shown(kind: str, stored: Stored, ttl_ms: int | None) -> Stored:
    """Return the value of a state without what has expired; None if nothing is left."""
    if stored is None:
        return None
    deadline = None if ttl_ms is None else now_ms() - ttl_ms
    match kind:
        case "map":
            items = {key_of(key): _alive(value, deadline) for key, value in stored.items()}
            return {key: value for key, value in items.items() if deadline is None or value is not _OVER} or None
        case "list":
            elements = [_alive(value, deadline) for value in stored]
            return [value for value in elements if value is not _OVER] or None
    value = _alive(stored, deadline)
    return None if value is _OVER else value


class _Over:
    """Stands for a value that has expired."""


_OVER = _Over()


def _alive(stored: Stored, deadline: int | None) -> Stored:
    if deadline is None:
        return stored
    value, renewed_ms = stored
    return value if renewed_ms > deadline else _OVER


def _json(value: Stored) -> Json:
    try:
        return to_json(value)
    except JsonValueError as error:
        raise LookupProblem(StateProblem.NO_JSON, str(error)) from None
