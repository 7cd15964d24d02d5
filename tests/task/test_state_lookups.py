"""Look-ups in the state of an operator, between and during its batches."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.common import Row, Time, Types
from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.common.keys.key_groups import key_group_range
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.spark.slot_questions import SlotConnection
from firesteel.spark.slot_states import SlotStates
from firesteel.task import state_lookups
from firesteel.task.question_server import STATE, QuestionServer, socket_of
from firesteel.task.state_lookups import answer_of, state_server
from firesteel.testing import OperatorHarness
from tests.waiting import wait_for

ON_DISK = {"state.backend.type": "rocksdb"}


class Keep(KeyedProcessFunction):
    """Keeps what elements say, and calls `during` before it does."""

    during: Any = None

    def open(self, runtime_context: Any) -> None:
        named = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])
        limited = ValueStateDescriptor("limited", Types.LONG())
        limited.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(100)).build())
        self.row = runtime_context.get_state(ValueStateDescriptor("row", named))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))
        self.by = runtime_context.get_map_state(MapStateDescriptor("by", Types.STRING(), Types.LONG()))
        self.limited = runtime_context.get_state(limited)
        self.object = runtime_context.get_state(ValueStateDescriptor("object", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if Keep.during is not None:
            Keep.during()
        self.row.update(Row(value, str(value)))
        self.all.add(value)
        self.by.put(str(value % 2), value)
        self.limited.update(value)
        self.object.update(object())


class Slot:
    """A subtask of a slot, as the server of look-ups sees it."""

    def __init__(self, subtask: int = 0, **options: str) -> None:
        self.harness = OperatorHarness(
            KeyedProcessOperator(Keep(), Types.LONG()),
            key_selectors=[lambda value: value % 4],
            subtask_index=subtask,
            parallelism=2,
            configuration=options,
        )
        self.turn = threading.RLock()
        found = SimpleNamespace(operators=[("keep", self.harness.operator)], task=self.harness.operator.task)
        self.stages = {0: {"v": found}}
        self.batch = 0

    def run(self, *values: int) -> None:
        operator: Any = self.harness.operator
        with self.turn:
            groups = key_group_range(operator.task.subtask_index, 2, 128)
            self.harness.process_batch([one for one in values if operator.backend.key_group(one % 4) in groups])
            list(operator.state_parts(False))
            self.batch += 1
            operator.task.last_batch = self.batch
            operator.publish_state(self.batch)

    def ask(self, state: str, keys: list[Any], wait: float = 5.0, operator: str = "keep") -> Any:
        tasks: Any = self
        return answer_of({"operator": operator, "state": state, "keys": keys, "wait": wait}, lambda: tasks)


@pytest.fixture(params=[{}, ON_DISK], ids=["memory", "disk"])
def slots(request: pytest.FixtureRequest) -> list[Slot]:
    Keep.during = None
    found = [Slot(subtask, **request.param) for subtask in range(2)]
    for slot in found:
        slot.run(*range(8))
    return found


def looked_up(slots: list[Slot], state: str, keys: list[Any]) -> dict[Any, Any]:
    """Return the values that the slots have, each key in one of them."""
    answers = [slot.ask(state, keys) for slot in slots]
    found = {keys[index]: value for answer in answers for index, value in answer["found"]}
    absent = {keys[index]: None for answer in answers for index in answer["absent"]}
    assert len(found) + len(absent) == len(keys)
    assert not found.keys() & absent.keys()
    return found | absent


def test_each_slot_answers_for_its_keys(slots: list[Slot]) -> None:
    keys = [0, 1, 2, 3, 4]
    assert looked_up(slots, "row", keys) == {n: {"n": n + 4, "s": str(n + 4)} for n in range(4)} | {4: None}
    assert looked_up(slots, "all", keys) == {n: [n, n + 4] for n in range(4)} | {4: None}
    assert looked_up(slots, "by", keys) == {n: [[str(n % 2), n + 4]] for n in range(4)} | {4: None}
    for slot in slots:
        slot.run(*range(8, 12))
        assert slot.ask("row", keys)["batch"] == 2
    assert looked_up(slots, "all", keys) == {n: [n, n + 4, n + 8] for n in range(4)} | {4: None}


def test_what_has_expired_is_not_seen(slots: list[Slot], monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked_up(slots, "limited", [0, 1]) == {0: 4, 1: 5}
    monkeypatch.setattr("firesteel.task.state_lookups.now_ms", lambda: 2**50)
    assert looked_up(slots, "limited", [0, 1]) == {0: None, 1: None}


def test_a_look_up_during_a_batch_sees_the_batch_before() -> None:
    slot = Slot()
    slot.run(*range(8))
    before = slot.ask("row", [0, 1, 2, 3])
    seen: list[Any] = []

    def look() -> None:  # in the thread of the batch: it has the turn, so that only views answer
        thread = threading.Thread(target=lambda: seen.append(slot.ask("row", [0, 1, 2, 3], 0.0)))
        thread.start()
        thread.join()

    Keep.during = staticmethod(look)
    slot.run(*range(100, 108))
    Keep.during = None
    assert before["found"]
    assert seen == [before] * len(seen)
    assert seen
    assert slot.ask("row", [0, 1, 2, 3])["batch"] == 2


@pytest.mark.parametrize("options", [{}, ON_DISK], ids=["first", "disk"])
def test_a_look_up_that_needs_the_tables_waits_for_the_batch(options: dict[str, str]) -> None:
    slot = Slot(**options)
    slot.run(*range(8))
    began, may_end, answers = threading.Event(), threading.Event(), []

    def during() -> None:
        began.set()
        assert may_end.wait(30)

    Keep.during = staticmethod(during)
    batch = threading.Thread(target=lambda: slot.run(*range(100, 108)))
    batch.start()
    assert began.wait(30)
    assert slot.ask("row", [0], 0.0) == {"problem": "not running", "about": ""}
    asking = threading.Thread(target=lambda: answers.append(slot.ask("row", [0, 1, 2, 3], 30.0)))
    asking.start()
    may_end.set()
    batch.join()
    asking.join()
    Keep.during = None
    assert answers[0]["batch"] == 2


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (("nothing", [1]), ("no state", "'all', 'by', 'limited', 'object', 'row'")),
        (("row", ["x"]), ("wrong key", "the key 'x' does not have the type of the operator's keys, Long")),
        (("object", [0, 1, 2, 3]), ("no json", "values of builtins.object cannot be shown as JSON")),
    ],
)
def test_wrong_questions_are_named(
    slots: list[Slot], question: tuple[str, list[Any]], problem: tuple[str, str]
) -> None:
    answer = slots[0].ask(*question)
    assert answer["problem"] == problem[0]
    assert answer["about"].startswith(problem[1])


def test_a_slot_without_the_operator_says_so() -> None:
    slot = Slot()
    assert slot.ask("row", [1], operator="other")["problem"] == "no operator"
    slot.stages = {}
    assert slot.ask("row", [1])["problem"] == "not running"
    assert answer_of({"operator": "", "state": "", "keys": [], "wait": 0.0}, lambda: None)["problem"] == "not running"  # type: ignore[call-overload,index]


@pytest.fixture
def usual_turns() -> Iterator[float]:
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield usual
    sys.setswitchinterval(usual)
    gc.set_threshold(*thresholds)


QUESTION = {"operator": "keep", "state": "row", "keys": [1], "wait": 1.0}


def asked(connection: socket.socket) -> Any:
    connection.sendall(json.dumps(QUESTION).encode() + b"\n")
    return json.loads(connection.recv(1 << 16))


def test_threads_take_short_turns_as_long_as_somebody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usual_turns: float
) -> None:
    monkeypatch.setattr(state_lookups, "UNUSED_AFTER_S", 1.0)
    state_server(tmp_path, os.getpid(), lambda: None).start()
    gc.set_threshold(700, 10, 10)
    collect_garbage_rarely()
    usual_thresholds = gc.get_threshold()
    for _ in range(2):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(socket_of(tmp_path, os.getpid(), STATE)))
            for _ in range(2):
                assert asked(connection) == {"problem": "not running", "about": ""}
                assert sys.getswitchinterval() == pytest.approx(0.0005)
                assert gc.get_threshold()[0] * 10 == usual_thresholds[0]
            wait_for(lambda: sys.getswitchinterval() == pytest.approx(usual_turns))
            wait_for(lambda: gc.get_threshold() == usual_thresholds)
            assert connection.recv(1) == b"", "the connection of somebody who does not ask is closed"


async def test_a_connection_stays_and_is_made_again_after_an_error(tmp_path: Path) -> None:
    """The first look-up makes it; one that is too late does not leave its answer to the next one."""
    asked_by: list[int] = []
    late = threading.Event()

    def answer(question: Any) -> Any:
        asked_by.append(question["number"])
        if question["number"] == 2:
            late.wait(10)
        return question

    path = socket_of(tmp_path, os.getpid(), STATE)
    server = QuestionServer(path, answer, rest_after_s=0.5)
    accepted = count_accepted(server)
    server.start()
    connection = SlotConnection(path)
    assert [await connection.ask({"number": n}, 5.0, None) for n in range(2)] == [{"number": 0}, {"number": 1}]
    assert accepted == [1]
    answers = asyncio.gather(connection.ask({"number": 2}, 0.2, None), connection.ask({"number": 3}, 5.0, None))
    await asyncio.sleep(0.3)
    late.set()
    assert await answers == [None, {"number": 3}]
    assert (asked_by, accepted) == ([0, 1, 2, 3], [1, 1])
    await asyncio.sleep(1.0)  # Nobody asks.
    assert await connection.ask({"number": 4}, 5.0, None) == {"number": 4}
    assert accepted == [1, 1, 1]
    connection.close()


def count_accepted(server: QuestionServer[Any]) -> list[int]:
    found: list[int] = []
    original: Any = server._answer_all

    def counted(connection: socket.socket) -> None:
        found.append(1)
        original(connection)

    server._answer_all = counted  # type: ignore[method-assign]
    return found


async def test_the_answer_of_the_owner_is_enough(tmp_path: Path) -> None:
    waits = threading.Event()

    def owner(question: Any) -> Any:
        return {"batch": 7, "found": [[0, "a"]], "absent": [1]}

    def other(question: Any) -> Any:
        waits.wait(10)
        return {"problem": "not running", "about": ""}

    for process, answer in ((1, owner), (2, other)):
        QuestionServer(socket_of(tmp_path, process, STATE), answer).start()
    states = SlotStates(tmp_path)
    answers = await asyncio.wait_for(states.look_up([1, 2], StateRequest("j", "v", "o", "s", (1, 2), 5.0)), 5)
    assert answers == (StateAnswer(7, ((0, "a"),), (1,), "", ""),)
    waits.set()
    await asyncio.gather(*states._late)
    for process in (1, 2):
        states.forget(process)
