"""The directories of a job: on a host's disk, and for its checkpoints."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.file_systems import Files
from firesteel.common.files.locked_directories import remove_if_unlocked
from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.common.files.temporary_directories import private_directory
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR

__all__ = ["HeldDirectories", "JobPlace", "job_place", "remote_store"]


@dataclass(frozen=True, slots=True)
class JobPlace:
    """The directories of a job.

    Attributes:
        work: The directory on the disk of a host, with the versions of its slots.
        store: The directory of the checkpoints. On a remote file system, the version files that checkpoints need have
        the same names as in `work`; otherwise it is the same directory.
    """

    work: Path
    store: AnyPath

    @property
    def remote(self) -> RemotePath | None:
        """The directory of the checkpoints if it is on a remote file system, else None."""
        return self.store if isinstance(self.store, RemotePath) else None


def job_place(configuration: Mapping[str, str], job_id: str) -> JobPlace:
    """Return the directories of a job; only the common parent directory of all jobs is created."""
    files = Files(configuration)
    store = files.path(files.resolve(CHECKPOINTING_DIR.required(configuration))) / job_id
    if isinstance(store, RemotePath):
        return JobPlace(private_directory("jobs", configuration) / job_id, store)
    return JobPlace(store, store)


def remote_store(configuration: Mapping[str, str], work: Path) -> RemotePath | None:
    """Return the remote checkpoint directory, given the job's directory on this host; None if it is local."""
    configured = CHECKPOINTING_DIR.of(configuration)
    if configured is None:
        return None
    files = Files(configuration)
    store = files.path(files.resolve(configured))
    return store / work.name if isinstance(store, RemotePath) else None


class HeldDirectories:
    """The job directories that this process uses on this host; directories that no live process uses are removed.

    File locks mark the directories in use; the kernel releases them when their process ends.
    """

    def __init__(self) -> None:
        self._locks: dict[Path, int] = {}

    def hold(self, work: Path) -> None:
        """Lock a job directory, which is created if necessary, and remove directories that nobody uses any more."""
        if work in self._locks:
            return
        is_new = not work.is_dir()
        make_directory(work, mode=PRIVATE_DIRECTORY)
        self._locks[work] = lock = os.open(work, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        # Only the first process of a job on a host looks, as most slots would look in vain.
        if is_new:
            for other in work.parent.iterdir():
                remove_if_unlocked(other)

    def let_go(self, work: Path) -> None:
        """Release a job directory."""
        lock = self._locks.pop(work, None)
        if lock is not None:
            os.close(lock)
