"""`firesteel check`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from firesteel.cli.arguments import reported_errors
from firesteel.cli.command_group import Number, ProgramPath
from firesteel.common.terminal_text import printable
from firesteel.migration import (
    CheckedProgram,
    Report,
    RepositoryReport,
    check_program,
    programs_below,
    try_program,
)

_PROGRAMS = (".py", "")
"""How files end that are checked; a notebook or a graph in JSON would pass for an expression of Python."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--static", "is_static", is_flag=True, help="Read the files only; run nothing.")
@click.option(
    "--timeout",
    "seconds",
    type=Number(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit of a trial, in seconds.",
)
@click.option(
    "--output", type=click.Choice(["text", "json", "html"]), default="text", help="Format of the report [text]."
)
@click.option("-v", "--verbose", is_flag=True, help="Show what the program prints.")
@click.argument("path", metavar="PROGRAM|DIRECTORY", type=ProgramPath(exists=True, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def check(is_static: bool, seconds: float, output: str, verbose: bool, path: Path, arguments: tuple[str, ...]) -> None:
    """Print what of a PyFlink PROGRAM works, differs, is missing or fails, or of all programs in a DIRECTORY.

    The program is read, then run with ARGUMENTS up to the plans of its jobs, in a process without network; no job is
    started. The exit code is 1 if something is missing or fails.
    """
    if path.is_dir():
        if arguments:
            _check_with_late_options(path, arguments)
            return
        repository = _repository(path, is_static, seconds, output)
        click.echo(_shown(repository, output))
        raise SystemExit(repository.is_refused)
    if path.suffix not in _PROGRAMS:
        raise click.UsageError(f"{path} is not a Python program: expected a file that ends with .py, or a directory")
    with reported_errors(path, verbose=False):
        report = _checked(path, arguments, is_static, seconds, verbose)
    found = RepositoryReport(path, (CheckedProgram(path, report),))
    click.echo(_shown(found, output) if output == "html" else _shown(report, output))
    raise SystemExit(report.is_refused)


def _check_with_late_options(directory: Path, late: tuple[str, ...]) -> None:
    """Check a directory, which takes no ARGUMENTS, so that what follows it are options."""
    context = click.get_current_context()
    given = {name: value for name, value in context.params.items() if name not in ("path", "arguments")}
    full = check.make_context(
        "check", [*late, str(directory)], context.parent, default_map=given, ignore_unknown_options=False
    )
    if full.params["arguments"]:
        raise click.UsageError(f"{full.params['path']} follows the directory, after which only options are allowed")
    check.invoke(full)


def _checked(
    path: Path, arguments: tuple[str, ...], is_static: bool, seconds: float, verbose: bool, roots: tuple[Path, ...] = ()
) -> Report:
    report = check_program(path, roots)
    if not is_static:
        try_program(path, arguments, seconds, report, sys.stderr if verbose else None, roots)
    return report


def _repository(directory: Path, is_static: bool, seconds: float, output: str) -> RepositoryReport:
    programs = programs_below(directory)
    checked: list[CheckedProgram] = []
    for number, program in enumerate(programs, 1):
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{number}/{len(programs)} {program}", nl=False, err=True)
        try:
            checked.append(
                CheckedProgram(program, _checked(program, (), is_static, seconds, False, _roots(program, directory)))
            )
        except (SyntaxError, ValueError, OSError) as error:
            checked.append(CheckedProgram(program, None, str(error)))
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)
    return RepositoryReport(directory, tuple(checked))


def _roots(program: Path, directory: Path) -> tuple[Path, ...]:
    """Return the directories above that of a program up to the one that is checked: editors import from there."""
    return tuple(path for path in program.parent.parents if path.is_relative_to(directory))


def _shown(report: Report | RepositoryReport, output: str) -> str:
    if output == "json":
        return json.dumps(report.as_json())
    if output == "html" and isinstance(report, RepositoryReport):
        from firesteel.migration.report_page import report_page

        return report_page(report)
    return printable(report.text())
