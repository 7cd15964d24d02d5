"""`firesteel plan`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from firesteel.cli.command_group import ProgramPath, ViewChoice, Whole
from firesteel.cli.program_options import ProgramOptions, program_options
from firesteel.plan import FORMATS, VIEWS, load_plan_source, render


@click.command(context_settings={"ignore_unknown_options": True})
@program_options
@click.option(
    "--format", "format", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the output to this file.")
@click.option("--task-managers", type=Whole(min=0), help="For slots: number of TaskManagers [as many as needed].")
@click.option("--slots", type=Whole(min=1), default=1, show_default=True, help="For slots: slots per TaskManager.")
@click.argument("view", type=ViewChoice(VIEWS))
@click.argument("input", type=ProgramPath(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def plan(
    given: ProgramOptions,
    format: str,
    output: Path | None,
    task_managers: int | None,
    slots: int,
    view: str,
    input: Path,
    arguments: tuple[str, ...],
) -> None:
    """Show the graphs of a job without running it.

    VIEW: stream (operators), job (chained operators), execution (subtasks) or slots (slot sharing, and whether a
    cluster has enough slots).

    INPUT: a program, which gets ARGUMENTS (put -- in front of its options) and runs up to its first execute(); the JSON
    of a stream graph or job graph; or the response of a Flink cluster to /jobs/:id/plan or /jobs/:id.

    The format html shows all views on one page.
    """
    with given.checked(input):
        settings = given.options | given.flags
        with redirect_stdout(sys.stderr):  # output of the program is not part of the plan
            source = load_plan_source(input, arguments, settings, given.pyflink)
        text = render(source, view, format, task_managers, slots)
        if output is None:
            click.echo(text)
        else:
            output.write_text(text + "\n", encoding="utf-8")
