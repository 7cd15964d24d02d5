"""`firesteel run`."""

from __future__ import annotations

import signal
from types import FrameType

import click

from firesteel.cli.arguments import (
    cluster_configuration,
    dependency_flags,
    dependency_options,
    program_and_arguments,
    restore_options,
    target_options,
    warn_of_unread,
)
from firesteel.cli.command_group import FileText
from firesteel.cli.program_options import ProgramOptions, program_options
from firesteel.common.options.option_readers import Reader


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@program_options
@click.option(
    "-py",
    "--python",
    type=FileText(),
    metavar="FILE",
    help="File of the program; all positional words are its ARGUMENTS.",
)
@click.option("-pym", "--pyModule", "module", help="Module of the program, one of --pyFiles.")
@dependency_flags
@click.option(
    "-s",
    "--fromSavepoint",
    "savepoint",
    type=FileText(),
    metavar="PATH",
    help="Restore the state of this savepoint or checkpoint.",
)
@click.option(
    "-n",
    "--allowNonRestoredState",
    "leaves_state",
    is_flag=True,
    help="Skip state that belongs to no operator of the program.",
)
@click.option(
    "-cm",
    "--claimMode",
    "claim_mode",
    type=click.Choice(["no_claim", "claim", "legacy"], case_sensitive=False),
    help="Owner of the savepoint: the user, or the job, which removes it when it is obsolete (claim) [no_claim].",
)
@click.option(
    "-t",
    "--target",
    type=click.Choice(["local", "application", "remote"]),
    help="In this process, with a REST API and dashboard (application), or on a cluster [local; remote with -m].",
)
@click.option(
    "-m", "--jobmanager", "address", metavar="HOST:PORT", help="Run the job on the cluster of this JobManager."
)
@click.option("-d", "--detached", is_flag=True, help="Do not wait for the job to end.")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Format of the job's progress [text]."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not show the job's progress.")
@click.argument("words", metavar="PROGRAM [ARGUMENTS]...", nargs=-1, type=FileText())
def run(
    given: ProgramOptions,
    python: str | None,
    module: str | None,
    files: str | None,
    requirements: str | None,
    archives: str | None,
    target: str | None,
    address: str | None,
    detached: bool,
    savepoint: str | None,
    leaves_state: bool,
    claim_mode: str | None,
    output: str,
    quiet: bool,
    words: tuple[str, ...],
) -> None:
    """Run PROGRAM with ARGUMENTS in a cluster inside this process, or on the cluster of a JobManager."""
    from firesteel.cli.program import (
        run_program,
    )  # here and not above: it imports Spark, which other commands don't need

    signal.signal(signal.SIGTERM, _interrupt)
    program, arguments = program_and_arguments(python, module, files, words)
    with given.checked(program):
        settings = cluster_configuration(None, given.options) | given.flags
        settings |= restore_options(savepoint, leaves_state, claim_mode)
        settings |= target_options(target, address, detached) | dependency_options(files, requirements, archives)
        warn_of_unread(given.options, settings, Reader.JOB)
        run_program(program, arguments, settings, given.pyflink, None if quiet else output)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
