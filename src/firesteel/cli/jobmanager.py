"""`firesteel jobmanager`."""

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
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import click

from firesteel.cli.arguments import cluster_configuration, config_option, option_flags
from firesteel.cli.cluster import cluster_client, output_option, show
from firesteel.cli.terminal_text import printable
from firesteel.client.rest_client import ClusterClientError
from firesteel.common.run_directory import run_directory
from firesteel.errors import FiresteelError
from firesteel.runtime.capped_file import CappedFile
from firesteel.runtime.logs import configure_logging, most_log_files
from firesteel.runtime.options import InvalidOptionError

P = ParamSpec("P")

_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 60
_LOG_DIRECTORY = "FIRESTEEL_LOG_DIRECTORY"
_LOG, _OUT = "jobmanager.log", "jobmanager.out"
_LOGS = "logs"
"""The key of the log directory in a JobManager's file."""

_STARTED = "started"
"""The key of the process start time in a JobManager's file."""


@click.group()
def jobmanager() -> None:
    """Start, stop and show the JobManager of a session cluster."""


def _with_messages(command: Callable[P, None]) -> Callable[P, None]:
    """Report errors of a command as one message, with exit code 1."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            command(*arguments, **options)
        except (FiresteelError, OSError) as error:
            click.echo(printable(f"Error: {error}"), err=True)
            raise SystemExit(1) from None

    return run


def _new_log_directory(settings: dict[str, str]) -> Path:
    """Create a log directory for a JobManager, and remove the oldest ones of JobManagers that have ended."""
    logs = run_directory() / "logs"
    in_use = {entry.get(_LOGS) for entry in _running()}
    # The names sort by time.
    for old in sorted(logs.glob("*-*"))[: -most_log_files(settings)]:
        if str(old) not in in_use:
            shutil.rmtree(old, ignore_errors=True)
    directory = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    directory.mkdir(parents=True)
    return directory


def _file(port: str) -> Path:
    return run_directory() / f"jobmanager-{port}.json"


@jobmanager.command()
@config_option
@option_flags
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the REST API [8081].")
@click.option("--daemon", is_flag=True, help="Run in the background, with a log file.")
@output_option
@_with_messages
def start(
    config: Path | None, options: dict[str, str], host: str | None, port: int | None, daemon: bool, output: str
) -> None:
    """Start a JobManager in the foreground; stop it with Ctrl-C."""
    flags = {"rest.bind-address": host, "rest.port": None if port is None else str(port)}
    settings = cluster_configuration(config, options) | {key: value for key, value in flags.items() if value}
    if daemon:
        _start_in_background(settings, output)
        return
    asyncio.run(_serve(settings))


async def _serve(settings: dict[str, str]) -> None:
    # Late import: other commands do not need it.
    from firesteel.entrypoint.cluster_entrypoint import ClusterEntrypoint

    in_background = os.environ.get(_LOG_DIRECTORY)
    logs = _new_log_directory(settings) if in_background is None else Path(in_background)
    configure_logging(settings, log_file=logs / _LOG, has_terminal=in_background is None)
    if in_background is not None:
        CappedFile(logs / _OUT)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    cluster = ClusterEntrypoint(settings)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    address = await cluster.serve_rest(logs)
    await cluster.start()
    state = _file(address.rsplit(":", 1)[1])
    entry = {"pid": os.getpid(), _STARTED: _start_time(os.getpid()), "address": address, _LOGS: str(logs)}
    state.write_text(json.dumps(entry))
    text = f"JobManager is ready at {address}"
    if in_background is None:
        click.echo(text, err=True)
    else:
        logging.getLogger(__name__).info(text)
    try:
        cluster.ended.add_done_callback(lambda _: stopping.set())
        await stopping.wait()
    finally:
        state.unlink(missing_ok=True)
        await cluster.stop()
    if cluster.ended.done() and (error := cluster.ended.result()) is not None:
        raise FiresteelError(f"the JobManager failed: {error}")


def _start_in_background(settings: dict[str, str], output: str) -> None:
    logs = _new_log_directory(settings)
    command = [sys.executable, "-m", "firesteel", "jobmanager", "start"]
    # Not as arguments, which are visible to all users of the machine; JSON is valid YAML.
    properties = {"FIRESTEEL_PROPERTIES": json.dumps(settings)} if settings else {}
    environment = {**os.environ, **properties, _LOG_DIRECTORY: str(logs)}
    with (logs / _OUT).open("ab") as out:  # append mode, because the file is truncated when it is large
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, start_new_session=True
        )
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        for entry in _running():
            if entry["pid"] == process.pid:
                text = f"JobManager {process.pid} is ready at {entry['address']}; logs are in {logs}"
                show(output, _shown(entry), text)
                return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    lines = (logs / _OUT).read_text(errors="replace").splitlines()
    click.echo(f"Error: the JobManager did not start: {(lines or [f'its logs are in {logs}'])[-1]}", err=True)
    raise SystemExit(1)


def _running() -> list[dict[str, Any]]:
    """Return the running JobManagers of this user on this machine."""
    found = []
    for path in sorted(run_directory().glob("jobmanager-*.json")):
        with contextlib.suppress(OSError, ValueError):
            entry = json.loads(path.read_text())
            if _is_alive(entry):
                found.append(entry)
            else:
                path.unlink(missing_ok=True)
    return found


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != _STARTED}


def _is_alive(entry: dict[str, Any]) -> bool:
    """Return whether the process is running; the start time detects a reused process id."""
    try:
        os.kill(entry["pid"], 0)
    except OSError:
        return False
    return bool(_start_time(entry["pid"]) == entry.get(_STARTED))


def _start_time(process_id: int) -> str | None:
    """Return the start time of a process in clock ticks since boot, or None if it has ended or is unknown."""
    try:
        # The name in parentheses may contain anything; proc(5) describes the fields after it.
        figures = Path(f"/proc/{process_id}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if figures[0] in ("Z", "X") else figures[19]


def _terminate(entry: dict[str, Any]) -> bool:
    """Tell a JobManager to stop, wait for its end, and return whether it ended in time."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(entry["pid"], signal.SIGTERM)
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while is_alive := _is_alive(entry):
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return not is_alive


@jobmanager.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Stop the JobManager with this REST port only [all].")
@output_option
@_with_messages
def stop(port: int | None, output: str) -> None:
    """Stop the JobManagers of this user; their jobs end, or another JobManager takes them over."""
    stopped: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for entry in _running():
        if port is None or entry["address"].endswith(f":{port}"):
            (stopped if _terminate(entry) else left).append(entry)
    for entry in left:
        text = f"JobManager {entry['pid']} at {entry['address']} is still running after {_STOP_TIMEOUT_S} s"
        click.echo(f"Error: {text}; check its log, or kill it with kill -9 {entry['pid']}", err=True)
    if stopped:
        lines = [f"JobManager {entry['pid']} at {entry['address']} was stopped" for entry in stopped]
        show(output, [_shown(entry) for entry in stopped], "\n".join(lines))
    if left:
        raise SystemExit(1)
    if not stopped:
        click.echo("Error: no JobManager is running" + ("" if port is None else f" at port {port}"), err=True)
        raise SystemExit(1)


@jobmanager.command()
@output_option
@_with_messages
def status(output: str) -> None:
    """Show the status of this user's JobManagers."""
    running = _running()
    lines = []
    for entry in running:
        try:
            overview = entry["overview"] = cluster_client(entry["address"]).get("/overview")
            free, slots = overview["slots-available"], overview["slots-total"]
            text = f"{overview['jobs-running']} jobs running, {free} of {slots} slots free"
        except (ClusterClientError, InvalidOptionError) as error:
            text = entry["error"] = str(error)
        lines.append(f"JobManager {entry['pid']} at {entry['address']}: {text}")
    show(output, [_shown(entry) for entry in running], "\n".join(lines) or "no JobManager is running")
    if not running:
        raise SystemExit(1)
