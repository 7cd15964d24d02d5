"""A PostgreSQL server for tests, gone with them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IS_INSTALLED = shutil.which("postgres") is not None and shutil.which("initdb") is not None


@contextmanager
def running() -> Iterator[str]:
    """The address of a server of our own, as `JdbcSink` wants it."""
    user = "postgres" if os.getuid() == 0 else None  # The server refuses to run as root.
    directory = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        if user is not None:
            shutil.chown(directory, user)
        data = directory / "data"
        command = ["initdb", "-D", str(data), "-U", "tester", "--auth=trust", "--no-sync"]
        subprocess.run(command, user=user, cwd=directory, check=True, capture_output=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["postgres", "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(directory), "-F"]
        log = (directory / "log").open("wb")
        process = subprocess.Popen(command, user=user, cwd=directory, stdout=log, stderr=log)
        try:
            _wait_for(port, process)
            yield f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=tester"
        finally:
            process.terminate()
            process.wait(30)
            log.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(f"postgresql://tester@127.0.0.1:{port}/postgres").close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)
