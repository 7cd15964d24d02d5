"""`firesteel jobmanager`."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import click

from firesteel.cli.arguments import cluster_configuration, config_option, option_flags, warn_of_unread
from firesteel.cli.cluster import cluster_client, output_option, show
from firesteel.cli.command_group import CommandGroup, Whole
from firesteel.cli.servers import Servers, shown, with_messages
from firesteel.client.rest_client import ClusterClientError
from firesteel.common.options.execution_options import TASK_CANCELLATION_TIMEOUT
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_check import note_without_counterpart
from firesteel.common.options.option_readers import Reader
from firesteel.common.options.rest_options import REST_BIND_ADDRESS, REST_PORT
from firesteel.common.terminal_text import counted
from firesteel.errors import FiresteelError

_STOP_LIMIT_S = 120
"""Time to stop, in addition to the time that user code may take to end."""

SERVERS = Servers("jobmanager", "JobManager", ("jobmanager", "start"))


@click.group(cls=CommandGroup)
def jobmanager() -> None:
    """Start, stop and show the JobManager of a session cluster."""


@jobmanager.command()
@config_option
@option_flags
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=Whole(0, 65535), help="Port of the REST API [8081].")
@click.option("--daemon", is_flag=True, help="Run in the background, with a log file.")
@output_option
@with_messages
def start(
    config: Path | None, options: dict[str, str], host: str | None, port: int | None, daemon: bool, output: str
) -> None:
    """Start a JobManager in the foreground; stop it with Ctrl-C."""
    flags = {REST_BIND_ADDRESS.key: host, REST_PORT.key: None if port is None else str(port)}
    settings = cluster_configuration(config, options) | {key: value for key, value in flags.items() if value}
    warn_of_unread(options, settings, Reader.CLUSTER)
    if daemon:
        SERVERS.start(settings, output)
        return
    asyncio.run(_serve(settings, output))


async def _serve(settings: dict[str, str], output: str) -> None:
    # Late import: other commands do not need it.
    from firesteel.entrypoint.cluster_entrypoint import ClusterEntrypoint

    logs = SERVERS.configure_logs(settings)
    if (note := note_without_counterpart(settings)) is not None:
        logging.getLogger(__name__).warning(note)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    cluster = ClusterEntrypoint(settings)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    address = await cluster.serve_rest(logs)
    await cluster.start()
    state = SERVERS.record(address, logs)
    SERVERS.announce(state, output)
    try:
        cluster.ended.add_done_callback(lambda _: stopping.set())
        await stopping.wait()
    finally:
        await SERVERS.end(state, cluster.stop(), TASK_CANCELLATION_TIMEOUT.of(settings) + _STOP_LIMIT_S)
    if cluster.ended.done() and (error := cluster.ended.result()) is not None:
        raise FiresteelError(f"the JobManager failed: {error}")


@jobmanager.command()
@click.option("--port", type=Whole(1, 65535), help="Stop the JobManager with this REST port only [all].")
@output_option
@with_messages
def stop(port: int | None, output: str) -> None:
    """Stop the JobManagers of this user; their jobs end, or another JobManager takes them over."""
    SERVERS.stop(port, output)


@jobmanager.command()
@output_option
@with_messages
def status(output: str) -> None:
    """Show the status of this user's JobManagers."""
    running = SERVERS.running()
    lines = []
    for entry in running:
        try:
            overview = entry["overview"] = cluster_client(entry["address"]).get("/overview")
            free, slots = overview["slots-available"], overview["slots-total"]
            text = f"{counted(overview['jobs-running'], 'job')} running, {free} of {slots} slots free"
        except (ClusterClientError, InvalidOptionError) as error:
            text = entry["error"] = str(error)
        lines.append(f"JobManager {entry['pid']} at {entry['address']}: {text}")
    show(output, [shown(entry) for entry in running], "\n".join(lines) or "no JobManager is running")
    if not running:
        raise SystemExit(1)
