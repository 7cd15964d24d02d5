"""`firesteel sql-gateway`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from firesteel.cli.arguments import (
    cluster_configuration,
    config_option,
    option_flags,
    target_options,
    warn_of_unread,
)
from firesteel.cli.cluster import output_option
from firesteel.cli.command_group import CommandGroup, Whole
from firesteel.cli.servers import Servers, with_messages
from firesteel.common.options.option_readers import Reader

_STOP_LIMIT_S = 300

SERVERS = Servers("sql-gateway", "SQL gateway", ("sql-gateway", "start-foreground"))
_REST = "sql-gateway.endpoint.rest."


@click.group("sql-gateway", cls=CommandGroup)
def sql_gateway() -> None:
    """Start and stop the SQL gateway, to which Flink's SQL client connects."""


_OPTIONS = (
    config_option,
    option_flags,
    click.option("--host", help="Address to bind to [127.0.0.1]."),
    click.option("--port", type=Whole(0, 65535), help="Port of the REST API [8083]."),
    click.option(
        "-m", "--jobmanager", "address", metavar="HOST:PORT", help="Run jobs on the cluster of this JobManager."
    ),
)


def _start_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@sql_gateway.command()
@_start_options
@output_option
@with_messages
def start(output: str, **given: Any) -> None:
    """Start a SQL gateway in the background, with log files."""
    SERVERS.start(_settings(**given), output)


@sql_gateway.command("start-foreground")
@_start_options
@output_option
@with_messages
def start_foreground(output: str, **given: Any) -> None:
    """Start a SQL gateway in the foreground; stop it with Ctrl-C."""
    asyncio.run(_serve(_settings(**given), output))


@sql_gateway.command()
@click.option("--port", type=Whole(1, 65535), help="Stop the gateway with this REST port only [all].")
@output_option
@with_messages
def stop(port: int | None, output: str) -> None:
    """Stop the SQL gateways of this user, which cancels the queries of their sessions; jobs of INSERTs go on."""
    SERVERS.stop(port, output)


def _settings(
    config: Path | None, options: dict[str, str], host: str | None, port: int | None, address: str | None
) -> dict[str, str]:
    flags = {f"{_REST}bind-address": host, f"{_REST}port": None if port is None else str(port)}
    settings = cluster_configuration(config, options) | target_options(None, address, False)
    warn_of_unread(options, settings, Reader.JOB, Reader.GATEWAY)
    return settings | {key: value for key, value in flags.items() if value}


async def _serve(settings: dict[str, str], output: str) -> None:
    # Late import: other commands start without tables.
    from firesteel.gateway.server import SqlGateway

    logs = SERVERS.configure_logs(settings)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    gateway = SqlGateway(settings)
    await gateway.start()
    state = SERVERS.record(gateway.address, logs)
    SERVERS.announce(state, output)
    try:
        await stopping.wait()
    finally:
        await SERVERS.end(state, gateway.stop(), _STOP_LIMIT_S)
