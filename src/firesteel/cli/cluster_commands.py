"""Flink's commands for the jobs of a cluster: `list`, `cancel`, `stop`, `savepoint` and `checkpoint`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from firesteel.cli.arguments import cluster_configuration, reported_errors
from firesteel.cli.cluster import JobId, cluster_at, cluster_options, output_option, show, time_text
from firesteel.cli.command_group import CommandGroup, FileText
from firesteel.client.rest_client import ENDED, RestClusterClient
from firesteel.common.meant import meant
from firesteel.common.terminal_text import in_one_line

_HINT = "\nYou can resume your program from this savepoint with the run command."


@click.command("list")
@cluster_options
@click.option("-r", "--running", is_flag=True, help="List running jobs only.")
@click.option("-s", "--scheduled", is_flag=True, help="List scheduled jobs only.")
@click.option("-a", "--all", "everything", is_flag=True, help="List all jobs, including ended ones.")
def list_jobs(address: str, output: str, running: bool, scheduled: bool, everything: bool) -> None:
    """List the jobs of a cluster."""
    with cluster_at(address) as cluster:
        jobs = cluster.list_jobs()
    if not everything:
        jobs = [job for job in jobs if job["state"] not in ENDED]
    if running != scheduled:
        jobs = [job for job in jobs if (job["state"] in ("CREATED", "INITIALIZING")) == scheduled]
    jobs.sort(key=lambda job: job["start-time"])
    lines = [
        f"{time_text(job['start-time'])} : {job['jid']} : {in_one_line(job['name'])} ({job['state']})" for job in jobs
    ]
    show(output, jobs, "\n".join(lines) or "No running jobs.")


_detached = click.option(
    "-detached", "detached", is_flag=True, help="Do not wait; print the trigger id of the savepoint."
)
_savepoint_type = click.option(
    "-type",
    "--type",
    expose_value=False,
    type=click.Choice(["canonical", "native"], case_sensitive=False),
    help="Format of the savepoint; both names mean the same format.",
)


@click.command()
@cluster_options
@click.option(
    "-s",
    "--withSavepoint",
    "directory",
    is_flag=False,
    flag_value="",
    help="Cancel with a savepoint in this directory, or in the configured one.",
)
@click.argument("job_id", type=JobId())
def cancel(address: str, output: str, directory: str | None, job_id: str) -> None:
    """Cancel the job JOB_ID."""
    with cluster_at(address) as cluster:
        if directory is None:
            cluster.cancel(job_id)
            show(output, {"job-id": job_id}, f"Cancelled job {job_id}.")
            return
        location = cluster.savepoint_location(job_id, cluster.trigger_savepoint(job_id, directory or None, True))
    text = f"Cancelled job {job_id}. Savepoint stored in {location}."
    show(output, {"job-id": job_id, "location": location}, text)


@click.command()
@cluster_options
@click.option(
    "-p", "--savepointPath", "directory", type=FileText(), help="Directory of the savepoint [the configured one]."
)
@click.option("-d", "--drain", is_flag=True, help="Fire all event-time timers and windows first.")
@_detached
@_savepoint_type
@click.argument("job_id", type=JobId())
def stop(
    address: str,
    output: str,
    directory: str | None,
    drain: bool,
    detached: bool,
    job_id: str,
) -> None:
    """Stop the job JOB_ID with a savepoint."""
    with cluster_at(address) as cluster:
        trigger_id = cluster.trigger_stop(job_id, directory, drain)
        _show_savepoint(output, cluster, job_id, trigger_id, detached)


class _SavepointGroup(CommandGroup):
    """A group whose command `take` needs no name, as in Flink's command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `take` unless another command is named, or one that differs by a letter or two."""
        named = args and args[0] in {*self.commands, *self.get_help_option_names(ctx)}
        named = named or (bool(args) and meant(args[0], self.list_commands(ctx)) != "")
        return super().parse_args(ctx, args if named else ["take", *args])


def _jobs_and_commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what may follow `savepoint`: the name of a command, or a job for `take`."""
    named = ctx.parent is not None and isinstance(ctx.parent.command, _SavepointGroup) and not ctx.args
    commands = [CompletionItem(name) for name in savepoint.commands if named and name.startswith(incomplete)]
    return commands + JobId().shell_complete(ctx, param, incomplete)


@click.group(cls=_SavepointGroup)
def savepoint() -> None:
    """Take, dispose of, inspect and compare savepoints; `savepoint JOB_ID` is short for `savepoint take JOB_ID`."""


@savepoint.command()
@cluster_options
@click.option("-d", "--dispose", type=FileText(), metavar="PATH", help="Dispose of the savepoint at this path.")
@_detached
@_savepoint_type
@click.argument("job_id", type=JobId(), required=False, shell_complete=_jobs_and_commands)
@click.argument("directory", type=FileText(), required=False)
def take(
    address: str,
    output: str,
    dispose: str | None,
    detached: bool,
    job_id: str | None,
    directory: str | None,
) -> None:
    """Take a savepoint of the job JOB_ID in DIRECTORY, or dispose of one."""
    if (dispose is None) == (job_id is None):
        raise click.UsageError("expected either the id of a job, or --dispose with the path of a savepoint")
    with cluster_at(address) as cluster:
        if dispose is not None:
            cluster.dispose_savepoint(dispose)
            show(output, {"disposed": dispose}, f"Savepoint '{dispose}' disposed.")
        elif job_id is not None:
            trigger_id = cluster.trigger_savepoint(job_id, directory)
            _show_savepoint(output, cluster, job_id, trigger_id, detached, _HINT)


@savepoint.command()
@output_option
@click.argument("path", type=FileText())
def inspect(output: str, path: str) -> None:
    """Show the state in the savepoint or checkpoint at PATH, without a cluster."""
    from firesteel.state_processor import inspect_savepoint  # late import: it imports all operators

    with reported_errors(Path(path), verbose=False):
        summary = inspect_savepoint(path, cluster_configuration(None, {}))
    show(output, summary.as_json(), summary.text())


@savepoint.command()
@output_option
@click.argument("first", type=FileText())
@click.argument("second", type=FileText())
def diff(output: str, first: str, second: str) -> None:
    """Show which keys were added, removed and changed between the savepoints or checkpoints FIRST and SECOND."""
    from firesteel.state_processor import compare_savepoints  # late import: it imports all operators

    with reported_errors(Path(first), verbose=False):
        difference = compare_savepoints(first, second, cluster_configuration(None, {}))
    show(output, difference.as_json(), difference.text())


def _show_savepoint(
    output: str, cluster: RestClusterClient, job_id: str, trigger_id: str, detached: bool, hint: str = ""
) -> None:
    if detached:
        text = f"Savepoint triggered, triggerId: {trigger_id}"
        show(output, {"job-id": job_id, "trigger-id": trigger_id}, text)
    else:
        location = cluster.savepoint_location(job_id, trigger_id)
        show(output, {"job-id": job_id, "location": location}, f"Savepoint completed. Path: {location}{hint}")


@click.command()
@cluster_options
@click.option("--full", "checkpoint_type", flag_value="FULL", help="Take a full checkpoint.")
@click.option(
    "--incremental", "checkpoint_type", flag_value="INCREMENTAL", help="Take an incremental checkpoint (the default)."
)
@click.argument("job_id", type=JobId())
def checkpoint(address: str, output: str, checkpoint_type: str | None, job_id: str) -> None:
    """Take a checkpoint of the job JOB_ID now."""
    kind = checkpoint_type or "CONFIGURED"
    with cluster_at(address) as cluster:
        checkpoint_id = cluster.checkpoint(job_id, kind)
    text = f"Checkpoint({kind}) {checkpoint_id} for job {job_id} completed."
    show(output, {"job-id": job_id, "checkpoint-id": checkpoint_id, "type": kind}, text)
