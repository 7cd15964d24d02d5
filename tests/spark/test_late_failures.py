"""What a process says of tasks that have failed already is not said of those that were deployed after them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.spark import slot_processes
from firesteel.spark.slot_processes import SlotProcesses
from firesteel.task.messages import LENGTH, Closed, Deployed, Failed, Hello, encode_message

FIRST, SECOND = "a_b_0_0", "a_b_0_1"
FAILURE = {"message": "MemoryError", "vertex_id": "b", "subtask_index": 0}
PROCESS = 2**22 + 1


class Server:
    """Starts no processes: the test speaks for them."""

    is_alive = True

    def __init__(self) -> None:
        self.ordered: asyncio.Queue[str] = asyncio.Queue()

    def order(self, name: str, *_: object) -> int:
        self.ordered.put_nowait(name)
        return 1

    async def ended_orders(self) -> AsyncIterator[int]:
        await asyncio.Event().wait()
        yield 0


class Listener:
    """Keeps the failures of attempts."""

    def __init__(self) -> None:
        self.failed: asyncio.Queue[str] = asyncio.Queue()

    def task_state_changed(self, attempt: str, state: ExecutionState, *_: object) -> None:
        if state is ExecutionState.FAILED:
            self.failed.put_nowait(attempt)


class Process:
    """Speaks for a slot process, whose connection is closed with it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, slots: SlotProcesses, name: str) -> Process:
        process = cls(*await asyncio.open_unix_connection(slots._control_path))
        process.say(Hello(name, PROCESS))
        return process

    def say(self, message: object) -> None:
        self._writer.write(encode_message(message))

    async def hear(self) -> Any:
        (length,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        return pickle.loads(await self._reader.readexactly(length))

    def end(self) -> None:
        self._writer.close()


def task(attempt: str) -> TaskDeploymentDescriptor:
    number = int(attempt[-1])
    return TaskDeploymentDescriptor("job", "job", attempt, number, "b", "Map", 0, 1, 1, "slot", 0, 0, False, b"", {})


async def failed_with_its_second_task(then: Callable[[SlotProcesses, Process], Awaitable[None]]) -> list[str]:
    """Return which attempts fail if the first one has failed, the second one was sent, and then something happens."""
    server, listener = Server(), Listener()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slot_processes, "take_slot_server", lambda: server)
        patch.setattr(slot_processes, "leave_slot_server", lambda _: None)
        slots = SlotProcesses(listener)  # type: ignore[arg-type]
        await slots.open_slot("slot", 0)
        deploying = asyncio.create_task(slots.deploy(task(FIRST)))
        process = await Process.connect(slots, await server.ordered.get())
        process.say(Deployed((await process.hear()).execution_attempt_id))
        await deploying
        process.say(Failed("a_0", FAILURE))
        assert await listener.failed.get() == FIRST
        deploying = asyncio.create_task(slots.deploy(task(SECOND)))
        assert (await process.hear()).execution_attempt_id == SECOND
        await then(slots, process)
        deploying.cancel()
        process.end()
        patch.setattr(slot_processes, "_CLOSE_TIMEOUT_S", 0.1)
        await slots.close()
    return [listener.failed.get_nowait() for _ in range(listener.failed.qsize())]


async def use_too_much(slots: SlotProcesses, process: Process) -> None:
    await slots._exceeded(PROCESS, "it uses too much")


async def use_too_much_while_it_leaves(slots: SlotProcesses, process: Process) -> None:
    process.say(Deployed(SECOND))
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(slots.cancel(SECOND))
    await process.hear()
    await slots._exceeded(PROCESS, "it uses too much")
    process.say(Closed())
    await closing


async def fail_with_the_first_task(slots: SlotProcesses, process: Process) -> None:
    process.say(Failed("a_0", FAILURE))
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("then", [use_too_much, use_too_much_while_it_leaves, fail_with_the_first_task])
def test_a_task_does_not_fail_of_what_happened_to_the_one_before_it(then: Any) -> None:
    assert asyncio.run(failed_with_its_second_task(then)) == []


async def use_too_much_again(slots: SlotProcesses, process: Process) -> None:
    process.say(Deployed(SECOND))
    await asyncio.sleep(0.01)
    await slots._exceeded(PROCESS, "it uses too much")


async def fail_again(slots: SlotProcesses, process: Process) -> None:
    process.say(Deployed(SECOND))
    process.say(Failed("a_1", FAILURE))
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("then", [use_too_much_again, fail_again])
def test_a_task_fails_of_what_happens_once_its_process_has_taken_it(then: Any) -> None:
    assert asyncio.run(failed_with_its_second_task(then)) == [SECOND]
