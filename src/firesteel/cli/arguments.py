"""Options that several commands take, and what all of them do with an error."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from firesteel.cli.user_error import user_error
from firesteel.errors import FiresteelError

RUNTIME_MODES = ["BATCH", "STREAMING", "AUTOMATIC"]


def _options(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{value!r} is not of the form key=value, e.g. -D parallelism.default=4")
        options[key] = text
    return options


_PROGRAM_OPTIONS = (
    click.option("-p", "--parallelism", type=click.IntRange(min=1), help="Parallelism of the operators that set none."),
    click.option(
        "--runtime-mode", type=click.Choice(RUNTIME_MODES, case_sensitive=False), help="How the job runs [STREAMING]."
    ),
    click.option(
        "-D", "options", multiple=True, callback=_options, metavar="KEY=VALUE", help="A Flink or spark.* option."
    ),
    click.option("--pyflink", is_flag=True, help="Let the program import pyflink: it gets firesteel."),
    click.option("-v", "--verbose", is_flag=True, help="Show the whole story of an error."),
)


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how a program is run."""
    for option in reversed(_PROGRAM_OPTIONS):
        command = option(command)
    return command


def configuration(options: dict[str, str], parallelism: int | None, runtime_mode: str | None) -> dict[str, str]:
    """The options of a program, those with a flag of their own included."""
    flags = {"parallelism.default": parallelism, "execution.runtime-mode": runtime_mode and runtime_mode.upper()}
    return options | {option: str(value) for option, value in flags.items() if value is not None}


def restore_options(savepoint: str | None, leaves_state: bool) -> dict[str, str]:
    """The options that say what state a job begins with."""
    if savepoint is None:
        if leaves_state:
            raise click.UsageError("--allowNonRestoredState (-n) goes with --fromSavepoint (-s) only")
        return {}
    return {
        "execution.state-recovery.path": savepoint,
        "execution.state-recovery.ignore-unclaimed-state": str(leaves_state).lower(),
    }


@contextmanager
def reported_errors(program: Path, verbose: bool) -> Iterator[None]:
    """Turn what goes wrong inside into one message on standard error and exit code 1."""
    try:
        yield
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
