"""What the commands about a cluster share: which one is asked, and how its answer is shown."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from firesteel.cli.arguments import cluster_configuration
from firesteel.cli.terminal_text import printable
from firesteel.client.rest_client import DEFAULT_ADDRESS, TOKEN, RestClusterClient
from firesteel.errors import FiresteelError

ENDED = ("FINISHED", "CANCELED", "FAILED")

output_option = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="How to show the answer [text]."
)
_address_option = click.option(
    "-m",
    "--jobmanager",
    "address",
    default=DEFAULT_ADDRESS,
    metavar="HOST:PORT",
    help=f"The JobManager to ask [{DEFAULT_ADDRESS}].",
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which cluster, and how the answer is shown."""
    return _address_option(output_option(command))


def cluster_client(address: str) -> RestClusterClient:
    """Asks the cluster, with the user's token and TLS files.

    Raises:
        InvalidOptionError: the files can't be used.
        UnsafeDirectoryError: other users could have written the token of a JobManager on this machine.
    """
    return RestClusterClient(address, os.environ.get(TOKEN), cluster_configuration(None, {}))


@contextmanager
def cluster_at(address: str) -> Iterator[RestClusterClient]:
    """The cluster, reached as `config.yaml` says; what it refuses becomes one message and exit code 1."""
    try:
        yield cluster_client(address)
    except FiresteelError as error:
        click.echo(printable(f"Error: {error}"), err=True)
        raise SystemExit(1) from None


def show(output: str, data: Any, text: str) -> None:
    """Print an answer as one line of JSON, or as text without control characters."""
    click.echo(json.dumps(data) if output == "json" else printable(text))


def time_text(milliseconds: int) -> str:
    """A time as Flink's command line shows it."""
    return time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(milliseconds / 1000))
