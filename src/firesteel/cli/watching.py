"""Commands that show the status of a cluster and its jobs: `status`, `logs` and `top`."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from firesteel.cli.cluster import JobId, cluster_at, cluster_options, show, time_text
from firesteel.cli.command_group import Number
from firesteel.cli.top_view import Frame, frame_of, frame_table, frame_text
from firesteel.client.rest_client import ENDED, RestClusterClient
from firesteel.common.terminal_text import in_one_line, printable

_FOLLOW_S = 0.5


@click.command()
@cluster_options
@click.argument("job_id", type=JobId())
def status(address: str, output: str, job_id: str) -> None:
    """Show the status of the job JOB_ID."""
    with cluster_at(address) as cluster:
        job = cluster.get(f"/jobs/{job_id}")
        number, cause = cluster.restart(job_id)
    job["restarts"], job["last-failure"] = number, cause or None
    show(output, job, _status_text(job))


def _status_text(job: dict[str, Any]) -> str:
    began = time_text(job["start-time"])
    name, duration_s = in_one_line(job["name"]), job["duration"] / 1000
    lines = [f"Job {name} ({job['jid']}) is {job['state']}; started {began}, {duration_s:.1f} s"]
    for vertex in job["vertices"]:
        metrics = vertex["metrics"]
        tasks = ", ".join(f"{count} {state}" for state, count in vertex["tasks"].items() if count)
        records = f"{metrics['read-records']} records in, {metrics['write-records']} out"
        busy = metrics["accumulated-busy-time"]
        times = "" if busy == "NaN" else f", busy {busy / 1000:.1f} s"
        lines.append(f"  {in_one_line(vertex['name'])} ({vertex['parallelism']}): {tasks}, {records}{times}")
    if job["restarts"]:
        lines.append(f"Restarts: {job['restarts']}; the last failure: {job['last-failure'] or 'unknown'}")
    return "\n".join(lines)


@click.command()
@cluster_options
@click.option("--taskmanager", "task_manager", metavar="ID", help="Print the log of this TaskManager.")
@click.option("--stdout", "job_id", type=JobId(), metavar="JOB_ID", help="Print what print() of this job has printed.")
@click.option("-f", "--follow", is_flag=True, help="Print new lines until Ctrl-C.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="LOGGER=LEVEL",
    help="Set the level of a logger of the JobManager while it runs, such as firesteel.coordinator=DEBUG.",
)
def logs(
    address: str,
    output: str,
    task_manager: str | None,
    job_id: str | None,
    follow: bool,
    levels: tuple[str, ...],
) -> None:
    """Print the log of the JobManager or of a TaskManager, or the output of a job."""
    if levels:
        if follow or task_manager is not None or job_id is not None:
            raise click.UsageError("--level sets levels of the JobManager, and takes no other option but --output")
        with cluster_at(address) as cluster:
            found = cluster.set_log_levels(_level_of(text) for text in levels)
        show(output, found, "\n".join(f"{level:8} {name}" for name, level in found.items()))
        return
    if follow and output == "json":
        raise click.UsageError("--follow (-f) does not support JSON")
    if job_id is not None:
        if task_manager is not None:
            raise click.UsageError("use either --stdout or --taskmanager, not both")
        with cluster_at(address) as cluster:
            _printed(cluster, job_id, follow, output)
        return
    path = "/jobmanager/log" if task_manager is None else f"/taskmanagers/{task_manager}/log"
    with cluster_at(address) as cluster:
        if not follow:
            text = cluster.text(path, 0).decode(errors="replace")
            show(output, {"log": text}, text.removesuffix("\n"))
            return
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # A part may end within a character.
        try:
            for part in followed(cluster, path):
                click.echo(printable(decoder.decode(part)), nl=False)
        except KeyboardInterrupt:
            raise SystemExit(130) from None


def _level_of(text: str) -> tuple[str, str]:
    name, is_named, level = text.rpartition("=")
    if not is_named or not name:
        raise click.UsageError(f"--level is {text!r}, expected LOGGER=LEVEL, such as root=WARN")
    return name, level


def _printed(cluster: RestClusterClient, job_id: str, follow: bool, output: str) -> None:
    """Print what a job has printed, or follow it until the job ends."""
    offset, parts = 0, list[str]()
    try:
        while True:
            has_ended = not follow or cluster.job_status(job_id) in ENDED
            begin, text = cluster.printed(job_id, offset)
            offset = begin + len(text)
            parts.append(text)
            if output == "text":
                click.echo(printable(text), nl=False)
            if not text and has_ended:
                break
            if not text:
                time.sleep(_FOLLOW_S)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if output == "json":
        show(output, {"stdout": "".join(parts)}, "")


def followed(cluster: RestClusterClient, path: str) -> Iterator[bytes]:
    """Yield the contents of a log file and then, without end, what is appended to it, also after a rotation."""
    read = 0
    while True:
        part = cluster.text(path, read)
        read += len(part)
        if part:
            yield part
            continue
        name, size = next((file["name"], file["size"]) for file in cluster.get(f"{path}s")["logs"] if _is_main(file))
        if size < read:
            yield cluster.text(f"{path}s/{name}.1", read)  # what was written between the last look and the rotation
            read = 0
        else:
            time.sleep(_FOLLOW_S)


def _is_main(file: dict[str, Any]) -> bool:
    return str(file["name"]).endswith(".log")


@click.command()
@cluster_options
@click.option("--once", is_flag=True, help="Print one frame and exit; needs no terminal.")
@click.option("--interval", type=Number(min=0.1), default=2.0, help="Seconds between updates [2].")
def top(address: str, output: str, once: bool, interval: float) -> None:
    """Watch the jobs of a cluster: vertices, records per second and busy time."""
    if not once and (output == "json" or not sys.stdout.isatty()):
        raise click.UsageError("top needs a terminal and prints text; use --once to print one frame, also as JSON")
    with cluster_at(address) as cluster:
        if once:
            frame = frame_of(cluster)
            show(output, frame, frame_text(frame))
            return
        _watch(lambda: frame_of(cluster), interval)


def _watch(look: Any, interval: float) -> None:
    from rich.live import Live  # late import: other commands start without it

    frame: Frame = look()
    try:
        with Live(frame_table(frame), screen=True, auto_refresh=False) as live:
            while True:
                live.update(frame_table(frame), refresh=True)
                time.sleep(interval)
                frame = look()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
