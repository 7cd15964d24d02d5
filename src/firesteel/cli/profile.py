"""The command `profile`, which samples the stacks of a running job into a file for speedscope."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypedDict

import click

from firesteel.cli.cluster import JobId, cluster_at, cluster_options, show
from firesteel.cli.command_group import Number
from firesteel.client.rest_client import ENDED, ClusterClientError, RestClusterClient
from firesteel.common.json_types import Json

_PIECE_S: Final = 2.0
_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


class _Subtask(TypedDict):
    vertex: str
    name: str
    subtask: int
    stacks: list[list[tuple[str, str, int]]]
    samples: list[tuple[int, bool]]


class Piece(TypedDict):
    """What the endpoint `profile` answers; `interval` is in seconds."""

    status: str
    interval: float
    subtasks: list[_Subtask]


@click.command()
@cluster_options
@click.option("--seconds", type=Number(0, 3600, min_open=True), default=30.0, help="How long to sample [30].")
@click.option("--rate", type=Number(0, 1000, min_open=True), default=100.0, help="Samples per second [100].")
@click.option(
    "-o",
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write [profile-JOB_ID.speedscope.json].",
)
@click.argument("job_id", type=JobId())
def profile(address: str, output: str, seconds: float, rate: float, file: Path | None, job_id: str) -> None:
    """Sample the Python stacks of the running job JOB_ID and write them to a file that speedscope opens.

    The file has a profile per subtask. https://www.speedscope.app shows it; it stays in your browser.
    """
    path = file or Path(f"profile-{job_id}.speedscope.json")
    if not path.parent.is_dir():  # It would be too late after the samples.
        raise click.UsageError(f"--file {str(path)!r}: {str(path.parent)!r} is not a directory")
    with cluster_at(address) as cluster:
        name = str(cluster.get(f"/jobs/{job_id}")["name"])
        recorded = Recording()
        for piece in _pieces(cluster, job_id, seconds, rate):
            recorded.add(piece)
    if not recorded.has_samples:
        raise ClusterClientError(0, f"no subtask of job {job_id} was running: there is nothing to show")
    _write(path, json.dumps(recorded.to_speedscope(name)))
    show(output, {"job-id": job_id, "file": str(path)}, f"Profile of job {job_id} written to {path}.")


def _pieces(cluster: RestClusterClient, job_id: str, seconds: float, rate: float) -> Iterator[Piece]:
    """Yield samples until the time is over, or the job has ended."""
    begun_s = time.monotonic()
    while (left_s := begun_s + seconds - time.monotonic()) > 0:
        length_s = max(1 / rate, min(_PIECE_S, left_s))
        piece: Piece = cluster.get(f"/firesteel/jobs/{job_id}/profile?seconds={length_s:.3f}&rate={rate:g}")
        yield piece
        if piece["status"] in ENDED:
            return
        if not piece["subtasks"]:  # It restarts, or waits for slots.
            time.sleep(min(0.5, left_s))


def _write(path: Path, text: str) -> None:
    """Write a file at once, so that nobody opens half of one."""
    try:
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        unfinished.write_text(text)
        unfinished.replace(path)
    except OSError as error:
        raise click.UsageError(f"--file {str(path)!r}: {error.strerror}") from error


class Recording:
    """Samples of subtasks in the order of time, which become a file for speedscope."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str, int], int] = {}
        self._subtasks: dict[tuple[str, int], _Profile] = {}

    def add(self, piece: Piece) -> None:
        """Add what the endpoint `profile` has answered."""
        for one in piece["subtasks"]:
            title = f"{one['name']} ({one['subtask'] + 1})"
            subtask = self._subtasks.setdefault((one["vertex"], one["subtask"]), _Profile(title))
            stacks = [[self._frame(*frame) for frame in stack] for stack in one["stacks"]]
            subtask.samples += [stacks[stack] for stack, _ in one["samples"]]
            subtask.weights += [piece["interval"]] * len(one["samples"])

    def _frame(self, name: str, file: str, line: int) -> int:
        return self._frames.setdefault((name, file, line), len(self._frames))

    @property
    def has_samples(self) -> bool:
        """Whether there is anything to show."""
        return any(subtask.samples for subtask in self._subtasks.values())

    def to_speedscope(self, name: str) -> dict[str, Json]:
        """Return the file: a profile per subtask, whose weights are seconds."""
        return {
            "$schema": _SCHEMA,
            "name": name,
            "exporter": "firesteel",
            "activeProfileIndex": 0,
            "shared": {"frames": [_frame(*frame) for frame in self._frames]},
            "profiles": [subtask.to_speedscope() for subtask in self._subtasks.values()],
        }


def _frame(name: str, file: str, line: int) -> dict[str, Json]:
    return {"name": name, "file": file, "line": line} if file else {"name": name}


class _Profile:
    def __init__(self, title: str) -> None:
        self.title = title
        self.samples: list[list[int]] = []
        self.weights: list[float] = []

    def to_speedscope(self) -> dict[str, Json]:
        return {
            "type": "sampled",
            "name": self.title,
            "unit": "seconds",
            "startValue": 0,
            "endValue": sum(self.weights),
            "samples": self.samples,
            "weights": self.weights,
        }
