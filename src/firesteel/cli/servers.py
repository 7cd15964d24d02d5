"""Servers that run in the background: their files in the run directory, their logs, and how to start and stop them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec

import click

from firesteel.cli.cluster import show
from firesteel.common.files.run_directory import run_directory
from firesteel.common.process_start import start_time
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError
from firesteel.runtime.capped_file import CappedFile
from firesteel.runtime.logs import configure_logging, most_log_files

P = ParamSpec("P")

logger = logging.getLogger(__name__)

_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 60
_LOG_DIRECTORY = "FIRESTEEL_LOG_DIRECTORY"
_LOGS = "logs"
"""The key of the log directory in a server's file."""

_STARTED = "started"
"""The key of the process start time in a server's file."""


def with_messages(command: Callable[P, None]) -> Callable[P, None]:
    """Report errors of a command as one message, with exit code 1."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            command(*arguments, **options)
        except (FiresteelError, OSError) as error:
            click.echo(printable(f"Error: {error}"), err=True)
            raise SystemExit(1) from None

    return run


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one kind that this user runs on this machine.

    Attributes:
        name: Beginning of the names of their files, such as `jobmanager`.
        title: Their name in messages, such as `JobManager`.
        command: Arguments of `firesteel` that start one in the foreground.
    """

    name: str
    title: str
    command: tuple[str, ...]

    # --- a server's own process --------------------------------------------------------------------------------------

    def configure_logs(self, settings: dict[str, str]) -> Path:
        """Configure the logs of this process and return their directory."""
        logs = self.new_log_directory(settings) if not is_in_background() else Path(os.environ[_LOG_DIRECTORY])
        configure_logging(settings, log_file=logs / f"{self.name}.log", has_terminal=not is_in_background())
        if is_in_background():
            CappedFile(logs / f"{self.name}.out")
        return logs

    def new_log_directory(self, settings: dict[str, str]) -> Path:
        """Create a log directory, and remove the oldest ones of servers that have ended."""
        logs = run_directory() / "logs"
        in_use = {
            entry.get(_LOGS) for path in run_directory().glob("*.json") for entry in [_read(path)] if entry is not None
        }
        # The names sort by time.
        for old in sorted(logs.glob("*-*"))[: -most_log_files(settings)]:
            if str(old) not in in_use:
                shutil.rmtree(old, ignore_errors=True)
        directory = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        directory.mkdir(parents=True)
        return directory

    def record(self, address: str, logs: Path) -> Path:
        """Record this process for commands of the same user, and return the file, which must be removed at the end."""
        file = run_directory() / f"{self.name}-{address.rsplit(':', 1)[1]}.json"
        entry = {"pid": os.getpid(), _STARTED: start_time(os.getpid()), "address": address, _LOGS: str(logs)}
        # Whole at once: `running`, which `start` asks all the time, removes files that it can't read.
        written = file.with_suffix(".tmp")
        written.write_text(json.dumps(entry))
        written.replace(file)
        return file

    def announce(self, state: Path, output: str) -> None:
        """Say that this process's server is ready.

        Args:
            state: The file of `record`.
            output: `json` for a line on standard output, which a script can wait for.
        """
        entry = json.loads(state.read_text())
        text = f"{self.title} is ready at {entry['address']}"
        if is_in_background():
            logger.info(text)
        elif output == "json":
            show(output, shown(entry), "")
        else:
            click.echo(text, err=True)

    async def end(self, state: Path, stop: Coroutine[Any, Any, None], limit_s: float) -> None:
        """Stop this process's server; commands find it by its file until it has stopped.

        Args:
            state: The file.
            stop: Stops the server.
            limit_s: Time in seconds after which the process ends even so.
        """
        stopping = asyncio.ensure_future(stop)
        try:
            await asyncio.wait([stopping], timeout=limit_s)
        finally:
            await asyncio.to_thread(state.unlink, missing_ok=True)
        if not stopping.done():
            logger.error("the %s did not stop within %g s; the process ends", self.title, limit_s)
            logging.shutdown()
            os._exit(1)  # Whatever hangs would also keep the interpreter from ending.
        stopping.result()

    # --- commands ----------------------------------------------------------------------------------------------------

    def start(self, settings: dict[str, str], output: str) -> None:
        """Start a server in the background, and wait until it is ready."""
        logs = self.new_log_directory(settings)
        command = [sys.executable, "-m", "firesteel", *self.command]
        # Not as arguments, which are visible to all users of the machine; JSON is valid YAML.
        properties = {"FIRESTEEL_PROPERTIES": json.dumps(settings)} if settings else {}
        environment = {**os.environ, **properties, _LOG_DIRECTORY: str(logs)}
        out_file = logs / f"{self.name}.out"
        with out_file.open("ab") as out:  # append mode, because the file is truncated when it is large
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            for entry in self.running():
                if entry["pid"] == process.pid:
                    text = f"{self.title} {process.pid} is ready at {entry['address']}; logs are in {logs}"
                    show(output, shown(entry), text)
                    return
            if process.poll() is not None:
                break
            time.sleep(0.1)
        lines = out_file.read_text(errors="replace").splitlines()
        click.echo(f"Error: the {self.title} did not start: {(lines or [f'its logs are in {logs}'])[-1]}", err=True)
        raise SystemExit(1)

    def running(self) -> list[dict[str, Any]]:
        """Return the running servers of this user on this machine."""
        found = []
        for path in sorted(run_directory().glob(f"{self.name}-*.json")):
            entry = _read(path)
            if entry is not None:
                found.append(entry)
            else:
                path.unlink(missing_ok=True)
        return found

    def stop(self, port: int | None, output: str) -> None:
        """Stop all servers, or the one at a port, and report which ones ended."""
        stopped: list[dict[str, object]] = []
        left: list[dict[str, Any]] = []
        for entry in self.running():
            if port is None or entry["address"].endswith(f":{port}"):
                (stopped if _terminate(entry) else left).append(entry)
        for entry in left:
            text = f"{self.title} {entry['pid']} at {entry['address']} is still running after {_STOP_TIMEOUT_S} s"
            click.echo(f"Error: {text}; check its log, or kill it with kill -9 {entry['pid']}", err=True)
        if stopped:
            lines = [f"{self.title} {entry['pid']} at {entry['address']} was stopped" for entry in stopped]
            show(output, [shown(entry) for entry in stopped], "\n".join(lines))
        if left:
            raise SystemExit(1)
        if not stopped:
            click.echo(f"Error: no {self.title} is running" + ("" if port is None else f" at port {port}"), err=True)
            raise SystemExit(1)


def is_in_background() -> bool:
    """Return whether this process is a server in the background."""
    return _LOG_DIRECTORY in os.environ


def shown(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what users see of a server's file."""
    return {key: value for key, value in entry.items() if key != _STARTED}


def _read(path: Path) -> dict[str, Any] | None:
    """Return the content of a server's file, or None if the server has ended."""
    with contextlib.suppress(OSError, ValueError):
        entry: dict[str, Any] = json.loads(path.read_text())
        if _is_alive(entry):
            return entry
    return None


def _is_alive(entry: dict[str, Any]) -> bool:
    """Return whether the process is running; the start time detects a reused process id."""
    try:
        os.kill(entry["pid"], 0)
    except OSError:
        return False
    return bool(start_time(entry["pid"]) == entry.get(_STARTED))


def _terminate(entry: dict[str, Any]) -> bool:
    """Tell a server to stop, wait for its end, and return whether it ended in time."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(entry["pid"], signal.SIGTERM)
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while is_alive := _is_alive(entry):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return not is_alive
