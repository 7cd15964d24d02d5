"""Fault runs of `postgres-cdc`: `python -m tests.table.cdc_faults 5 [seed]`.

`examples/postgres_cdc.py` keeps totals of a table while it is changed. Processes of the job are killed, and the server
crashes, which ends all sessions. In the end the totals are those of the table.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from firesteel.task.checkpoint_metadata import METADATA, checkpoints_in
from tests.exactly_once.fault_run import OPTIONS
from tests.exactly_once.processes import KINDS, MARK, processes_of
from tests.table.captured_tables import Server, server

PROGRAM = Path(__file__).parents[2] / "examples/postgres_cdc.py"
SERVER = "server"
ROWS, CUSTOMERS = 20_000, 20
_GIVE_UP_S = 120.0
_TRUTH = "SELECT customer, count(*), sum(amount) FROM orders GROUP BY customer ORDER BY customer"
_FOUND = "SELECT customer, orders, amount FROM totals ORDER BY customer"


def prepare(postgres: Server) -> None:
    """Create the tables."""
    postgres.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount numeric(10, 2))",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "CREATE TABLE totals (customer int PRIMARY KEY, orders bigint, amount numeric(38, 2))",
        f"INSERT INTO orders SELECT n, n % {CUSTOMERS}, n % 1000 FROM generate_series(1, {ROWS}) AS n",
    )


@contextlib.contextmanager
def changing(postgres: Server, seed: int) -> Iterator[None]:
    """Change the table all the time; a crash of the server interrupts it."""
    rng, stopping = random.Random(seed), threading.Event()

    def change(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        while not stopping.wait(0.005):
            key, other = rng.randrange(ROWS), rng.randrange(ROWS, 10 * ROWS)
            with connection.transaction():
                connection.execute("UPDATE orders SET amount = amount + 1 WHERE id BETWEEN %s AND %s + 9", (key, key))
                connection.execute(
                    "UPDATE orders SET customer = %s WHERE id = %s", (rng.randrange(CUSTOMERS), key + 20)
                )
                connection.execute("DELETE FROM orders WHERE id = %s", (rng.randrange(ROWS),))
                connection.execute("INSERT INTO orders VALUES (%s, %s, 5) ON CONFLICT DO NOTHING", (other, key % 20))

    def run() -> None:
        while not stopping.is_set():
            with contextlib.suppress(psycopg.Error), psycopg.connect(postgres.url, autocommit=True) as connection:
                change(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


class CdcRun:
    """A run of the program with faults."""

    def __init__(self, postgres: Server, directory: Path, seed: int) -> None:
        self._postgres = postgres
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
        at = urlsplit(self._postgres.url)
        options = {**OPTIONS, "execution.checkpointing.dir": str(self._checkpoints)}
        options |= {"restart-strategy.fixed-delay.attempts": "100", "parallelism.default": "2"}
        command = [
            *(sys.executable, "-m", "firesteel", "run"),
            *(part for key, value in options.items() for part in ("-D", f"{key}={value}")),
            *(() if newest is None else ("-s", str(newest))),
            *(str(PROGRAM), "--host", str(at.hostname), "--port", str(at.port)),
            *("--user", "tester", "--password", "-", "--chunk", "500"),
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
            # The server ends all sessions and recovers from its log when one of its processes is killed.
            with contextlib.suppress(psycopg.Error), psycopg.connect(self._postgres.url) as connection:
                os.kill(connection.info.backend_pid, signal.SIGKILL)
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


def run(faults: list[str], seed: int, directory: Path) -> tuple[list[str], int, str]:
    """Run the program; return the faults that hit, how often it was started, and what is wrong."""
    rng = random.Random(seed)
    with server() as postgres:
        prepare(postgres)
        cdc, hit = CdcRun(postgres, directory, seed), []
        try:
            with changing(postgres, seed):
                _await(cdc, lambda: bool(_query(postgres, "SELECT 1 FROM pg_replication_slots")))
                for fault in faults:
                    time.sleep(rng.uniform(0, 4))
                    cdc.go_on()
                    _await(cdc, lambda fault=fault: cdc.hit(fault))  # type: ignore[misc]
                    hit.append(fault)
                _await(cdc, lambda: bool(_query(postgres, _FOUND)))
            is_right = _await(cdc, lambda: _query(postgres, _TRUTH) == _query(postgres, _FOUND) != [])
        finally:
            cdc.end()
        truth, found = _query(postgres, _TRUTH), _query(postgres, _FOUND)
        return hit, cdc.starts, "" if is_right else f"{truth} != {found}"


def _query(postgres: Server, query: str) -> list[object]:
    with contextlib.suppress(psycopg.OperationalError):
        return postgres.execute(query)
    return []


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


def main(runs: int, seed: int) -> int:
    """Run random faults, and return how many runs were wrong."""
    rng, wrong = random.Random(seed), 0
    kinds = [SERVER, *KINDS]
    for number in range(runs):
        faults = [kinds[number % len(kinds)], *rng.choices(kinds, k=rng.randrange(1, 4))]
        directory = Path(tempfile.mkdtemp(prefix="cdc-faults-"))
        begin_s = time.monotonic()
        hit, starts, violation = run(faults, rng.randrange(2**32), directory)
        print(
            f"{number}: {hit}, {starts} starts, {time.monotonic() - begin_s:.0f} s, {violation or 'right'}", flush=True
        )
        wrong += bool(violation)
        if not violation:
            shutil.rmtree(directory)
    print(f"{runs} runs, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32))))
