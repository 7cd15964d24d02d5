"""Samples of the main thread of a slot process, asked for as the TaskExecutor does."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.operators.chain.operator import Operator, OperatorInput, Output, TaskInfo
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.spark.slot_questions import forget_process
from firesteel.spark.slot_stacks import dump_threads, sample_stacks
from firesteel.task.stack_server import StackServer, Turns, stack_socket

REQUEST = StackRequest("j", None, 10, 0.01, 100)


def task(vertex: str) -> TaskInfo:
    return TaskInfo("j", vertex, vertex.upper(), 0, 1, 128, 0, False, {})


class Working(Operator):
    """An operator whose records are functions to call."""

    def process(self, values: list[Callable[[], object]], timestamps: object) -> None:
        for value in values:
            value()


def asked(path: Path, request: StackRequest = REQUEST) -> Callable[[], tuple[SubtaskStacks, ...]]:
    """Ask from another thread, and return a function that waits for the answer."""
    found: list[tuple[SubtaskStacks, ...]] = []

    def ask() -> None:
        found.append(asyncio.run(sample_stacks(path, [os.getpid()], request)))

    thread = threading.Thread(target=ask)
    thread.start()

    def answer() -> tuple[SubtaskStacks, ...]:
        thread.join()
        return found[0]

    answer.is_there = lambda: not thread.is_alive()  # type: ignore[attr-defined]
    return answer


def compute(until: Callable[[], bool]) -> None:
    while not until():
        sum(range(1000))


def wait(until: Callable[[], bool]) -> None:
    while not until():
        time.sleep(0.2)


@pytest.fixture
def operator() -> Working:
    return Working("Parse", task("v"), Output())


@pytest.mark.parametrize(("work", "is_on_cpu"), [(compute, True), (wait, False)], ids=["computes", "waits"])
def test_a_sample_has_the_calls_the_operator_and_whether_it_computes(
    tmp_path: Path, operator: Working, work: Callable[[Callable[[], bool]], None], is_on_cpu: bool
) -> None:
    one, other = operator.task, task("w")
    StackServer(stack_socket(tmp_path, os.getpid()), lambda: Turns([one, other], one)).start()
    answer = asked(tmp_path)
    OperatorInput(operator).process([lambda: work(answer.is_there)], None)  # type: ignore[attr-defined]
    mine, others = answer()
    assert (mine.vertex_id, mine.subtask, len(mine.samples)) == ("v", 0, 10)
    names = [name for name, _, _ in mine.stacks[0]]
    begin = names.index("operator 'Parse'")
    assert names[begin + 1] == "firesteel.operators.chain.operator.OperatorInput.process"
    assert f"{__name__}.{work.__name__}" in names[begin:]
    on_cpu = [flag for stack, flag in mine.samples]
    assert on_cpu.count(is_on_cpu) >= 5, on_cpu
    assert [stack[0][0] for stack in others.stacks] == ["waits for its turn in the slot: V (1/1) runs"]
    assert {flag for _, flag in others.samples} == {False}


def test_all_subtasks_share_what_the_slot_does_between_them_and_depth_keeps_the_innermost_calls(tmp_path: Path) -> None:
    StackServer(stack_socket(tmp_path, os.getpid()), lambda: Turns([task("v"), task("w")], None)).start()
    answer = asked(tmp_path, StackRequest("j", "w", 3, 0.01, 2))
    compute(answer.is_there)  # type: ignore[attr-defined]
    (one,) = answer()
    assert one.vertex_id == "w"
    assert all(len(stack) <= 2 for stack in one.stacks)
    assert any(f"{__name__}.compute" in frame[0] for stack in one.stacks for frame in stack)


def test_a_thread_dump_has_all_threads_with_what_the_process_runs(tmp_path: Path, operator: Working) -> None:
    StackServer(stack_socket(tmp_path, os.getpid()), lambda: Turns([], None)).start()
    found: list[tuple[str, str]] = []
    waits = threading.Event()

    def dump() -> None:
        waits.wait()  # until the main thread is where it is looked for
        found.extend(asyncio.run(dump_threads(tmp_path, {os.getpid(): "V (1/1)"})))

    thread = threading.Thread(target=dump)

    def is_over() -> bool:
        waits.set()
        return not thread.is_alive()

    def call() -> None:
        thread.start()
        wait(is_over)

    OperatorInput(operator).process([call], None)
    (text,) = [text for name, text in found if name.startswith("MainThread")]
    assert text.startswith(f'slot process {os.getpid()} of V (1/1), thread "MainThread"\n')
    assert "  operator 'Parse'\n" in text
    assert "in wait\n    time.sleep(0.2)" in text


async def test_a_process_that_is_gone_has_no_samples(tmp_path: Path) -> None:
    assert await sample_stacks(tmp_path, [4711], REQUEST) == ()
    assert await dump_threads(tmp_path, {4711: ""}) == ()
    forget_process(tmp_path, 4711)


def test_nobody_asks_and_nothing_runs(tmp_path: Path) -> None:
    """The thread of the server waits in the kernel: its processor time stands still."""
    before = set(threading.enumerate())
    StackServer(stack_socket(tmp_path, os.getpid()), lambda: Turns([], None)).start()
    (thread,) = set(threading.enumerate()) - before
    assert thread.ident is not None
    if sys.platform != "linux":
        pytest.skip("no clock of a thread")
    clock = time.pthread_getcpuclockid(thread.ident)
    used_s = -1.0
    while used_s != (now_s := time.clock_gettime(clock)):  # it is about to wait
        used_s = now_s
        time.sleep(0.05)
    until_s = time.monotonic() + 0.3
    compute(lambda: time.monotonic() > until_s)
    assert time.clock_gettime(clock) == used_s
