"""`firesteel info`."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from firesteel.cli.cluster import output_option, show
from firesteel.cli.command_group import ProgramPath
from firesteel.cli.program_options import ProgramOptions, program_options
from firesteel.errors import FiresteelError
from firesteel.plan import load_plan_source

_HEAD = "----------------------- Execution Plan -----------------------"
_FOOT = "--------------------------------------------------------------"


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@program_options
@output_option
@click.argument("program", type=ProgramPath(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def info(
    given: ProgramOptions,
    output: str,
    program: Path,
    arguments: tuple[str, ...],
) -> None:
    """Print the execution plan of PROGRAM as JSON; the program runs up to its first execute()."""
    with given.checked(program):
        settings = given.options | given.flags
        with redirect_stdout(sys.stderr):  # output of the program is not part of the plan
            source = load_plan_source(program, arguments, settings, given.pyflink)
        if source.stream_graph is None:
            raise FiresteelError(f"{program} is not a program; use firesteel plan to draw graphs")
        plan = source.stream_graph.get_execution_plan()
        show(output, json.loads(plan), f"{_HEAD}\n{plan}\n{_FOOT}")
