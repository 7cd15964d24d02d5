"""Helpers of cluster commands: the address of the cluster, and the output of results."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from click.shell_completion import CompletionItem

from firesteel.cli.arguments import cluster_configuration
from firesteel.cli.command_group import TextType, refuse_option
from firesteel.client.rest_client import DEFAULT_ADDRESS, TOKEN, RestClusterClient
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError

output_option = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Output format [text]."
)
_address_option = click.option(
    "-m",
    "--jobmanager",
    "address",
    default=DEFAULT_ADDRESS,
    metavar="HOST:PORT",
    help=f"Address of the JobManager [{DEFAULT_ADDRESS}].",
)


def cluster_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options for the address of the cluster and the output format."""
    return _address_option(output_option(command))


def cluster_client(address: str) -> RestClusterClient:
    """Return a client of the cluster, with the user's token and TLS files.

    Raises:
        InvalidOptionError: the TLS files cannot be used.
        UnsafeDirectoryError: other users could have written the token of a JobManager on this machine.
    """
    return RestClusterClient(address, os.environ.get(TOKEN), cluster_configuration(None, {}))


class JobId(TextType):
    """The id of a job, which the shell completes from the jobs of the cluster."""

    name = "job id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse an unknown option in the place of the id."""
        if ctx is not None:
            refuse_option(ctx, value)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the ids that begin so, with names and states; none if no cluster answers."""
        try:
            jobs = cluster_client(ctx.params.get("address") or DEFAULT_ADDRESS).list_jobs()
        except FiresteelError:
            return []
        found = [(str(job["jid"]), f"{job['name']}, {job['state']}") for job in jobs]
        return [CompletionItem(job_id, help=text) for job_id, text in found if job_id.startswith(incomplete)]


@contextmanager
def cluster_at(address: str) -> Iterator[RestClusterClient]:
    """Yield a client of the cluster; report errors as one message, with exit code 1."""
    try:
        yield cluster_client(address)
    except FiresteelError as error:
        click.echo(printable(f"Error: {error}"), err=True)
        raise SystemExit(1) from None


def show(output: str, data: object, text: str) -> None:
    """Print a result as one line of JSON, or as text without control characters."""
    click.echo(json.dumps(data) if output == "json" else printable(text))


def time_text(milliseconds: int) -> str:
    """Return a time in the format of Flink's command line."""
    return time.strftime("%d.%m.%Y %H:%M:%S", time.localtime(milliseconds / 1000))
