"""The command `upgrade`, which replaces a running job by another program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

import click

from firesteel.cli.arguments import (
    cluster_configuration,
    dependency_flags,
    dependency_options,
    program_and_arguments,
    target_options,
)
from firesteel.cli.cluster import JobId, cluster_at, cluster_options, show
from firesteel.cli.command_group import FileText
from firesteel.cli.program_options import ProgramOptions, program_options
from firesteel.common.terminal_text import printable
from firesteel.common.time import Duration

if TYPE_CHECKING:
    from firesteel.cli.upgrading import UpgradingCluster


def _seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    try:
        return Duration.parse(value).to_millis() / 1000
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@cluster_options
@program_options
@dependency_flags
@click.option(
    "-n",
    "--allowNonRestoredState",
    "leaves_state",
    is_flag=True,
    help="Leave state behind that belongs to no operator of the program.",
)
@click.option(
    "--savepointPath",
    "directory",
    type=FileText(),
    metavar="PATH",
    help="Directory of the savepoint [the configured one].",
)
@click.option("--dry-run", is_flag=True, help="Compare the program with the job's state, and change nothing.")
@click.option(
    "--probation",
    "probation_s",
    callback=_seconds,
    metavar="DURATION",
    default="60 s",
    help="Time to run without a restart or a failed checkpoint; else the former program goes on [60 s].",
)
@click.argument("job_id", type=JobId())
@click.argument("words", metavar="PROGRAM [ARGUMENTS]...", nargs=-1, type=FileText())
def upgrade(
    given: ProgramOptions,
    files: str | None,
    requirements: str | None,
    archives: str | None,
    leaves_state: bool,
    address: str,
    directory: str | None,
    dry_run: bool,
    probation_s: float,
    output: str,
    job_id: str,
    words: tuple[str, ...],
) -> None:
    """Replace the running job JOB_ID by PROGRAM, which continues with its state.

    First the program is compared with the state of the job: what fits, is new, or would be dropped. Then the job stops
    with a savepoint, from which the program starts. If it restarts, or a checkpoint fails, during the time of its
    probation, it is cancelled, and the former program starts from the savepoint.
    """
    from firesteel.cli.program import run_program  # late imports: they import Spark and all operators
    from firesteel.cli.upgrading import DryRunEnd, Upgrade, UpgradingCluster
    from firesteel.client.execution import set_cluster_client

    program, arguments = program_and_arguments(None, None, files, words)
    made: list[UpgradingCluster] = []

    def cluster_of(where: str, token: str | None, found: Mapping[str, str]) -> UpgradingCluster:
        """Return the one client of the program, whose second job it refuses."""
        if not made:
            plan = Upgrade(job_id, directory, probation_s, leaves_state, dry_run)
            made.append(UpgradingCluster(where, token, found, plan, lambda text: click.echo(printable(text), err=True)))
        return made[0]

    with cluster_at(address) as cluster:
        cluster.job_status(job_id)  # The program need not run if there is no such job.
    with given.checked(program):
        settings = cluster_configuration(None, given.options) | given.flags
        settings |= target_options(None, address, detached=True) | dependency_options(files, requirements, archives)
        set_cluster_client(cluster_of)
        end = _end_of(lambda: run_program(program, arguments, settings, given.pyflink, None), DryRunEnd)
        if made and made[0].failure is not None:
            raise made[0].failure  # also if the program has caught it
        if not made and end is None:
            raise click.UsageError(f"{program} submits no job, so job {job_id} runs on")
        if made and (end is None or made[0].successor):
            _show(output, job_id, made[0])
        if end is not None:
            raise end


def _end_of(run: Callable[[], None], early_end: type[BaseException]) -> Exception | SystemExit | None:
    """Run a program, and return what it has ended with; None at its regular or `early_end`."""
    try:
        with redirect_stdout(sys.stderr), suppress(early_end):
            run()
    except (Exception, SystemExit) as error:
        return error
    return None


def _show(output: str, former: str, cluster: UpgradingCluster) -> None:
    fit = cluster.fit
    data = {"former-job-id": former, "job-id": cluster.successor or None, "savepoint": cluster.savepoint or None}
    if cluster.successor:
        text = f"Job {former} is replaced by job {cluster.successor}."
    else:
        text = "Nothing is known of the state." if fit is None else fit.text() + "\nThe program fits the state."
    show(output, data | {"state": None if fit is None else fit.as_json()}, text)
