"""The command `historyserver`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from firesteel.cli.arguments import cluster_configuration, config_option, option_flags, warn_of_unread
from firesteel.cli.command_group import FileText
from firesteel.common.options.history_options import HISTORY_DIRS
from firesteel.common.options.option_readers import Reader
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError


@click.command()
@config_option
@option_flags
@click.argument("directories", metavar="[DIRECTORY]...", nargs=-1, type=FileText())
def historyserver(config: Path | None, options: dict[str, str], directories: tuple[str, ...]) -> None:
    """Show jobs that have ended, from the archives in each DIRECTORY [historyserver.archive.fs.dir].

    JobManagers write them to jobmanager.archive.fs.dir; those of Flink are shown, too. It serves the dashboard and
    the REST API at historyserver.web.address [127.0.0.1] and historyserver.web.port [8082]; stop it with Ctrl-C.
    """
    settings = cluster_configuration(config, options)
    warn_of_unread(options, settings, Reader.HISTORY_SERVER)
    if directories:
        settings[HISTORY_DIRS.key] = ",".join(directories)
    if HISTORY_DIRS.key not in settings:
        raise click.UsageError(f"expected a DIRECTORY with archives, or the option {HISTORY_DIRS.key}")
    from firesteel.entrypoint.history_server import serve  # late import: other commands start without it

    try:
        asyncio.run(serve(settings, lambda address: click.echo(f"History server is ready at {address}", err=True)))
    except (FiresteelError, OSError) as error:
        click.echo(printable(f"Error: {error}"), err=True)
        raise SystemExit(1) from None
