"""The versions of one slot's subtasks in a directory of versions: one file per stage, slot and batch.

`<directory>/<stage>/<slot>/<batch>.delta` holds what changed in the batch, `<batch>.full` everything. Each batch writes
one of them, so a version is a full file and all deltas behind it. A file has frames of two kinds, pickled:
`(vertex id, operator id, delta)` with a part of an operator's keyed state, as bytes, and behind all of those
`(vertex id, None, version)` with the rest of a subtask.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firesteel.task.state_file import StateFileError, read_state_file, remove_unfinished, write_state_file

MAX_DELTAS = 200
"""A full version follows so many deltas at the latest, so that a restart reads few files."""

Frame = tuple[str, str | None, Any]
"""(vertex id, operator id, pickled Delta) or (vertex id, None, Version)."""


def claim_versions(job_directory: Path) -> Path:
    """A new directory of versions: each run of a job has one.

    A JobManager that lost its leadership may have slots that still write, beside those of its successor.
    """
    number = max((run_of(path) for path in job_directory.glob("versions-*")), default=0) + 1
    while True:
        path = job_directory / f"versions-{number}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return path


def run_of(versions: Path) -> int:
    """The number of the run that has a directory of versions; a later run has a larger one."""
    return int(versions.name.partition("-")[2])


def link_version(source: Path, target: Path, stage: int, slot: int, base: int, batch_id: int) -> None:
    """Let a directory of versions have one of another, too: its files are never changed."""
    for path in version_files(source, stage, slot, base, batch_id):
        parent = target / str(stage) / str(slot)
        parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, parent / path.name)
        except OSError:
            shutil.copyfile(path, parent / path.name)


def version_files(directory: Path, stage: int, slot: int, base: int, batch_id: int) -> list[Path]:
    """The files of one version: the full one of batch `base`, and the deltas up to `batch_id`."""
    parent = directory / str(stage) / str(slot)
    return [parent / f"{base}.full", *(parent / f"{batch}.delta" for batch in range(base + 1, batch_id + 1))]


def read_frames(files: Iterable[Path]) -> Iterator[Frame]:
    """The frames of some files.

    Raises:
        StateFileError: a file is missing or damaged.
    """
    for path in files:
        for frame in read_state_file(path):
            yield pickle.loads(frame)


@dataclass(slots=True)
class _Chain:
    """The version that was written or read last.

    Attributes:
        base: Batch of its full file.
        last: Batch of its last file.
        full_bytes: Size of the full file.
        delta_bytes: Size of all deltas behind it.
    """

    base: int
    last: int
    full_bytes: int
    delta_bytes: int = 0


class VersionStore:
    """Writes and reads the versions of one slot."""

    def __init__(self, directory: Path, slot: int) -> None:
        self._directory = directory
        self._slot = slot
        self._chains: dict[int, _Chain] = {}

    def _stage(self, stage: int) -> Path:
        return self._directory / str(stage) / str(self._slot)

    def write(self, stage: int, batch_id: int, make: Callable[[bool], Iterator[Frame]], in_full: bool = False) -> int:
        """Write the version of a batch, the frames of `make(full)`; gives the batch of its full file.

        A full one is written if it is asked for (`in_full`), and when the deltas are as large as the last full one: so
        what is written is at most twice what changed, and what is kept at most twice what there is.
        """
        chain = self._chains.get(stage)
        if chain is not None and chain.last != batch_id - 1:
            chain = None
        full = (
            in_full or chain is None or chain.delta_bytes >= chain.full_bytes or chain.last - chain.base >= MAX_DELTAS
        )
        parent = self._stage(stage)
        if chain is None:
            remove_unfinished(parent)
        kind, other = ("full", "delta") if full else ("delta", "full")
        parent.mkdir(parents=True, exist_ok=True)
        # What an earlier try of the batch wrote is not to be mistaken for a part of this version.
        (parent / f"{batch_id}.{other}").unlink(missing_ok=True)
        frames = (pickle.dumps(frame, protocol=5) for frame in make(full))
        size = write_state_file(parent / f"{batch_id}.{kind}", frames)
        if full or chain is None:
            chain = self._chains[stage] = _Chain(batch_id, batch_id, size)
        else:
            chain.last = batch_id
            chain.delta_bytes += size
        return chain.base

    def read(self, stage: int, batch_id: int) -> Iterator[Frame]:
        """The frames to apply, in order, to be at the end of `batch_id`.

        Raises:
            StateFileError: a file is missing or damaged.
        """
        remove_unfinished(self._stage(stage))
        base = self._base_of(stage, batch_id)
        files = version_files(self._directory, stage, self._slot, base, batch_id)
        yield from read_frames(files)
        sizes = [path.stat().st_size for path in files]
        self._chains[stage] = _Chain(base, batch_id, sizes[0], sum(sizes[1:]))

    def _base_of(self, stage: int, batch_id: int) -> int:
        """The batch of the last full version up to `batch_id`."""
        parent = self._stage(stage)
        for base in range(batch_id, -1, -1):
            if (parent / f"{base}.full").exists():
                return base
            if not (parent / f"{base}.delta").exists():
                raise StateFileError(parent / f"{base}.delta", "is missing")
        raise StateFileError(parent / "0.full", "is missing")
