"""The display of `firesteel top`: running jobs, their vertices, records per second and busy time."""

from __future__ import annotations

from io import StringIO
from typing import Any

from firesteel.client.rest_client import ENDED, RestClusterClient
from firesteel.common.terminal_text import counted, in_one_line

Frame = dict[str, Any]

_RATES = {"numRecordsInPerSecond": "records-in", "numRecordsOutPerSecond": "records-out"}
_BUSY = "busyTimeMsPerSecond"
_NAME_WIDTH = 60


def frame_of(cluster: RestClusterClient) -> Frame:
    """Return the current status of the cluster: `overview`, and `jobs` with their vertices.

    The records of a vertex are sums over its subtasks, per second. `busy` is the busy share of its busiest subtask.
    """
    jobs = [job for job in cluster.list_jobs() if job["state"] not in ENDED]
    jobs.sort(key=lambda job: job["start-time"])
    return {"overview": cluster.get("/overview"), "jobs": [_job(cluster, job["jid"]) for job in jobs]}


def _job(cluster: RestClusterClient, job_id: str) -> dict[str, Any]:
    job = cluster.get(f"/jobs/{job_id}")
    shown = {key: job[key] for key in ("jid", "name", "state", "duration")}
    return shown | {"vertices": [_vertex(cluster, job_id, vertex) for vertex in job["vertices"]]}


def _vertex(cluster: RestClusterClient, job_id: str, vertex: dict[str, Any]) -> dict[str, Any]:
    path = f"/jobs/{job_id}/vertices/{vertex['id']}/subtasks/metrics"
    found = {one["id"]: one for one in cluster.get(f"{path}?get={','.join([*_RATES, _BUSY])}&agg=sum,max")}
    shown = {key: vertex[key] for key in ("id", "name", "status", "parallelism")}
    rates = {shown_as: found[name]["sum"] if name in found else None for name, shown_as in _RATES.items()}
    return shown | rates | {"busy": found[_BUSY]["max"] / 1000 if _BUSY in found else None}


def frame_table(frame: Frame) -> Any:
    """Return the frame as a table for the terminal."""
    from rich.markup import escape
    from rich.table import Table

    overview = frame["overview"]
    title = (
        f"{counted(len(frame['jobs']), 'job')} running, "
        f"{overview['slots-available']} of {overview['slots-total']} slots free, "
        f"{counted(overview['taskmanagers'], 'TaskManager')}"
    )
    table = Table(title=title, title_justify="left")
    for column in ("job, vertex", "state", "subtasks", "in / s", "out / s", "busy"):
        table.add_column(column, justify="left" if column in ("job, vertex", "state") else "right")
    for job in frame["jobs"]:
        name = f"[bold]{escape(in_one_line(job['name']))}[/] {job['jid']}"
        table.add_row(name, job["state"], "", "", "", f"{job['duration'] / 1000:.0f} s")
        for vertex in job["vertices"]:
            rates = (_number(vertex[name], "{:,.0f}") for name in _RATES.values())
            name = f"  {escape(in_one_line(_short(vertex['name'])))}"
            busy = _number(vertex["busy"], "{:.0%}")
            table.add_row(name, vertex["status"], str(vertex["parallelism"]), *rates, busy)
    return table


def frame_text(frame: Frame) -> str:
    """Return the frame as plain text."""
    from rich.console import Console

    text = StringIO()
    Console(file=text, width=140).print(frame_table(frame))
    return text.getvalue().rstrip("\n")


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 3]}..."


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
