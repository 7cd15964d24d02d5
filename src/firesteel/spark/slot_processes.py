"""Execution of tasks in slot processes: the `TaskRunner` of a TaskExecutor.

A slot server forks one process per slot and pipelined region, so that a failing region does not affect others. Each
slot process connects back over a Unix socket. If that connection breaks unexpectedly, the process died, and a new one
is started under the same address with the same tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import secrets
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from firesteel.common.options.python_dependencies import DEPENDENCIES
from firesteel.common.stack_frames import ThreadText
from firesteel.errors import FiresteelError
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_runner import TaskStateListener
from firesteel.spark.cancellation_timeout import cancellation_timeout_s
from firesteel.spark.failures import task_failure
from firesteel.spark.slot_lifecycle import Actions, DeployTask, SlotAction, SlotLifecycle, SlotState
from firesteel.spark.slot_questions import forget_process
from firesteel.spark.slot_relay import SlotRelay
from firesteel.spark.slot_servers import SlotServer, leave_slot_server, take_slot_server
from firesteel.spark.slot_stacks import dump_threads, running_operator, sample_stacks
from firesteel.spark.slot_states import SlotStates
from firesteel.spark.slot_watch import SlotWatch
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
from firesteel.task.preloading import modules_of
from firesteel.task.protocol import deployment_of
from firesteel.task.slot_address import SlotAddress
from firesteel.task.slot_limits import UNLIMITED, SlotLimits
from firesteel.task.state_seal import UNSEALED, StateSeal

_CLOSE_TIMEOUT_S = 5.0
"""Time for tasks to close when the TaskExecutor itself ends."""

_START_TIMEOUT_S = 60.0
_DEPLOY_TIMEOUT_S = 60.0
_MOST_EARLY_ENDS = 5


@dataclass(slots=True)
class _Slot:
    """The tasks of one region in an open slot, with the life cycle of their process and the connection to it.

    Attributes:
        name: Names the process.
        allocation_id: The slot.
        path: The path of its data socket.
        ordered_from: The server that its process was ordered from last.
        order: The number of that order; None if it could not be given.
        early_ends: How many processes, one after the other, ended before they connected.
        attempts: Attempts that were deployed to a process.
        reported: Attempts that were reported as RUNNING.
        confirmed: Attempts that the current process has confirmed.
        failed: The process that has reported a failure and has confirmed no task since.
        changed: Set and replaced whenever something about the process has changed.
    """

    name: str
    allocation_id: str
    path: str
    life: SlotLifecycle[TaskDeploymentDescriptor] = field(default_factory=SlotLifecycle)
    writer: asyncio.StreamWriter | None = None
    attempts: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    failed: int | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    cancellation_timeout_s: float | None = None
    ordered_from: SlotServer | None = None
    order: int | None = None
    early_ends: int = 0

    def notify(self) -> None:
        """Wake up all waiters after a change."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float | None) -> None:
        """Wait until a condition holds.

        Raises:
            TimeoutError: the condition did not hold in time.
        """
        async with asyncio.timeout(timeout_s):
            while not condition():
                await self.changed.wait()


class SlotStartError(FiresteelError):
    """The process of a slot did not start or did not accept tasks; the argument describes the attempts."""

    def __str__(self) -> str:
        return str(self.args[0])


class SlotProcesses:
    """The slot processes of one TaskExecutor, which it starts, monitors and ends.

    Args:
        listener: The TaskExecutor.
        host: The address for connections from other hosts; None if there are no other hosts.
        tls: The TLS settings for connections from other hosts; None disables encryption.
        seal: Signs and verifies state files; slot processes receive it over their control connection.
        limits: What each slot may use.
    """

    def __init__(
        self,
        listener: TaskStateListener,
        host: str | None = None,
        tls: InternalTls | None = None,
        seal: StateSeal = UNSEALED,
        limits: SlotLimits = UNLIMITED,
    ) -> None:
        self._seal = seal
        self._limits = limits
        self._slot_watch = SlotWatch(limits, self._process_ids, self._exceeded)
        self._listener = listener
        self._directory = TemporaryDirectory("slots")
        self._states = SlotStates(self._directory.path)
        self._relay = None if host is None else SlotRelay(host, self._directory.path, tls)
        self._addresses: dict[str, SlotAddress] = {}
        self._slots: dict[str, _Slot] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._forker: SlotServer | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the server that forks slot processes, once and early, because it takes a while."""
        # The first tasks of a job come together, and would start a server each.
        async with self._starting:
            if self._forker is not None and self._forker.is_alive:
                return
            if self._server is None:
                self._server = await asyncio.start_unix_server(self._serve, self._control_path)
            self._forker = take_slot_server()
            self._slot_watch.start()
            self._watcher = asyncio.create_task(self._watch(self._forker))

    @property
    def _control_path(self) -> str:
        return str(self._directory.path / "control")

    # --- TaskRunner --------------------------------------------------------------------------------------------

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        """Return the address of a new slot; a process starts with the first task that needs one."""
        # A new name for each allocation: a process of the former one may still listen at its socket.
        path = str(self._directory.path / f"slot-{slot_index}-{secrets.token_hex(4)}")
        address = SlotAddress(path)
        if self._relay is not None:
            await self._relay.start()
            address = self._relay.address_of(path)
        self._addresses[allocation_id] = address
        return str(address)

    def _slot_of(self, tdd: TaskDeploymentDescriptor) -> _Slot:
        """Return the slot entry of a task; the tasks of a region share a process."""
        path = self._addresses[tdd.allocation_id].of_region(tdd.region).path
        name = f"{tdd.allocation_id}-{tdd.region}"
        return self._slots.setdefault(name, _Slot(name, tdd.allocation_id, path))

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        """Deploy a task to the slot's process; BATCH tasks run inside Spark's workers and need none.

        Raises:
            SlotStartError: no process started, or it did not confirm the task, in time.
        """
        slot = self._slot_of(tdd)
        life = slot.life
        for attempt_id, task in list(life.tasks.items()):
            # They are of the attempt before, whose end may not have been reported yet; a new process must not run them.
            if task.attempt_number != tdd.attempt_number:
                del life.tasks[attempt_id]
        if tdd.is_batch:
            life.tasks[tdd.execution_attempt_id] = tdd
            self._report_running(slot, tdd.execution_attempt_id)
            return
        slot.cancellation_timeout_s = cancellation_timeout_s(tdd.configuration)
        slot.attempts.add(tdd.execution_attempt_id)
        await self._perform(slot, life.deploy(tdd.execution_attempt_id, tdd))
        for _ in range(2):
            try:
                await self._await_confirmation(slot, tdd)
                return
            except TimeoutError:
                # No process started, or it did not confirm the task: retry once with another process.
                life.order_failed()
                await self._perform(slot, life.timed_out() or life.reorder())
        life.tasks.pop(tdd.execution_attempt_id, None)
        raise SlotStartError(
            f"the process of slot {slot.allocation_id} did not take task {tdd.task_name_with_subtask} within "
            f"{_DEPLOY_TIMEOUT_S:.0f} s, nor did another one"
        )

    async def _await_confirmation(self, slot: _Slot, tdd: TaskDeploymentDescriptor) -> None:
        """Wait until a process has confirmed the task, or until the task is no longer wanted there."""
        attempt_id = tdd.execution_attempt_id

        def is_settled() -> bool:
            return attempt_id in slot.confirmed or attempt_id not in slot.life.tasks

        await slot.wait_until(lambda: slot.life.state is SlotState.SERVING or is_settled(), self._patience_s(slot))
        await slot.wait_until(is_settled, _DEPLOY_TIMEOUT_S)

    def _patience_s(self, slot: _Slot) -> float | None:
        """Return the timeout in seconds for a process to serve, including a cancellation in progress."""
        if not slot.life.is_leaving:
            return _START_TIMEOUT_S
        timeout_s = slot.cancellation_timeout_s
        return None if timeout_s is None else timeout_s + _START_TIMEOUT_S

    async def cancel(self, execution_attempt_id: str) -> None:
        """Close the tasks of the attempt's region in its slot, which end together."""
        for slot in self._slots.values():
            if execution_attempt_id in slot.life.tasks:
                await self._close_tasks(slot, slot.cancellation_timeout_s)
                break
            if execution_attempt_id in slot.attempts:
                await self._await_end_of_cancellation(slot)
                break
        # Also for an attempt that is not here (any more): the JobMaster waits for this answer.
        self._listener.task_state_changed(execution_attempt_id, ExecutionState.CANCELED)

    async def _await_end_of_cancellation(self, slot: _Slot) -> None:
        """Wait for a cancellation that another call has started."""
        await slot.wait_until(lambda: not slot.life.is_leaving, None)

    async def close_slot(self, allocation_id: str) -> None:
        """Stop the slot's processes."""
        self._addresses.pop(allocation_id, None)
        slots = [slot for slot in self._slots.values() if slot.allocation_id == allocation_id]
        for slot in slots:
            del self._slots[slot.name]
        await asyncio.gather(*(self._release(slot, slot.cancellation_timeout_s) for slot in slots))

    async def _release(self, slot: _Slot, timeout_s: float | None) -> None:
        """End a slot's process, and remove its socket: the next allocation has another one."""
        await self._close_tasks(slot, timeout_s)
        if slot.writer is not None:
            slot.writer.close()
        _remove(slot.path)

    async def close(self) -> None:
        """Stop all processes and remove their files."""
        await self._slot_watch.stop()
        slots, self._slots = list(self._slots.values()), {}
        await asyncio.gather(*(self._release(slot, _CLOSE_TIMEOUT_S) for slot in slots))
        if self._server is not None:
            self._server.close()
        await self._end_connections()
        if self._forker is not None:
            assert self._watcher is not None
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
            leave_slot_server(self._forker)
        if self._relay is not None:
            await self._relay.close()
        self._directory.remove()

    async def _end_connections(self) -> None:
        """Wait until the control connections, which were closed, have ended, before the event loop may end."""
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=_CLOSE_TIMEOUT_S)
            for connection in late:
                connection.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def sample_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks in their slot processes."""
        processes = self._processes_of(request.job_id, request.vertex_id)
        return await sample_stacks(self._directory.path, processes, request)

    async def look_up_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks in their slot processes."""
        processes = self._processes_of(request.job_id, request.vertex_id)
        return await self._states.look_up(processes, request)

    def _processes_of(self, job_id: str, vertex_id: str | None) -> list[int]:
        """Return the processes that run a vertex of a job, or any of them if it is None."""
        return [
            slot.life.process_id
            for slot in self._slots.values()
            if slot.life.process_id is not None
            and any(tdd.job_id == job_id and vertex_id in (None, tdd.vertex_id) for tdd in slot.life.tasks.values())
        ]

    async def dump_threads(self) -> tuple[ThreadText, ...]:
        """Return the threads of all slot processes."""
        named = {
            slot.life.process_id: ", ".join(tdd.task_name_with_subtask for tdd in slot.life.tasks.values())
            for slot in self._slots.values()
            if slot.life.process_id is not None
        }
        return await dump_threads(self._directory.path, named)

    # --- processes ---------------------------------------------------------------------------------------------

    async def _watch(self, forker: SlotServer) -> None:
        """Reorder processes that end before they connect; those of a server end with it."""
        async for order in forker.ended_orders():
            for slot in [one for one in self._unconnected() if one.order == order]:
                slot.early_ends += 1
                await self._reorder(slot)
        for slot in [one for one in self._unconnected() if one.ordered_from is forker]:
            await self._reorder(slot)

    def _unconnected(self) -> list[_Slot]:
        """Return the slots for which a process was ordered that has not connected."""
        return [slot for slot in self._slots.values() if slot.life.state is SlotState.STARTING]

    async def _reorder(self, slot: _Slot) -> None:
        """Order another process in place of one that will not connect; give up if that happens again and again."""
        # Ignored if a process has connected; then it is killed below, and its tasks go to the next one.
        slot.life.order_failed()
        try:
            if slot.early_ends >= _MOST_EARLY_ENDS:
                raise SlotStartError(
                    f"{slot.early_ends} processes of slot {slot.allocation_id} ended before they connected"
                )
            await self._perform(slot, slot.life.reorder())
        except SlotStartError as error:
            self._fail_all(slot, error)

    async def _perform(self, slot: _Slot, actions: Actions[TaskDeploymentDescriptor]) -> None:
        """Perform the actions of a slot's life cycle."""
        for action in actions:
            if isinstance(action, DeployTask):
                self._send(slot, _deploy_message(action.task, self._seal, self._limits))
            elif action is SlotAction.ORDER:
                await self._order(slot)
            elif action is SlotAction.CANCEL:
                self._send(slot, CancelAll())
                # User code may be in a long call and not read the message; the signal interrupts it.
                _signal(slot.life.process_id, signal.SIGUSR1)
            elif action is SlotAction.KILL:
                _signal(slot.life.process_id, signal.SIGKILL)
        slot.notify()

    async def _order(self, slot: _Slot) -> None:
        """Order a process for the slot from the server.

        Raises:
            SlotStartError: the server can't be started.
        """
        slot.confirmed.clear()
        slot.order = None
        try:
            await self.start()
            assert self._forker is not None
            slot.ordered_from = self._forker
            slot.order = self._forker.order(slot.name, self._control_path, slot.path, _modules_of(slot.life.tasks))
        except ConnectionError:
            pass  # `_watch` handles a killed server.
        except OSError as error:
            slot.life.order_failed()
            raise SlotStartError(f"the server of slot processes can't be started: {error}") from error

    async def _close_tasks(self, slot: _Slot, timeout_s: float | None) -> None:
        """Close the tasks of a process; kill it if it does not respond in time."""
        slot.reported.clear()
        slot.confirmed.clear()
        await self._perform(slot, slot.life.cancel())
        try:
            await slot.wait_until(lambda: not slot.life.is_leaving, timeout_s)
        except TimeoutError:
            await self._perform(slot, slot.life.timed_out())

    def _send(self, slot: _Slot, message: object) -> None:
        if slot.writer is not None:
            slot.writer.write(encode_message(message))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one control connection, for the life of one slot process."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        slot: _Slot | None = None
        process_id = 0
        try:
            hello = await _read(reader)
            assert isinstance(hello, Hello)
            slot, process_id = self._slots.get(hello.name), hello.process_id
            if slot is None:
                return
            actions = slot.life.connected(process_id)
            if SlotAction.DISCONNECT in actions:
                return
            slot.writer, slot.early_ends = writer, 0
            await self._perform(slot, actions)
            while True:
                await self._take(slot, await _read(reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            if slot is not None:
                await self._process_ended(slot, process_id)

    async def _process_ended(self, slot: _Slot, process_id: int) -> None:
        self._states.forget(process_id)
        forget_process(self._directory.path, process_id)
        # A late end of a former process must not take the connection of its successor.
        if slot.life.process_id == process_id:
            slot.writer = None
            slot.confirmed.clear()
        try:
            await self._perform(slot, slot.life.ended(process_id))
        except SlotStartError as error:
            self._fail_all(slot, error)

    def _fail_all(self, slot: _Slot, error: SlotStartError) -> None:
        slot.early_ends = 0
        for attempt_id, tdd in list(slot.life.tasks.items()):
            self._listener.task_state_changed(attempt_id, ExecutionState.FAILED, tdd.failure(str(error)))
        slot.life.tasks.clear()
        slot.notify()

    async def _take(self, slot: _Slot, message: object) -> None:
        """Process a message of a slot process."""
        if isinstance(message, Deployed):
            slot.confirmed.add(message.execution_attempt_id)
            slot.failed = None
            if message.execution_attempt_id in slot.life.tasks:
                self._report_running(slot, message.execution_attempt_id)
            slot.notify()
        elif isinstance(message, Closed):
            await self._perform(slot, slot.life.closed())
        elif isinstance(message, Progress):
            for subtask in message.subtasks:
                attempt = _attempt_of(slot, subtask.vertex_id, subtask.subtask_index)
                if attempt is not None:
                    self._listener.task_progress(attempt, subtask.records_in, subtask.records_out)
        elif isinstance(message, Failed):
            self._take_failure(slot, message)

    def _take_failure(self, slot: _Slot, message: Failed) -> None:
        slot.failed = slot.life.process_id
        failure = task_failure(message.failure)
        attempt = _attempt_of(slot, failure.vertex_id, failure.subtask_index) or next(iter(slot.life.tasks), None)
        # The failure may be of tasks that were replaced while the message was on its way.
        if attempt is not None and deployment_of(attempt) == message.deployment:
            self._listener.task_state_changed(attempt, ExecutionState.FAILED, failure)

    def _process_ids(self) -> list[int]:
        return [one.life.process_id for one in self._slots.values() if one.life.process_id is not None]

    async def _exceeded(self, process_id: int, problem: str) -> None:
        """Fail the task whose turn it is in a process that uses more than its slot has."""
        running = await running_operator(self._directory.path, process_id)
        slot = next((one for one in self._slots.values() if one.life.process_id == process_id), None)
        # What is wanted of a process whose tasks are leaving, or have failed, is what another process will run.
        if slot is None or not slot.life.tasks or slot.life.is_leaving or slot.failed == process_id:
            return
        attempt = _attempt_of(slot, *running[:2]) or next(iter(slot.life.tasks))
        failure = replace(slot.life.tasks[attempt].failure(problem), operator_name=running[2])
        self._listener.task_state_changed(attempt, ExecutionState.FAILED, failure)

    def _report_running(self, slot: _Slot, attempt: str) -> None:
        """Report an attempt as RUNNING once, however many processes run it."""
        if attempt not in slot.reported:
            slot.reported.add(attempt)
            self._listener.task_state_changed(attempt, ExecutionState.RUNNING)


def _attempt_of(slot: _Slot, vertex_id: str | None, subtask_index: int | None) -> str | None:
    for attempt, tdd in slot.life.tasks.items():
        if (tdd.vertex_id, tdd.subtask_index) == (vertex_id, subtask_index):
            return attempt
    return None


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _deploy_message(tdd: TaskDeploymentDescriptor, seal: StateSeal, limits: SlotLimits) -> Deploy:
    return Deploy(
        tdd.execution_attempt_id,
        tdd.serialized_job_graph,
        tdd.global_slot,
        tdd.region,
        tdd.attempt_number,
        tuple(sys.path),
        tdd.configuration,
        seal,
        limits,
    )


def _modules_of(tasks: Mapping[str, TaskDeploymentDescriptor]) -> Iterable[str]:
    """Return the modules to import for tasks; none if the job brings packages, perhaps in other versions than ours."""
    task = next(iter(tasks.values()), None)
    if task is None or not task.configuration.keys().isdisjoint(DEPENDENCIES):
        return ()
    return modules_of(task.serialized_job_graph)


def _signal(process_id: int | None, number: signal.Signals) -> None:
    if process_id is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, number)


async def _read(reader: asyncio.StreamReader) -> object:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return pickle.loads(await reader.readexactly(length))
