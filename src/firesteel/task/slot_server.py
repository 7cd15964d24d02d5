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
import signal
import sys

import numpy  # noqa: F401 - what checkpoints write needs it

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.common.parent_process import die_with_parent
from firesteel.operators.chain import factory, fusion  # noqa: F401 - for the slot processes
from firesteel.task import slot_process
from firesteel.task.preloading import import_modules


class _Reports:
    """Tells the one who orders of processes that have ended.

    Args:
        descriptor: The file descriptor to write to.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._orders: dict[int, str] = {}
        os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, self._reap)

    def fork(self, order: str) -> int:
        """Fork, as `os.fork` does, a process for an order."""
        # The end of the process is handled when its order is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            process_id = os.fork()
            if process_id:
                self._orders[process_id] = order
            else:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return process_id
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def _reap(self, *_: object) -> None:
        with contextlib.suppress(ChildProcessError):  # There is none left.
            while process_id := os.waitpid(-1, os.WNOHANG)[0]:
                order = self._orders.pop(process_id, None)  # An imported module may have children of its own.
                if order is not None:
                    # If nobody reads, nobody wants to know.
                    with contextlib.suppress(BlockingIOError, BrokenPipeError):
                        os.write(self.descriptor, f"{order}\n".encode())


def _run_slot(name: str, control_path: str, data_path: str) -> None:
    server = os.getppid()
    die_with_parent()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if os.getppid() != server:
        return
    slot_process.main(name, control_path, data_path)


def main() -> None:
    """Fork a slot process per line of standard input, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # It was blocked until now: see `SlotServer`.
    reports = _Reports(int(sys.argv[1]))
    collect_garbage_rarely()
    gc.freeze()
    while order := sys.stdin.readline():
        number, *slot, modules = order.rstrip("\n").split("\t")
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
                os.close(reports.descriptor)
                _run_slot(*slot)
            finally:
                os._exit(1)


if __name__ == "__main__":
    main()
