"""Temporary servers of databases for tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

_POSTGRES = next(Path("/usr/lib/postgresql").glob("*/bin"), None)  # Debian has them in no directory of the PATH


def _program(name: str) -> str | None:
    debian = None if _POSTGRES is None else shutil.which(name, path=_POSTGRES)
    return shutil.which(name) or shutil.which(name, path="/usr/sbin") or debian


def is_installed(*programs: str) -> bool:
    return all(map(_program, programs))


def needs(*programs: str) -> None:
    """Skip the test if a program is missing; fail where `FIRESTEEL_REQUIRE_DATABASES` is set."""
    missing = [program for program in programs if _program(program) is None]
    if missing:
        end = pytest.fail if os.environ.get("FIRESTEEL_REQUIRE_DATABASES") else pytest.skip
        end(f"needs the programs {', '.join(missing)}: make databases")


@contextmanager
def postgresql(*options: str) -> Iterator[str]:
    """The address of a PostgreSQL server of our own, as `JdbcSink` wants it."""
    import psycopg

    needs("postgres", "initdb")
    with _directory() as (directory, user), _log(directory) as log:
        data, port = directory / "data", _free_port()
        command = [_program("initdb"), "-D", data, "-U", "tester", "--auth=trust", "--no-sync"]
        subprocess.run(command, user=user, cwd=directory, check=True, capture_output=True)
        at = ["-p", str(port), "-h", "127.0.0.1", "-k", directory]
        command = [_program("postgres"), "-D", data, *at, "-F", *options]
        process = subprocess.Popen(command, user=user, cwd=directory, stdout=log, stderr=log)
        url = f"postgresql://127.0.0.1:{port}/postgres?user=tester"
        with _until_stopped(process, lambda: psycopg.connect(url).close(), signal.SIGINT):
            yield f"jdbc:{url}"


_RESTARTING = ("sh", "-c", 'trap "kill \\$p; wait \\$p; exit" TERM; while :; do "$@" & p=$!; wait $p; done', "sh")
"""Runs a command again and again until SIGTERM, which it passes on."""


@contextmanager
def mariadb(*more: str, is_restarted: bool = False) -> Iterator[str]:
    """The address of a MariaDB server of our own, as `JdbcSink` wants it.

    Args:
        more: More options of the server.
        is_restarted: Whether it is started again when it ends.
    """
    import pymysql

    needs("mariadbd", "mariadb-install-db")
    with _directory() as (directory, user), _log(directory) as log:
        data, port = f"--datadir={directory}/data", _free_port()
        command = [_program("mariadb-install-db"), "--no-defaults", data, "--skip-test-db"]
        subprocess.run(command, user=user, cwd=directory, check=True, capture_output=True)
        setup = directory / "setup.sql"
        setup.write_text(
            "CREATE DATABASE IF NOT EXISTS test;\nCREATE USER IF NOT EXISTS tester@'%' IDENTIFIED BY 'se&cret';\n"
            "GRANT ALL ON *.* TO tester@'%' WITH GRANT OPTION;\n"
        )
        where = [f"--socket={directory}/socket", f"--pid-file={directory}/pid", f"--port={port}"]
        fast = ["--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M", "--skip-name-resolve"]
        options = [data, "--bind-address=127.0.0.1", f"--init-file={setup}", *where, *fast, *more]
        command = [*(_RESTARTING if is_restarted else ()), _program("mariadbd"), "--no-defaults", *options]
        process = subprocess.Popen(command, user=user, cwd=directory, stdout=log, stderr=log)
        at = {"host": "127.0.0.1", "port": port, "user": "tester", "password": "se&cret", "database": "test"}
        with _until_stopped(process, lambda: pymysql.connect(**at).close()):
            yield f"jdbc:mysql://127.0.0.1:{port}/test?user=tester&password=se%26cret"


@contextmanager
def redis() -> Iterator[int]:
    """The port of a Redis server of our own."""
    needs("redis-server")
    with _directory() as (directory, user), _log(directory) as log:
        port = _free_port()
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)]
        command = [_program("redis-server"), *options]
        process = subprocess.Popen(command, user=user, cwd=directory, stdout=log, stderr=log)
        with _until_stopped(process, lambda: socket.create_connection(("127.0.0.1", port)).close()):
            yield port


@contextmanager
def mongodb() -> Iterator[str]:
    """The address of a server of our own that answers MongoDB's client: SecantusDB."""
    pytest.importorskip("secantus", reason="SecantusDB has no wheels for this version of Python")
    with _directory() as (directory, _), _log(directory) as log:
        port = _free_port()
        command = [sys.executable, "-m", "secantus", "--port", str(port), "--storage-path", str(directory / "data")]
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
        # To SIGTERM it waits for its clients.
        with _until_stopped(process, lambda: socket.create_connection(("127.0.0.1", port)).close(), signal.SIGKILL):
            yield f"mongodb://127.0.0.1:{port}"


@contextmanager
def opensearch() -> Iterator[str]:
    """The address of a server of our own that answers OpenSearch's client: osmem."""
    found = pytest.importorskip("osmem_server").OsmemServer.start()
    with closing(found.process.stdout), found:
        yield found.url


@contextmanager
def clickhouse() -> Iterator[str]:
    """The address of the HTTP interface of a ClickHouse server of our own, with a user `tester`."""
    needs("clickhouse-server")
    with _directory() as (directory, user), _log(directory) as log:
        http, tcp, hosts = _free_port(), _free_port(), "<networks><ip>127.0.0.1</ip></networks>"
        rights = f"{hosts}<profile>default</profile><quota>default</quota>"
        (directory / "users.xml").write_text(
            "<yandex><profiles><default/></profiles><quotas><default/></quotas><users>"
            f"<tester><password>secret</password>{rights}</tester></users></yandex>"
        )
        (directory / "config.xml").write_text(
            f"<yandex><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>"
            f"<path>{directory}/data/</path><tmp_path>{directory}/tmp/</tmp_path><users_config>users.xml</users_config>"
            "<mark_cache_size>1048576</mark_cache_size><default_profile>default</default_profile>"
            "<logger><level>warning</level></logger></yandex>"
        )
        (directory / "data").mkdir()
        if user is not None:
            shutil.chown(directory / "data", user)
        command = [_program("clickhouse-server"), f"--config-file={directory}/config.xml"]
        process = subprocess.Popen(command, user=user, cwd=directory, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{http}"
        with _until_stopped(process, lambda: urllib.request.urlopen(url, timeout=1).close()):
            yield url


@contextmanager
def _directory() -> Iterator[tuple[Path, str | None]]:
    """A directory, and the user to run the server as: servers refuse to run as root."""
    directory = Path(tempfile.mkdtemp(prefix="db"))
    owner = "nobody" if os.getuid() == 0 else None
    try:
        if owner is not None:
            shutil.chown(directory, owner)
        yield directory, owner
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _log(directory: Path) -> Iterator[Any]:
    with (directory / "log").open("wb") as log:
        yield log


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def _until_stopped(
    process: subprocess.Popen[bytes], connect: Callable[[], None], stop: int = signal.SIGTERM
) -> Iterator[None]:
    try:
        deadline = time.monotonic() + 60
        while (problem := _problem_of(connect)) is not None:
            assert process.poll() is None, f"the server ended: {problem}"
            assert time.monotonic() < deadline, f"the server does not answer: {problem}"
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(stop)  # to SIGTERM PostgreSQL waits for its clients
        process.wait(30)


def _problem_of(connect: Callable[[], None]) -> Exception | None:
    try:
        connect()
    except Exception as error:
        return error
    return None
