"""The process of one slot: it waits for tasks on its control connection and for stages on its data socket.

All user code runs in its main thread. It ends when the control connection closes.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import selectors
import signal
import socket
import sys
import threading
import time
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn

from firesteel.common.process_limits import free_reserve
from firesteel.operators.chain.operator_errors import USER_ERRORS, failure_of
from firesteel.task.job_place import HeldDirectories, remote_store
from firesteel.task.messages import LENGTH, CancelAll, Closed, Deploy, Deployed, Failed, Hello, Progress, encode_message
from firesteel.task.protocol import (
    END_GATE,
    ERROR_GATE,
    TRY_OVER_GATE,
    StageRequest,
    deployment_of,
    read_frame,
    write_frame,
    write_message,
)
from firesteel.task.python_environment import fetch_artifacts, python_environment
from firesteel.task.restored_state import read_restored_state
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.stack_server import StackServer, Turns, stack_socket
from firesteel.task.stage_server import StageServer, StaleRequestError
from firesteel.task.state_lookups import state_server
from firesteel.task.version_store import VersionStore, region_directory
from firesteel.task.versions import TryIsOverError

_PROGRESS_EVERY_S = 0.5
_SOCKET_BUFFER = 1 << 20
_IMPORT_CHECK_S = 0.01


class TaskInterruptedError(BaseException):
    """The tasks were cancelled while user code ran; not an `Exception`, so that user code does not catch it."""


class SlotProcess:
    """A server for one slot that runs until its control connection closes."""

    def __init__(self, name: str, control_path: str, data_path: str) -> None:
        self._is_interruptible = False
        # Each `CancelAll` message comes with a signal, and the two may be seen in either order.
        self._interrupts = self._cancellations = 0
        signal.signal(signal.SIGUSR1, self._count_interrupt)
        signal.signal(signal.SIGUSR2, self._interrupt)
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Connected before user code runs; the end of this connection is how the TaskExecutor learns of the process's
        # death.
        self._control.connect(control_path)
        self._data = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._data_path = data_path
        self._server: StageServer | None = None
        self._deploy: Deploy | None = None
        self._failure: dict[str, Any] | None = None
        self._is_limited = self._is_spent = False
        self._held = HeldDirectories()
        self._environment: AbstractContextManager[None] | None = None
        directory = Path(control_path).parent
        StackServer(stack_socket(directory, os.getpid()), self._turns).start()
        state_server(directory, os.getpid(), self._tasks).start()
        self._send(Hello(name, os.getpid()))

    def _turns(self) -> Turns:
        """Return whose turn it is; called by the thread that samples stacks."""
        server = self._server
        # `_server` is read once: the main thread may take it away at any moment.
        return Turns([], None) if server is None else Turns(*server.turns())

    def _tasks(self) -> SlotTasks | None:
        """Return the tasks; called by the thread that looks up state."""
        server = self._server
        return None if server is None else server.tasks

    def run(self) -> None:
        """Serve both sockets until the control connection closes, one request at a time."""
        selector = selectors.DefaultSelector()
        selector.register(self._control, selectors.EVENT_READ)
        selector.register(self._data, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            # Orders first: a stage that is ready as well may be one of the tasks that are to be closed.
            if self._control in ready:
                self._take_order()
            elif self._server is None:
                # A stage can come before its tasks. It stays in the backlog, and must not make `select` return until
                # they are there.
                selector.unregister(self._data)
                self._take_order()
                selector.register(self._data, selectors.EVENT_READ)
            else:
                self._serve_stage()

    def _count_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += 1
        self._interrupt(number, frame)

    def _interrupt(self, _: int, frame: FrameType | None) -> None:
        """Interrupt the running tasks, as a `CancelAll` is on its way and their output is no longer needed.

        An import is waited for. A package whose import is interrupted can't be imported again in this process: its
        modules are found in `sys.modules`, so they do not become attributes of the package.
        """
        if not (self._is_interruptible and self._is_cancelled):
            return
        if _is_importing(frame):
            retry = threading.Timer(_IMPORT_CHECK_S, os.kill, (os.getpid(), signal.SIGUSR2))
            retry.daemon = True
            retry.start()
            return
        self._is_interruptible = False
        raise TaskInterruptedError

    @property
    def _is_cancelled(self) -> bool:
        """Whether a `CancelAll` is on its way."""
        return self._interrupts > self._cancellations

    # --- control -----------------------------------------------------------------------------------------------

    def _send(self, message: object) -> None:
        self._control.sendall(encode_message(message))

    def _take_order(self) -> None:
        (length,) = LENGTH.unpack(self._receive(LENGTH.size))
        message = pickle.loads(self._receive(length))
        if isinstance(message, Deploy):
            self._take_task(message)
        elif isinstance(message, CancelAll):
            self._cancellations += 1
            self._close_tasks()
            self._send(Closed())

    def _take_task(self, deploy: Deploy) -> None:
        if self._is_spent:
            # What user code has allocated may still be held somewhere. The TaskExecutor deploys to another process.
            self._end()
        if not self._is_limited:
            self._is_limited = True
            deploy.limits.apply()
        deployment = deployment_of(deploy.execution_attempt_id)
        if self._server is None or self._server.deployment != deployment:
            self._close_tasks()
            self._listen()
            self._server = StageServer(deployment, self._open_tasks)
        self._deploy = deploy
        self._send(Deployed(deploy.execution_attempt_id))

    def _listen(self) -> None:
        """Take the slot's address with the first task: another process of the slot may have been ordered before."""
        if not self._data.getsockname():
            Path(self._data_path).unlink(missing_ok=True)
            self._data.bind(self._data_path)
            self._data.listen()

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self._control.recv(size - len(data))
            except ConnectionResetError:  # The TaskExecutor ended before it read all messages.
                part = b""
            if not part:
                self._end()
            data += part
        return data

    def _end(self) -> NoReturn:
        self._close_tasks()
        # `os._exit` flushes nothing, and skips the handlers and threads of user code, which could keep the process
        # alive.
        sys.stdout.flush()
        os._exit(0)

    def _close_tasks(self) -> None:
        server, self._server = self._server, None
        self._failure = None
        if server is not None:
            server.close()

    # --- stages ------------------------------------------------------------------------------------------------

    def _serve_stage(self) -> None:
        connection, _ = self._data.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BUFFER)
        reader: Any = connection.makefile("rb", _SOCKET_BUFFER)
        writer: Any = connection.makefile("wb", _SOCKET_BUFFER)
        try:
            self._is_interruptible = not self._is_cancelled
            if not self._is_cancelled:
                self._answer(reader, writer)
        except TaskInterruptedError:
            pass
        except (ConnectionError, StaleRequestError):
            # Spark gave up the task or lost its worker, or the request is stale. Closing the connection fails the task;
            # Spark retries it if it is still needed.
            pass
        except TryIsOverError as error:
            self._try_to_tell(writer, TRY_OVER_GATE, str(error))
        except USER_ERRORS as error:
            self._fail(error)
            self._try_to_tell(writer, ERROR_GATE, self._failure)
        finally:
            self._is_interruptible = False
            for stream in (writer, reader, connection):
                _close_quietly(stream)

    def _answer(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        request: StageRequest = pickle.loads(read_frame(reader)[3])
        assert self._server is not None
        if self._failure is not None:
            write_message(writer, ERROR_GATE, self._failure)
            return
        reported = time.monotonic()
        with contextlib.closing(self._server.serve(request, _rows(reader))) as rows:
            for row in rows:
                write_frame(writer, row)
                if time.monotonic() - reported > _PROGRESS_EVERY_S:
                    reported = time.monotonic()
                    self._send(Progress(self._server.progress(request.stage)))
        # Before the end is told: the process may be killed once the batch counts as done.
        sys.stdout.flush()
        write_frame(writer, (0, 0, END_GATE, b""))
        writer.flush()

    def _open_tasks(self, request: StageRequest) -> SlotTasks:
        deploy = self._deploy
        assert deploy is not None
        checkpoint = Path(request.checkpoint)
        remote = remote_store(deploy.configuration, checkpoint)
        if remote is not None:
            self._held.hold(checkpoint)
            fetch_artifacts(deploy.configuration, remote, checkpoint)
        self._enter_environment(deploy, checkpoint)
        # The same for all stages: a region starts from another state when its tasks are deployed anew.
        restored = cache(partial(read_restored_state, checkpoint, deploy.configuration, deploy.seal, deploy.region))
        store = VersionStore(checkpoint, deploy.slot, deploy.region, remote, deploy.seal)
        directory = region_directory(checkpoint, deploy.region)
        return SlotTasks(
            deploy.job,
            deploy.configuration,
            deploy.slot,
            deploy.attempt,
            store,
            restored,
            directory,
            is_shared=remote is None,
        )

    def _enter_environment(self, deploy: Deploy, job_directory: Path) -> None:
        """Set up the job's Python environment once, as a slot process runs tasks of a single job."""
        if self._environment is None:
            sys.path[:] = [*dict.fromkeys([*deploy.sys_path, *sys.path])]
            environment = python_environment(deploy.configuration, job_directory)
            environment.__enter__()
            self._environment = environment

    def _fail(self, error: BaseException) -> None:
        """Record a failure of the tasks, which answers all further requests to them."""
        if _is_about_memory(error):
            free_reserve()
            # The limit of memory was hit; what is left of it is for the report below.
            self._is_spent = True
        self._failure = failure_of(error)
        assert self._server is not None
        self._send(Failed(self._server.deployment, self._failure))

    def _try_to_tell(self, writer: IO[bytes], gate: int, message: object) -> None:
        with contextlib.suppress(OSError):
            write_message(writer, gate, message)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported below a frame."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            return True
        frame = frame.f_back
    return False


def _is_about_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__
    return error is not None


def _rows(reader: IO[bytes]) -> Any:
    while (row := read_frame(reader))[2] != END_GATE:
        yield row[1:]


def _close_quietly(stream: Any) -> None:
    with contextlib.suppress(OSError):
        stream.close()


def main(name: str, control_path: str, data_path: str) -> None:
    """Run a slot process until it ends; does not return normally."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        # Lines in one piece, even with PYTHONUNBUFFERED: several slots print to the same terminal or file.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)
    SlotProcess(name, control_path, data_path).run()
