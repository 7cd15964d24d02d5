"""The versions of one slot's subtasks: immutable files, and chains of files that make up a version.

    <region's directory>/versions-<run>/<stage>/<slot>/<batch>-<try>.full     everything
    <region's directory>/versions-<run>/<stage>/<slot>/<batch>-<try>.delta    changes since the previous version

The first pipelined region uses the job's directory, other regions `region-<number>` in it.

A version is a full file and the deltas after it. The files of a version are not derived from their names: a slot
reports the chain that it wrote, the coordinator keeps the chains of the accepted batch, and the request for the next
batch names the chain to start from. So a file left by a stale, killed or repeated execution belongs to no version.

A file has frames of two kinds: `(vertex id, operator id, delta)` with a part of an operator's keyed state, as
bytes, and after all of those `(vertex id, None, version)` with the rest of a subtask.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from firesteel.common.encoding import encoded_data
from firesteel.common.files.durability import make_directory, sync_directory, sync_file
from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.task.state_file import checksum_of, read_state_file, write_state_file
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_transfer import NOTHING_STORED, StateUploads, Stored, fetch_chain
from firesteel.task.state_types import load_frame
from firesteel.task.version_chains import Frame, is_full_due, merge, split_off_mergeable
from firesteel.task.versions import BatchTry, Chain, TryIsOverError, VersionFile

Place = TypeVar("Place", Path, RemotePath, AnyPath)

CLAIM = "claim"
"""Name of the object that claims a run number, if checkpoints are on a remote file system."""


def region_directory(job_directory: Place, region: int) -> Place:
    """Return the directory of a pipelined region's versions; each region numbers its own runs."""
    return job_directory / f"region-{region}" if region else job_directory


def runs_in(directory: Path) -> dict[int, Path]:
    """Return the version directories in a region's directory by run number."""
    return {run_of(path): path for path in directory.glob("versions-*")}


def run_of(versions: AnyPath) -> int:
    """Return the run number of a directory of versions; later runs have larger numbers."""
    return int(versions.name.partition("-")[2])


def versions_of(directory: Place, run: int) -> Place:
    """Return the directory of versions of a region's run."""
    return directory / f"versions-{run}"


def shown_in(directory: Path, run: int) -> Path:
    """Return the directory for large sink output of a region's run; it is removed with the run's versions."""
    return versions_of(directory, run) / "shown"


def spool_in(directory: Path, run: int) -> Path:
    """Return the directory for sink files that a run's state refers to; it is removed with the run's versions."""
    return versions_of(directory, run) / "spool"


def claim_run(directory: Path) -> int:
    """Claim the next run number of a region by creating its directory of versions.

    Unique numbers keep slots of a deposed JobManager, which may still write, apart from those of its successor.

    Raises:
        FileNotFoundError: the directory of the job is gone, so the job has ended.
    """
    # Two JobManagers may find the same number; `mkdir` lets one of them have it, and the other one goes on.
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


def read_frames(directory: Path, chain: Chain, seal: StateSeal = UNSEALED) -> Iterator[Frame]:
    """Yield the frames of the files of a chain.

    Raises:
        StateFileError: a file is missing, damaged, or cannot be verified.
        NotDataError: a frame contains something else than data.
        pickle.UnpicklingError: the same, in a file of an earlier release.
    """
    for file in chain:
        for frame in read_state_file(directory / file.path, seal, file.checksum):
            yield load_frame(frame)


class VersionStore:
    """A reader and writer of the versions of one slot.

    Args:
        job_directory: The job's checkpoint directory.
        slot: Number of the slot.
        region: Number of the pipelined region.
        remote: The directory of the job's checkpoints, if it is on a remote file system. Files are then uploaded for
        checkpoints, and files missing on this host are downloaded.
        seal: Signs and verifies the files.
    """

    def __init__(
        self,
        job_directory: Path,
        slot: int,
        region: int = 0,
        remote: RemotePath | None = None,
        seal: StateSeal = UNSEALED,
    ) -> None:
        self._seal = seal
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
            TryIsOverError: another process has run it.
        """
        for kind in ("full", "delta"):
            path = self._parent(stage, at.run) / f"{at.batch_id}-{at.number}.{kind}"
            if path.exists():
                raise TryIsOverError(path)

    def read(self, chain: Chain) -> Iterator[Frame]:
        """Yield the frames of a version, in the order in which to apply them.

        Raises:
            StateFileError: a file is missing or damaged.
        """
        if self._remote is not None:
            fetch_chain(self._remote, self._directory, chain)
        return read_frames(self._directory, chain, self._seal)

    def write(
        self, stage: int, at: BatchTry, parent: Chain, make: Callable[[bool], Iterator[Frame]], in_full: bool = False
    ) -> Chain:
        """Write the version of a batch with the frames of `make(full)`, and return its chain.

        A full file is written on request (`in_full`), and when the deltas are as large as the last full file. So the
        bytes written are at most twice the changes, and the bytes kept at most twice the state.

        Raises:
            TryIsOverError: another process has written the version of this try.
            FileNotFoundError: the directory of the run is gone: a later run has taken a checkpoint.
            StateFileError: the file could not be written.
        """
        # The chain decides, and not the number of batches: a state that barely changes is hardly ever written as a
        # whole.
        full = in_full or is_full_due(parent)
        kept, merged = ((), ()) if full else split_off_mergeable(parent)
        directory = self._parent(stage, at.run)
        # With a remote store each host has its own directory of the run, which may not exist yet.
        below = versions_of(self._of_region, at.run) if self._remote is None else None
        make_directory(directory, below=below)
        path = directory / f"{at.batch_id}-{at.number}.{'full' if full else 'delta'}"
        sizes: dict[str, int] = {}
        frames = make(full)
        if merged:
            frames = merge(read_frames(self._directory, merged, self._seal), frames)
        try:
            size = write_state_file(path, _encoded_frames(frames, sizes), seal=self._seal)
        except FileExistsError:
            raise TryIsOverError(path) from None
        return (*kept, VersionFile(str(path.relative_to(self._directory)), size, sizes, checksum_of(path)))

    def send(
        self,
        stage: int,
        chain: Chain,
        parent: Chain,
        wanted: Sequence[str],
        unstored: Sequence[str],
        is_checkpoint: bool,
        waits: bool,
    ) -> Stored:
        """Upload files that checkpoints need to the remote store; return those that are stored by now.

        Args:
            stage: The stage.
            chain: The version after the batch.
            parent: The version before the batch.
            wanted: Files of earlier batches that pending checkpoints need.
            unstored: Files of the version before the batch that are not stored yet.
            is_checkpoint: Whether a checkpoint follows the batch; it needs the new file but no merged files.
            waits: Whether to wait until the uploads for this checkpoint are complete.
        """
        if self._uploads is None:
            return NOTHING_STORED
        present, before = {file.path for file in chain}, {file.path for file in parent}
        new = present & {*unstored, *(present - before)} if is_checkpoint else set()
        needed = new.union(wanted)
        self._uploads.send(sorted(needed))
        self._uploads.forget(self._sent.get(stage, set()) - present - needed)
        self._sent[stage] = needed | (self._sent.get(stage, set()) & present)
        stored = self._uploads.sent_of(needed, new if waits else ())
        self._remove_superseded(stage, present, before | needed, is_checkpoint)
        return stored

    def _remove_superseded(self, stage: int, present: set[str], needed: set[str], is_checkpoint: bool) -> None:
        """Remove files from this host's disk that neither a retried batch nor one of the last checkpoints starts from.

        The coordinator removes files on its own host only, and earlier checkpoints can be fetched.
        """
        recoverable = self._recoverable.setdefault(stage, [])
        if is_checkpoint:
            recoverable.append(present)
            # The last checkpoint may still fail to complete, and then the one before is started from.
            del recoverable[:-2]
        known = self._local.get(stage, set()) | present
        kept = present.union(needed, self._sent[stage], *recoverable) & known
        for path in known - kept:
            (self._directory / path).unlink(missing_ok=True)
        self._local[stage] = kept

    def close(self) -> None:
        """Cancel the uploads that have not started."""
        if self._uploads is not None:
            self._uploads.close()

    def make_durable(self, stage: int, chain: Chain) -> None:
        """Sync the files of a stage's chain to disk, except those synced for the last checkpoint.

        Files that are uploaded to a remote file system need no sync.
        """
        if self._remote is not None:
            return
        paths = {file.path for file in chain}
        # Most files of a chain are in several checkpoints; each is synced once.
        new = paths - self._durable.get(stage, set())
        for path in new:
            sync_file(self._directory / path)
        for parent in {os.path.dirname(path) for path in new}:
            sync_directory(self._directory / parent)
        self._durable[stage] = paths


def _encoded_frames(frames: Iterable[Frame], sizes: dict[str, int]) -> Iterator[bytes]:
    """Yield the bytes of frames, and add up the bytes of keyed state by operator in `sizes`."""
    for frame in frames:
        _, operator_id, state = frame
        if operator_id is not None:
            sizes[operator_id] = sizes.get(operator_id, 0) + len(state)
        yield encoded_data(frame)


def chain_sizes(chain: Sequence[VersionFile]) -> dict[str, int]:
    """Return the bytes of keyed state in the files of a chain, by operator id."""
    sizes: dict[str, int] = {}
    for file in chain:
        for operator_id, size in file.state_sizes.items():
            sizes[operator_id] = sizes.get(operator_id, 0) + size
    return sizes
