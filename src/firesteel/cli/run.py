"""`firesteel run`."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

import click

from firesteel.cli.arguments import (
    cluster_configuration,
    configuration,
    program_options,
    reported_errors,
    restore_options,
    target_options,
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@program_options
@click.option(
    "-s", "--fromSavepoint", "savepoint", metavar="PATH", help="Begin with the state of this savepoint or checkpoint."
)
@click.option(
    "-n",
    "--allowNonRestoredState",
    "leaves_state",
    is_flag=True,
    help="Leave state behind that no operator of the program asks for.",
)
@click.option(
    "-t",
    "--target",
    type=click.Choice(["local", "application", "remote"]),
    help="In this process; the same, with REST API and dashboard; or on a cluster [local; remote with -m].",
)
@click.option("-m", "--jobmanager", "address", metavar="HOST:PORT", help="Run it on the cluster of this JobManager.")
@click.option("-d", "--detached", is_flag=True, help="Do not wait for the end of the job.")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="How to show the job's progress [text]."
)
@click.option("-q", "--quiet", is_flag=True, help="Show the program's own output only.")
@click.argument("program", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    parallelism: int | None,
    runtime_mode: str | None,
    options: dict[str, str],
    pyflink: bool,
    verbose: bool,
    target: str | None,
    address: str | None,
    detached: bool,
    savepoint: str | None,
    leaves_state: bool,
    output: str,
    quiet: bool,
    program: Path,
    arguments: tuple[str, ...],
) -> None:
    """Run PROGRAM with ARGUMENTS in a cluster inside this process, or on the cluster of a JobManager."""
    from firesteel.cli.program import (
        run_program,
    )  # here and not above: it imports Spark, which other commands don't need

    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with reported_errors(program, verbose):
            options = cluster_configuration(None, options)
            settings = configuration(options, parallelism, runtime_mode) | restore_options(savepoint, leaves_state)
            settings |= target_options(target, address, detached)
            run_program(program, arguments, settings, pyflink, None if quiet else output)
    except KeyboardInterrupt:
        click.echo("Interrupted: the job was cancelled.", err=True)
        raise SystemExit(130) from None


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
