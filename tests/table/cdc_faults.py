"""Fault runs of `postgres-cdc` and `mysql-cdc`: `python -m tests.table.cdc_faults mariadb 5 [seed]`.

`examples/postgres_cdc.py` or `examples/mysql_cdc.py` keeps totals of a table while it is changed. Processes of the job
are killed, and the server crashes, which ends all sessions. In the end the totals are those of the table.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from firesteel.task.checkpoint_metadata import METADATA, checkpoints_in
from tests.exactly_once.fault_run import OPTIONS
from tests.exactly_once.processes import KINDS, MARK, processes_of
from tests.table.cdc_fault_servers import SERVERS, Changed, change

SERVER = "server"
_GIVE_UP_S = 120.0
_TRUTH = "SELECT customer, count(*), sum(amount) FROM orders GROUP BY customer ORDER BY customer"
_FOUND = "SELECT customer, orders, amount FROM totals ORDER BY customer"


@contextlib.contextmanager
def changing(database: Changed, seed: int) -> Iterator[None]:
    """Change the table all the time; a crash of the server interrupts it."""
    rng, stopping = random.Random(seed), threading.Event()

    def run() -> None:
        while not stopping.is_set():
            with contextlib.suppress(database.lost), database.session() as execute:
                while not stopping.wait(0.005):
                    change(execute, rng)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


class CdcRun:
    """A run of the program with faults."""

    def __init__(self, database: Changed, directory: Path, seed: int) -> None:
        self._database = database
        self._directory = directory
        self._random = random.Random(seed)
        self._mark = uuid.uuid4().hex
        self._checkpoints = directory / "checkpoints"
        self._checkpoints.mkdir()
        self.starts = 0
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        found = [chk for job in self._checkpoints.iterdir() for chk in checkpoints_in(job)[:1]]
        newest = max(found, key=lambda chk: (chk / METADATA).stat().st_mtime_ns, default=None)
        options = {**OPTIONS, "execution.checkpointing.dir": str(self._checkpoints)}
        options |= {"restart-strategy.fixed-delay.attempts": "100", "parallelism.default": "2"}
        command = [
            *(sys.executable, "-m", "firesteel", "run"),
            *(part for key, value in options.items() for part in ("-D", f"{key}={value}")),
            *(() if newest is None else ("-s", str(newest))),
            *(str(self._database.program), *self._database.arguments(), "--chunk", "500"),
        ]
        self.starts += 1
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, MARK: self._mark})

    def go_on(self) -> None:
        """Start the job again if it has ended."""
        if self._process.poll() is not None:
            self._process = self._start()

    def hit(self, fault: str) -> bool:
        """Let a fault happen; False if there is nothing to hit."""
        if fault == SERVER:
            self._database.crash()
            return True
        found = KINDS[fault](processes_of(self._mark))
        if found:
            self._random.choice(found).kill()
        return bool(found)

    def end(self) -> None:
        """Kill all processes."""
        for process in processes_of(self._mark):
            process.kill()
        self._process.wait()


def run(name: str, faults: list[str], seed: int, directory: Path) -> tuple[list[str], int, str]:
    """Run the program; return the faults that hit, how often it was started, and what is wrong."""
    rng = random.Random(seed)
    with SERVERS[name]() as database:
        cdc, hit = CdcRun(database, directory, seed), []
        try:
            with changing(database, seed):
                _await(cdc, lambda: _found(database, database.has_job))
                for fault in faults:
                    time.sleep(rng.uniform(0, 4))
                    cdc.go_on()
                    _await(cdc, lambda fault=fault: cdc.hit(fault))  # type: ignore[misc]
                    hit.append(fault)
                _await(cdc, lambda: _rows(database, _FOUND))
            is_right = _await(cdc, lambda: _rows(database, _TRUTH) == _rows(database, _FOUND) != [])
        finally:
            cdc.end()
        truth, found = _rows(database, _TRUTH), _rows(database, _FOUND)
        return hit, cdc.starts, "" if is_right else f"{truth} != {found}"


def _rows(database: Changed, query: str) -> object:
    return _found(database, lambda: list(database.query(query))) or []


def _found(database: Changed, find: Callable[[], object]) -> object:
    """Return what is found; None while the server is away."""
    with contextlib.suppress(database.lost):
        return find()
    return None


def _await(cdc: CdcRun, is_done: object) -> bool:
    """Wait until something is done, and keep the job running."""
    assert callable(is_done)
    deadline_s = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < deadline_s:
        cdc.go_on()
        if is_done():
            return True
        time.sleep(0.05)
    return False


def main(name: str, runs: int, seed: int) -> int:
    """Run random faults, and return how many runs were wrong."""
    rng, wrong = random.Random(seed), 0
    kinds = [SERVER, *KINDS]
    for number in range(runs):
        faults = [kinds[number % len(kinds)], *rng.choices(kinds, k=rng.randrange(1, 4))]
        directory = Path(tempfile.mkdtemp(prefix="cdc-faults-"))
        begin_s = time.monotonic()
        hit, starts, violation = run(name, faults, rng.randrange(2**32), directory)
        print(
            f"{number}: {hit}, {starts} starts, {time.monotonic() - begin_s:.0f} s, {violation or 'right'}", flush=True
        )
        wrong += bool(violation)
        if not violation:
            shutil.rmtree(directory)
    print(f"{runs} runs, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(2**32)
    sys.exit(min(1, main(sys.argv[1], int(sys.argv[2]), seed)))
