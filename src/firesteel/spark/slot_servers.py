"""The server that forks slot processes, as seen from the process that orders them.

A server takes a third of a second to start. So one that is no longer needed is kept for the next TaskExecutor of this
process, as programs that run several jobs have one after the other.

Why: `docs/decisions/0033-servers-of-slots-are-kept.md`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterable

from firesteel.spark.forwarded_output import ForwardedOutput
from firesteel.spark.gateway import python_environment

_POLL_S = 0.1
_MOST_BYTES = 1 << 16
_numbers = itertools.count()
"""Of orders; a server may be kept for another one who orders."""
_END_S = 5.0
_ALLOCATORS = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),  # the most that glibc takes
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""Environment variables by which glibc keeps freed memory for numpy and Arrow, unless others are set.

The columns of a batch have hundreds of KB each. Memory given back to the system comes back page by page, each with a
page fault: a tenth of the time of a slot.
"""
_CHANGING = ("SPARK_", "PYSPARK_", "PYTEST_CURRENT_TEST")


class SlotServer:
    """A running server; it ends with this process.

    Raises:
        OSError: it can't be started.
    """

    def __init__(self) -> None:
        self.surroundings = _surroundings()
        self._reports: int | None
        self._reports, reports = os.pipe()
        os.set_blocking(self._reports, False)
        command = [sys.executable, "-m", "firesteel.task.slot_server", str(reports)]
        # A child inherits the mask: Ctrl-C, which is meant for us, must not end it before it can ignore it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._output = ForwardedOutput()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                env=_ALLOCATORS | python_environment(),
                pass_fds=(reports,),
                stdout=self._output.stdout,
                stderr=self._output.stderr,
            )
        except OSError:
            self._close_reports()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(reports)
        self._output.start(self._process)
        self._modules: set[str] = set()
        self._unread = b""

    @property
    def is_alive(self) -> bool:
        """Whether the server has not ended."""
        return self._process.poll() is None

    async def ended_orders(self) -> AsyncIterator[int]:
        """Yield the numbers of orders whose processes have ended, until the server has ended."""
        while self.is_alive:
            for number in self._read_reports():
                yield number
            await asyncio.sleep(_POLL_S)  # A thread that waits would outlive the event loop.
        self._close_reports()

    def _read_reports(self) -> list[int]:
        with contextlib.suppress(BlockingIOError):
            self._unread += b"" if self._reports is None else os.read(self._reports, _MOST_BYTES)
        *lines, self._unread = self._unread.split(b"\n")
        return list(map(int, lines))

    def order(self, name: str, control_path: str, data_path: str, modules: Iterable[str]) -> int:
        """Order a slot process, and return the number of the order; `firesteel.task.slot_server` describes orders.

        Each module is named once, so that the orders of all slots fit into the pipe while the server imports.

        Raises:
            ConnectionError: the server has ended.
        """
        new = [module for module in modules if module not in self._modules]
        self._modules.update(new)
        assert self._process.stdin is not None
        number = next(_numbers)
        fields = str(number), name, control_path, data_path, ",".join(new)
        self._process.stdin.write("\t".join(fields).encode() + b"\n")
        self._process.stdin.flush()
        return number

    def close(self) -> None:
        """End the server and its slot processes in the background."""
        threading.Thread(target=self.end, name="slot-server-end", daemon=True).start()

    def kill(self) -> None:
        """End a server without slot processes at once."""
        self._process.kill()
        self._process.wait()
        self._output.join()
        self._close_reports()

    def end(self) -> None:
        """End the server and its slot processes, and wait for it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and did not take an order
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.join()
        self._close_reports()

    def _close_reports(self) -> None:
        reports, self._reports = self._reports, None
        if reports is not None:
            os.close(reports)


def _surroundings() -> tuple[dict[str, str], str]:
    """Return the environment variables and the directory that slots inherit.

    The variables that PySpark sets do not count, nor the one that pytest changes with each test, nor the module search
    path, as slots get that of their job.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_CHANGING)}
    return variables, os.getcwd()


_lock = threading.Lock()
_spare: SlotServer | None = None
_is_exiting = False


def take_slot_server() -> SlotServer:
    """Return the server that was left, if one was and nothing has changed since, or a new one.

    Raises:
        OSError: no server can be started.
    """
    global _spare
    with _lock:
        spare, _spare = _spare, None
    if spare is None:
        return SlotServer()
    if spare.is_alive and spare.surroundings == _surroundings():
        return spare
    spare.close()
    return SlotServer()


def leave_slot_server(server: SlotServer) -> None:
    """Keep a server for the next caller of `take_slot_server`, or close it if there is one already."""
    global _spare
    with _lock:
        if _spare is None and not _is_exiting:
            _spare = server
            return
    server.close()


@atexit.register
def _end_spare() -> None:
    global _spare, _is_exiting
    with _lock:
        _is_exiting = True
        spare, _spare = _spare, None
    if spare is not None:
        spare.kill()
