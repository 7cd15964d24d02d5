"""A server that forks slot processes quickly: it imports everything once, then forks one process per order.

Orders arrive on standard input. An order is a line of four tab-separated fields: name of the process, path of the
control socket, path of the data socket, and the modules to import first, separated by commas. When standard input
closes, the server and its slot processes end.
"""

from __future__ import annotations

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


def _run_slot(name: str, control_path: str, data_path: str) -> None:
    server = os.getppid()
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if os.getppid() != server:
        return
    slot_process.main(name, control_path, data_path)


def main() -> None:
    """Fork a slot process per line of standard input, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    collect_garbage_rarely()
    gc.freeze()
    while order := sys.stdin.readline():
        *slot, modules = order.rstrip("\n").split("\t")
        if import_modules(filter(None, modules.split(","))):
            gc.freeze()
        try:
            process_id = os.fork()
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
