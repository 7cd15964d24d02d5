"""`firesteel check`."""

from __future__ import annotations

from pathlib import Path

import click

from firesteel.cli.arguments import reported_errors
from firesteel.cli.cluster import output_option, show
from firesteel.cli.terminal_text import printable
from firesteel.migration import Kind, check_program


@click.command()
@output_option
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def check(output: str, program: Path) -> None:
    """Print what of a PyFlink PROGRAM works, what differs and what is missing, without running it.

    Exit code 1 means that something is missing.
    """
    with reported_errors(program, verbose=False):
        report = check_program(program)
    show(output, report.as_json(), report.text())
    if report.of_kind(Kind.MISSING):
        raise SystemExit(1)


def refuse_missing(program: Path) -> None:
    """End the command with all that the program uses of PyFlink and firesteel does not have, if there is any."""
    missing = check_program(program).missing_text()
    if missing:
        click.echo(f"Error: {program} uses names of PyFlink that are not available in firesteel:", err=True)
        click.echo(printable(missing), err=True)
        click.echo(f"firesteel check {program} prints what works and what differs, too.", err=True)
        raise SystemExit(1)
