"""`firesteel sql`."""

from __future__ import annotations

from pathlib import Path

import click

from firesteel.cli.arguments import (
    cluster_configuration,
    option_flags,
    reported_errors,
    target_options,
    warn_of_unread,
)
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.common.options.option_readers import Reader
from firesteel.common.options.table_options import SQL_CLIENT_RESULT_MODE

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("-f", "--file", "file", type=_FILE, help="Execute the statements of this file, then exit.")
@click.option("-e", "--execute", "statements", metavar="STATEMENT", help="Execute these statements, then exit.")
@click.option("-i", "--init", "init", type=_FILE, help="Execute the statements of this file first.")
@option_flags
@click.option(
    "--result-mode",
    type=click.Choice(["tableau", "table", "changelog"], case_sensitive=False),
    help="Print query results, or show them live on a full screen [tableau].",
)
@click.option(
    "--mode",
    type=click.Choice(["streaming", "batch"], case_sensitive=False),
    help="Execution mode of queries [streaming].",
)
@click.option("-m", "--jobmanager", "address", metavar="HOST:PORT", help="Run jobs on the cluster of this JobManager.")
@click.option(
    "--output", type=click.Choice(["text", "csv", "json"]), default="text", help="Format of rows for programs [text]."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the traceback of an error.")
def sql(
    file: Path | None,
    statements: str | None,
    init: Path | None,
    options: dict[str, str],
    result_mode: str | None,
    mode: str | None,
    address: str | None,
    output: str,
    verbose: bool,
) -> None:
    """Execute SQL statements from a file, from the command line, or interactively."""
    if file is not None and statements is not None:
        raise click.UsageError("use either --file (-f) or --execute (-e), not both")
    settings = cluster_configuration(None, options) | target_options(None, address, False)
    warn_of_unread(options, settings, Reader.JOB, Reader.GATEWAY)
    if mode is not None:
        settings[RUNTIME_MODE.key] = mode.upper()
    if result_mode is not None:
        settings[SQL_CLIENT_RESULT_MODE.key] = result_mode.lower()
    from firesteel.cli.sql_prompt import run_prompt  # late import: other commands start without tables
    from firesteel.cli.sql_script import run_script
    from firesteel.cli.sql_session import SqlSession

    try:
        with reported_errors(file or Path("sql"), verbose):
            session = SqlSession(settings, verbose, output)
            succeeded = init is None or run_script(session, _text_of(init), str(init))
            if not succeeded:
                raise SystemExit(1)
            if file is None and statements is None:
                run_prompt(session)
                return
            text, origin = (statements or "", "-e") if file is None else (_text_of(file), str(file))
            succeeded = run_script(session, text, origin) and session.wait_for_jobs()
    except KeyboardInterrupt:
        click.echo("Interrupted: the job was cancelled.", err=True)
        raise SystemExit(130) from None
    if not succeeded:
        raise SystemExit(1)


def _text_of(script: Path) -> str:
    """Return the text of a file, which editors may begin with a mark of its encoding.

    Raises:
        UsageError: it is not in UTF-8.
    """
    try:
        return script.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{script} is not a text in UTF-8: {error.reason} at byte {error.start}") from None
