"""`firesteel sql-gateway`."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from firesteel.cli.arguments import cluster_configuration, config_option, option_flags, target_options

_REST = "sql-gateway.endpoint.rest."


@click.group("sql-gateway")
def sql_gateway() -> None:
    """Start, stop and show the SQL gateway, which Flink's SQL client connects to."""


@sql_gateway.command("start-foreground")
@config_option
@option_flags
@click.option("--host", help="Address to bind to [127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the REST API [8083].")
@click.option("-m", "--jobmanager", "address", metavar="HOST:PORT", help="Run jobs on the cluster of this JobManager.")
def start_foreground(
    config: Path | None, options: dict[str, str], host: str | None, port: int | None, address: str | None
) -> None:
    """Start a SQL gateway in the foreground; stop it with Ctrl-C."""
    flags = {f"{_REST}bind-address": host, f"{_REST}port": None if port is None else str(port)}
    settings = cluster_configuration(config, options) | target_options(None, address, False)
    asyncio.run(_serve(settings | {key: value for key, value in flags.items() if value}))


async def _serve(settings: dict[str, str]) -> None:
    # Late import: other commands start without tables.
    from firesteel.gateway.server import SqlGateway

    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    gateway = SqlGateway(settings)
    await gateway.start()
    click.echo(f"SQL gateway is ready at {gateway.address}", err=True)
    try:
        await stopping.wait()
    finally:
        await gateway.stop()
