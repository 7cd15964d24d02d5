"""The check of a PyFlink program that commands make before they run it."""

from __future__ import annotations

from pathlib import Path

import click

from firesteel.common.terminal_text import printable


def refuse_missing(program: Path, pyflink: bool) -> None:
    """Exit with an error that lists the names of PyFlink which a program uses and firesteel does not have.

    Args:
        program: The program; other files, such as graphs in JSON, pass.
        pyflink: Whether the program is to run with `--pyflink` and to be checked; if not, it passes.
    """
    if not pyflink or program.suffix == ".json":
        return
    from firesteel.migration import check_program  # late import: slow, and needed for these programs only

    missing = check_program(program).missing_text()
    if missing:
        click.echo(f"Error: {program} uses names of PyFlink that are not available in firesteel:", err=True)
        click.echo(printable(missing), err=True)
        click.echo(
            f"Run firesteel check {program} to see what works and what differs, too, or use --no-check.", err=True
        )
        raise SystemExit(1)
