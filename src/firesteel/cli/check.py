"""`firesteel check`."""

from __future__ import annotations

from pathlib import Path

import click

from firesteel.cli.arguments import reported_errors
from firesteel.cli.cluster import output_option, show
from firesteel.migration import Kind, check_program


@click.command()
@output_option
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def check(output: str, program: Path) -> None:
    """Print which parts of a PyFlink PROGRAM work, differ or are missing, without running it.

    The exit code is 1 if something is missing.
    """
    with reported_errors(program, verbose=False):
        report = check_program(program)
    show(output, report.as_json(), report.text())
    if report.of_kind(Kind.MISSING):
        raise SystemExit(1)
