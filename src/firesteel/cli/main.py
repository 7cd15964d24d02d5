"""The command line: parses arguments, and turns every error into one clear message and an exit code.

Exit codes: 0 finished, 1 the job or program failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

import click

from firesteel.cli.program import run_program, user_error
from firesteel.errors import FiresteelError

RUNTIME_MODES = ["BATCH", "STREAMING", "AUTOMATIC"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="firesteel")
def cli() -> None:
    """Flink DataStream programs in Python, run on Spark."""


def _options(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{value!r} is not of the form key=value, e.g. -D parallelism.default=4")
        options[key] = text
    return options


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-p", "--parallelism", type=click.IntRange(min=1), help="Parallelism of the operators that set none.")
@click.option(
    "--runtime-mode", type=click.Choice(RUNTIME_MODES, case_sensitive=False), help="How the job runs [STREAMING]."
)
@click.option("-D", "options", multiple=True, callback=_options, metavar="KEY=VALUE", help="A Flink or spark.* option.")
@click.option("--pyflink", is_flag=True, help="Let the program import pyflink: it gets firesteel.")
@click.option("-q", "--quiet", is_flag=True, help="Show the program's own output only.")
@click.option("-v", "--verbose", is_flag=True, help="Show the whole story of an error.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    parallelism: int | None,
    runtime_mode: str | None,
    options: dict[str, str],
    pyflink: bool,
    quiet: bool,
    verbose: bool,
    program: Path,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with ARGUMENTS in a cluster inside this process."""
    if parallelism is not None:
        options["parallelism.default"] = str(parallelism)
    if runtime_mode is not None:
        options["execution.runtime-mode"] = runtime_mode.upper()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        run_program(program, arguments, options, pyflink, quiet)
    except KeyboardInterrupt:
        click.echo("Interrupted: the job was cancelled.", err=True)
        raise SystemExit(130) from None
    except (FiresteelError, NotImplementedError) as error:
        _fail(error, verbose)
    except Exception as error:
        click.echo(user_error(error, program), err=True)
        if verbose:
            traceback.print_exc()
        raise SystemExit(1) from None


def _fail(error: Exception, verbose: bool) -> None:
    click.echo(f"Error: {error}", err=True)
    failure = getattr(error, "failure", None)
    if verbose:
        click.echo(failure.details if failure is not None else traceback.format_exc(), err=True)
    elif failure is not None and failure.details:
        click.echo("Run with -v to see the whole story.", err=True)
    raise SystemExit(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the console script."""
    try:
        cli(standalone_mode=True)
    finally:
        sys.stdout.flush()
