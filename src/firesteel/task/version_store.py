"""The versions of one slot's subtasks: files that are written once, and chains of them that make up a version.

    <region's directory>/versions-<run>/<stage>/<slot>/<batch>-<try>.full     everything
    <region's directory>/versions-<run>/<stage>/<slot>/<batch>-<try>.delta    what changed since the version before

The directory of the first pipelined region is the job's, that of another one `region-<number>` in it.

A version is a full file and the deltas after it. Which files these are is not read off their names: a slot reports the
chain that it wrote, the coordinator keeps the chains of the batch that it accepted, and the request for the next batch
says which chain to start from. So a file that a stale, killed or repeated execution leaves belongs to no version.

A file has frames of two kinds, pickled: `(vertex id, operator id, delta)` with a part of an operator's keyed state, as
bytes, and after all of those `(vertex id, None, version)` with the rest of a subtask.
"""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from firesteel.common.durability import make_directory, sync_directory, sync_file
from firesteel.common.remote_path import AnyPath, RemotePath
from firesteel.task.state_file import read_state_file, write_state_file
from firesteel.task.state_transfer import NOTHING_STORED, StateUploads, Stored, fetch_chain
from firesteel.task.version_chains import Frame, is_full_due, merge, split_off_mergeable
from firesteel.task.versions import BatchTry, Chain, TryIsOverError, VersionFile

Place = TypeVar("Place", Path, RemotePath)

CLAIM = "claim"
"""Name of the object that makes the number of a run somebody's, where checkpoints are on a remote file system."""


def region_directory(job_directory: Place, region: int) -> Place:
    """Return the directory of a pipelined region's versions; runs are counted region by region."""
    return job_directory / f"region-{region}" if region else job_directory


def runs_in(directory: Path) -> dict[int, Path]:
    """Return the directories of versions in a region's directory by the number of their run."""
    return {run_of(path): path for path in directory.glob("versions-*")}


def run_of(versions: AnyPath) -> int:
    """Return the number of the run that has a directory of versions; a later run has a larger one."""
    return int(versions.name.partition("-")[2])


def versions_of(directory: Place, run: int) -> Place:
    """Return the directory of versions of a run of a region."""
    return directory / f"versions-{run}"


def shown_in(directory: Path, run: int) -> Path:
    """Return the directory for large output that sinks of a region's run show, removed with the run's versions."""
    return versions_of(directory, run) / "shown"


def spool_in(directory: Path, run: int) -> Path:
    """Return the directory for files of sinks that the state of a run refers to, removed with the run's versions."""
    return versions_of(directory, run) / "spool"


def claim_run(directory: Path) -> int:
    """Claim the next run number of a region by creating a directory of versions in the region's directory.

    A JobManager that lost its leadership may have slots that still write, beside those of its successor.

    Raises:
        FileNotFoundError: the directory of the job is gone: the job is over.
    """
    number = max(runs_in(directory), default=0) + 1
    while True:
        try:
            versions_of(directory, number).mkdir()
        except FileExistsError:
            number += 1
        else:
            sync_directory(directory)
            return number


def claim_stored_run(store: RemotePath, directory: Path) -> int:
    """Claim the next run number of a region whose checkpoints are on a remote file system.

    Args:
        store: The region's directory there.
        directory: The region's directory on this host.
    """
    numbers = [run_of(path) for path in store.iterdir() if path.name.startswith("versions-")]
    number = max([*numbers, *runs_in(directory)], default=0) + 1
    while True:
        try:
            (versions_of(store, number) / CLAIM).create(secrets.token_bytes(16))
        except FileExistsError:
            number += 1
        else:
            versions_of(directory, number).mkdir(exist_ok=True)
            return number


def read_frames(directory: Path, chain: Chain) -> Iterator[Frame]:
    """Yield the frames of the files of a chain.

    Raises:
        StateFileError: a file is missing or damaged.
    """
    for file in chain:
        for frame in read_state_file(directory / file.path):
            yield pickle.loads(frame)


class VersionStore:
    """Writes and reads the versions of one slot.

    Args:
        job_directory: The job's checkpoint directory.
        slot: Number of the slot.
        region: Number of the pipelined region.
        remote: The directory with the job's checkpoints, if it is on a remote file system. Files are then sent there
            for checkpoints, and those that are not on this host are fetched.
    """

    def __init__(self, job_directory: Path, slot: int, region: int = 0, remote: RemotePath | None = None) -> None:
        self._directory = job_directory
        self._of_region = region_directory(job_directory, region)
        self._slot = slot
        self._durable: dict[int, set[str]] = {}
        self._remote = remote
        self._sent: dict[int, set[str]] = {}
        self._local: dict[int, set[str]] = {}
        self._recoverable: dict[int, list[set[str]]] = {}
        self._uploads = None if remote is None else StateUploads(job_directory, remote)

    def _parent(self, stage: int, run: int) -> Path:
        return versions_of(self._of_region, run) / str(stage) / str(self._slot)

    def check_try(self, stage: int, at: BatchTry) -> None:
        """Check that no other process has run the stage in this try.

        Raises:
            TryIsOverError: one has.
        """
        for kind in ("full", "delta"):
            path = self._parent(stage, at.run) / f"{at.batch_id}-{at.number}.{kind}"
            if path.exists():
                raise TryIsOverError(path)

    def read(self, chain: Chain) -> Iterator[Frame]:
        """Yield the frames to apply, in order, to be at the version of a chain.

        Raises:
            StateFileError: a file is missing or damaged.
        """
        if self._remote is not None:
            fetch_chain(self._remote, self._directory, chain)
        return read_frames(self._directory, chain)

    def write(
        self, stage: int, at: BatchTry, parent: Chain, make: Callable[[bool], Iterator[Frame]], in_full: bool = False
    ) -> Chain:
        """Write the version of a batch, the frames of `make(full)`, and return its chain.

        A full file is written if it is asked for (`in_full`), and when the deltas are as large as the last full one: so
        what is written is at most twice what changed, and what is kept at most twice what there is.

        Raises:
            TryIsOverError: another process has written the version of this try.
            FileNotFoundError: the directory of the run is gone: a later run has taken a checkpoint.
            StateFileError: the file could not be written.
        """
        full = in_full or is_full_due(parent)
        kept, merged = ((), ()) if full else split_off_mergeable(parent)
        directory = self._parent(stage, at.run)
        # On the disk of a host, which has its own, the directory of the run may not be there yet.
        below = versions_of(self._of_region, at.run) if self._remote is None else None
        make_directory(directory, below=below)
        path = directory / f"{at.batch_id}-{at.number}.{'full' if full else 'delta'}"
        sizes: dict[str, int] = {}
        frames = make(full)
        if merged:
            frames = merge(read_frames(self._directory, merged), frames)
        try:
            size = write_state_file(path, _pickled_frames(frames, sizes))
        except FileExistsError:
            raise TryIsOverError(path) from None
        return (*kept, VersionFile(str(path.relative_to(self._directory)), size, sizes))

    def send(
        self, stage: int, chain: Chain, parent: Chain, wanted: Sequence[str], is_checkpoint: bool, waits: bool
    ) -> Stored:
        """Send files that checkpoints need to a remote file system; return those that are there by now.

        Args:
            stage: The stage.
            chain: The version after the batch.
            parent: The one before it.
            wanted: Files of earlier batches that a checkpoint needs.
            is_checkpoint: Whether it is the one that follows: it needs the new file, and no file that was merged.
            waits: Whether to wait until all are there.
        """
        if self._uploads is None:
            return NOTHING_STORED
        present, before = {file.path for file in chain}, {file.path for file in parent}
        needed = present & {*wanted, *(present - before)} if is_checkpoint else set(wanted)
        self._uploads.send(sorted(needed))
        self._uploads.forget(self._sent.get(stage, set()) - present - needed)
        self._sent[stage] = needed | (self._sent.get(stage, set()) & present)
        stored = self._uploads.sent_of(needed, waits)
        self._remove_superseded(stage, present, before | needed, is_checkpoint)
        return stored

    def _remove_superseded(self, stage: int, present: set[str], needed: set[str], is_checkpoint: bool) -> None:
        """Remove files from this host's disk, but for what a retried batch or one of the last checkpoints starts from.

        The coordinator removes files on its own host only, and earlier checkpoints can be fetched.
        """
        recoverable = self._recoverable.setdefault(stage, [])
        if is_checkpoint:
            recoverable.append(present)
            del recoverable[:-2]
        known = self._local.get(stage, set()) | present
        kept = present.union(needed, self._sent[stage], *recoverable) & known
        for path in known - kept:
            (self._directory / path).unlink(missing_ok=True)
        self._local[stage] = kept

    def close(self) -> None:
        """Give up what is being sent."""
        if self._uploads is not None:
            self._uploads.close()

    def make_durable(self, stage: int, chain: Chain) -> None:
        """Write the files of a stage's chain to the disk, but for those that were there at the last checkpoint.

        Those that are sent to a remote file system need not be.
        """
        if self._remote is not None:
            return
        paths = {file.path for file in chain}
        new = paths - self._durable.get(stage, set())
        for path in new:
            sync_file(self._directory / path)
        for parent in {os.path.dirname(path) for path in new}:
            sync_directory(self._directory / parent)
        self._durable[stage] = paths


def _pickled_frames(frames: Iterable[Frame], sizes: dict[str, int]) -> Iterator[bytes]:
    """Pickle frames and add up the bytes of keyed state by operator in `sizes`."""
    for frame in frames:
        _, operator_id, state = frame
        if operator_id is not None:
            sizes[operator_id] = sizes.get(operator_id, 0) + len(state)
        yield pickle.dumps(frame, protocol=5)


def chain_sizes(chain: Sequence[VersionFile]) -> dict[str, int]:
    """Return the bytes of keyed state in the files of a chain, by operator id."""
    sizes: dict[str, int] = {}
    for file in chain:
        for operator_id, size in file.state_sizes.items():
            sizes[operator_id] = sizes.get(operator_id, 0) + size
    return sizes
