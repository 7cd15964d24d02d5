"""`firesteel info`."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from firesteel.cli.arguments import configuration, program_options, reported_errors
from firesteel.cli.cluster import output_option, show
from firesteel.cli.missing_names import refuse_missing
from firesteel.errors import FiresteelError
from firesteel.plan import load_plan_source

_HEAD = "----------------------- Execution Plan -----------------------"
_FOOT = "--------------------------------------------------------------"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@program_options
@output_option
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def info(
    parallelism: int | None,
    runtime_mode: str | None,
    options: dict[str, str],
    pyflink: bool,
    unchecked: bool,
    verbose: bool,
    output: str,
    program: Path,
    arguments: tuple[str, ...],
) -> None:
    """Print the execution plan of PROGRAM as JSON; the program runs up to its first execute()."""
    with reported_errors(program, verbose):
        refuse_missing(program, pyflink and not unchecked)
        settings = configuration(options, parallelism, runtime_mode)
        with redirect_stdout(sys.stderr):  # output of the program is not part of the plan
            source = load_plan_source(program, arguments, settings, pyflink)
        if source.stream_graph is None:
            raise FiresteelError(f"{program} is not a program; use firesteel plan to draw graphs")
        plan = source.stream_graph.get_execution_plan()
        show(output, json.loads(plan), f"{_HEAD}\n{plan}\n{_FOOT}")
