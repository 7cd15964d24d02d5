"""A server that forks slot processes quickly: it imports everything once, then forks one process per order.

Orders arrive on standard input. An order is a line of five tab-separated fields: its number, name of the process, path
of the control socket, path of the data socket, and the modules to import first, separated by commas. When a process
ends, the number of its order is written as a line to the file descriptor that is the argument: a process that ends
before it connects is missed by nobody else. When standard input closes, the server and its slot processes end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import warnings
from collections.abc import Iterator

import numpy  # noqa: F401 - what checkpoints write needs it

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.common.parent_process import die_with_parent
from firesteel.operators.chain import factory, fusion  # noqa: F401 - for the slot processes
from firesteel.task import slot_process
from firesteel.task.preloading import import_modules

_STDIN = 0
_MOST_BYTES = 1 << 16


class _Reports:
    """Tells the one who orders of processes that have ended.

    Args:
        descriptor: The file descriptor to write to.

    Attributes:
        wakeup: A file descriptor that can be read when a process has ended.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._orders: dict[int, str] = {}
        self.wakeup, self._waker = os.pipe()
        for each in (descriptor, self.wakeup, self._waker):
            os.set_blocking(each, False)
        # A handler in Python would run late if its signal came just before a call that blocks.
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def fork(self, order: str) -> int:
        """Fork, as `os.fork` does, a process for an order."""
        process_id = os.fork()
        if process_id:
            self._orders[process_id] = order
        else:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (self._descriptor, self.wakeup, self._waker):
                os.close(each)
        return process_id

    def report(self) -> None:
        """Report the processes that have ended since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wakeup, _MOST_BYTES)
        with contextlib.suppress(ChildProcessError):  # There is none left.
            while process_id := os.waitpid(-1, os.WNOHANG)[0]:
                order = self._orders.pop(process_id, None)  # An imported module may have children of its own.
                if order is not None:
                    # If nobody reads, nobody wants to know.
                    with contextlib.suppress(BlockingIOError, BrokenPipeError):
                        os.write(self._descriptor, f"{order}\n".encode())


def _orders(reports: _Reports) -> Iterator[str]:
    """Yield the lines of standard input until it closes, and report the processes that end meanwhile."""
    unread = b""
    while True:
        readable, _, _ = select.select([_STDIN, reports.wakeup], [], [])
        if reports.wakeup in readable:
            reports.report()
        if _STDIN in readable:
            read = os.read(_STDIN, _MOST_BYTES)
            if not read:
                return
            *lines, unread = (unread + read).split(b"\n")
            yield from (line.decode() for line in lines)


def _run_slot(name: str, control_path: str, data_path: str) -> None:
    server = os.getppid()
    die_with_parent()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, _STDIN)
    # The server may have ended before `die_with_parent`, which then signals nothing.
    if os.getppid() != server:
        return
    slot_process.main(name, control_path, data_path)


def main() -> None:
    """Fork a slot process per line of standard input, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # It was blocked until now: see `SlotServer`.
    reports = _Reports(int(sys.argv[1]))
    # Since Python 3.12. Only Arrow and numpy have threads here, in C, and these libraries care for forks themselves.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    collect_garbage_rarely()
    gc.freeze()
    for order in _orders(reports):
        number, *slot, modules = order.split("\t")
        if import_modules(filter(None, modules.split(","))):
            gc.freeze()
        try:
            process_id = reports.fork(number)
        except OSError as error:
            # The other slots keep running; the TaskExecutor orders this one again after a timeout.
            print(f"firesteel: no process could be forked for a slot: {error}", file=sys.stderr, flush=True)
            continue
        if process_id == 0:
            try:
                _run_slot(*slot)
            finally:
                os._exit(1)


if __name__ == "__main__":
    main()
