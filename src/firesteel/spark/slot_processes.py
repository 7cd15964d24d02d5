"""Runs tasks in slot processes: the `TaskRunner` of a TaskExecutor.

A slot server forks a process per slot. Each slot process calls back over a Unix socket; when that connection breaks
although nobody asked for it, the process died, and a new one is started under the same address with the same tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import secrets
import signal
import sys
from dataclasses import dataclass, field

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_runner import TaskStateListener
from firesteel.spark.failures import task_failure
from firesteel.spark.gateway import python_environment
from firesteel.spark.slot_relay import SlotRelay
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.task.messages import (
    LENGTH,
    CancelAll,
    Closed,
    Deploy,
    Deployed,
    Failed,
    Hello,
    Progress,
    encode_message,
)
from firesteel.task.slot_address import SlotAddress

_CANCEL_TIMEOUT_S = 5.0
"""A task that does not close in time is killed with its process."""

_START_TIMEOUT_S = 60.0


@dataclass(slots=True)
class _Slot:
    """One open slot: its tasks, and the connection to its process while that lives."""

    allocation_id: str
    path: str
    tasks: dict[str, TaskDeploymentDescriptor] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    process_id: int | None = None
    writer: asyncio.StreamWriter | None = None
    connected: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    is_forked: bool = False
    is_closing: bool = False


class SlotProcesses:
    """Starts, watches and ends the slot processes of one TaskExecutor.

    Args:
        listener: The TaskExecutor.
        host: Where slots take connections from other hosts; None if there are none.
    """

    def __init__(self, listener: TaskStateListener, host: str | None = None) -> None:
        self._listener = listener
        self._directory = TemporaryDirectory("slots")
        self._relay = None if host is None else SlotRelay(host, self._directory.path)
        self._slots: dict[str, _Slot] = {}
        self._server: asyncio.Server | None = None
        self._forker: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the server that forks slot processes; done once, early, since it takes a while."""
        async with self._starting:
            if self._forker is not None and self._forker.returncode is None:
                return
            if self._server is None:
                self._server = await asyncio.start_unix_server(self._serve, self._control_path)
            self._forker = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "firesteel.task.slot_server",
                stdin=asyncio.subprocess.PIPE,
                env=python_environment(),
            )
            self._watcher = asyncio.create_task(self._watch(self._forker))

    @property
    def _control_path(self) -> str:
        return str(self._directory.path / "control")

    # --- TaskRunner --------------------------------------------------------------------------------------------

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        """Name the slot's data socket; its process starts with the first task that needs one."""
        path = str(self._directory.path / f"slot-{slot_index}-{secrets.token_hex(4)}")
        self._slots[allocation_id] = _Slot(allocation_id, path)
        if self._relay is None:
            return str(SlotAddress(path))
        await self._relay.start()
        return str(self._relay.address_of(path))

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        """Hand a task to the slot's process. BATCH tasks need none: they run inside Spark's workers."""
        slot = self._slots[tdd.allocation_id]
        slot.tasks = {a: task for a, task in slot.tasks.items() if task.attempt_number == tdd.attempt_number}
        slot.tasks[tdd.execution_attempt_id] = tdd
        if tdd.is_batch:
            self._report(slot, tdd.execution_attempt_id, ExecutionState.RUNNING)
            return
        if not slot.is_forked:
            await self._fork(slot)
        await asyncio.wait_for(slot.connected.wait(), _START_TIMEOUT_S)
        self._send(slot, _deploy_message(tdd))

    async def cancel(self, execution_attempt_id: str) -> None:
        """Close the tasks of the slot that the attempt runs in; they all belong to one job and end together."""
        for slot in self._slots.values():
            if execution_attempt_id in slot.tasks:
                await self._close_tasks(slot)
                slot.tasks.pop(execution_attempt_id, None)
                break
        self._listener.task_state_changed(execution_attempt_id, ExecutionState.CANCELED)

    async def close_slot(self, allocation_id: str) -> None:
        """End the slot's process."""
        slot = self._slots.pop(allocation_id, None)
        if slot is not None:
            slot.is_closing = True
            await self._close_tasks(slot)
            if slot.writer is not None:
                slot.writer.close()

    async def close(self) -> None:
        """End all processes and remove their files."""
        await asyncio.gather(*(self.close_slot(allocation_id) for allocation_id in list(self._slots)))
        if self._forker is not None:
            assert self._watcher is not None
            self._watcher.cancel()
            assert self._forker.stdin is not None
            self._forker.stdin.close()
            await self._forker.wait()
        if self._server is not None:
            self._server.close()
        if self._relay is not None:
            await self._relay.close()
        self._directory.remove()

    # --- processes ---------------------------------------------------------------------------------------------

    async def _watch(self, forker: asyncio.subprocess.Process) -> None:
        """Have a new server fork what was asked of one that was killed: slot processes end with their server."""
        if await forker.wait() < 0:
            for slot in list(self._slots.values()):
                if slot.is_forked and slot.process_id is None:
                    await self._fork(slot)

    async def _fork(self, slot: _Slot) -> None:
        slot.is_forked = True
        await self.start()
        assert self._forker is not None
        assert self._forker.stdin is not None
        self._forker.stdin.write(f"{slot.allocation_id}\t{self._control_path}\t{slot.path}\n".encode())
        # A server that was killed is seen by `_watch`.
        with contextlib.suppress(ConnectionError):
            await self._forker.stdin.drain()

    async def _close_tasks(self, slot: _Slot) -> None:
        """Ask the process to close its tasks; kill it if it does not in time."""
        if slot.writer is None or not slot.running:
            return
        slot.running.clear()
        slot.closed.clear()
        self._send(slot, CancelAll())
        try:
            await asyncio.wait_for(slot.closed.wait(), _CANCEL_TIMEOUT_S)
        except TimeoutError:
            slot.is_closing = True
            _kill(slot.process_id)

    def _send(self, slot: _Slot, message: object) -> None:
        if slot.writer is not None:
            slot.writer.write(encode_message(message))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One control connection: the life of one slot process."""
        slot: _Slot | None = None
        try:
            hello = await _read(reader)
            assert isinstance(hello, Hello)
            slot = self._slots.get(hello.allocation_id)
            if slot is None:
                return
            slot.process_id, slot.writer = hello.process_id, writer
            for tdd in slot.tasks.values() if slot.running else ():
                self._send(slot, _deploy_message(tdd))
            slot.connected.set()
            while True:
                self._take(slot, await _read(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            if slot is not None:
                await self._process_ended(slot)

    async def _process_ended(self, slot: _Slot) -> None:
        slot.writer, slot.process_id, slot.is_forked = None, None, False
        slot.connected.clear()
        slot.closed.set()
        if not slot.is_closing and slot.running:
            await self._fork(slot)

    def _take(self, slot: _Slot, message: object) -> None:
        """Act on what a slot process says."""
        if isinstance(message, Deployed):
            if message.execution_attempt_id not in slot.running:
                self._report(slot, message.execution_attempt_id, ExecutionState.RUNNING)
        elif isinstance(message, Closed):
            slot.closed.set()
        elif isinstance(message, Progress):
            for subtask in message.subtasks:
                attempt = _attempt_of(slot, subtask.vertex_id, subtask.subtask_index)
                if attempt is not None:
                    self._listener.task_progress(attempt, subtask.records_in, subtask.records_out)
        elif isinstance(message, Failed):
            self._take_failure(slot, message)

    def _take_failure(self, slot: _Slot, message: Failed) -> None:
        failure = task_failure(message.failure)
        attempt = _attempt_of(slot, failure.vertex_id, failure.subtask_index) or next(iter(slot.tasks), None)
        if attempt is not None:
            slot.running.discard(attempt)
            self._listener.task_state_changed(attempt, ExecutionState.FAILED, failure)

    def _report(self, slot: _Slot, attempt: str, state: ExecutionState) -> None:
        slot.running.add(attempt)
        self._listener.task_state_changed(attempt, state)


def _attempt_of(slot: _Slot, vertex_id: str | None, subtask_index: int | None) -> str | None:
    for attempt, tdd in slot.tasks.items():
        if (tdd.vertex_id, tdd.subtask_index) == (vertex_id, subtask_index):
            return attempt
    return None


def _deploy_message(tdd: TaskDeploymentDescriptor) -> Deploy:
    return Deploy(
        tdd.execution_attempt_id,
        tdd.serialized_job_graph,
        tdd.global_slot,
        tdd.attempt_number,
        tuple(sys.path),
        tdd.configuration,
    )


def _kill(process_id: int | None) -> None:
    if process_id is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)


async def _read(reader: asyncio.StreamReader) -> object:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return pickle.loads(await reader.readexactly(length))
