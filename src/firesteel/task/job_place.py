"""Where the files of a job are: those of a host, and those of its checkpoints."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.file_systems import Files
from firesteel.common.locked_directories import remove_if_unlocked
from firesteel.common.remote_path import AnyPath, RemotePath
from firesteel.common.run_directory import run_directory

__all__ = ["CHECKPOINT_DIRECTORY", "HeldDirectories", "JobPlace", "job_place", "remote_store"]

CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"
_DIRECTORIES = "io.tmp.dirs"


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where the files of a job are.

    Attributes:
        work: The directory on the disk of a host, with the versions of its slots.
        store: The directory with the checkpoints. On a remote file system it has the same names for the version files
            that checkpoints need as `work`; else it is the same directory.
    """

    work: Path
    store: AnyPath

    @property
    def remote(self) -> RemotePath | None:
        """The directory with the checkpoints, if it is another one."""
        return self.store if isinstance(self.store, RemotePath) else None


def job_place(configuration: Mapping[str, str], job_id: str) -> JobPlace:
    """Return where the files of a job are; nothing is created but the directory around those of all jobs."""
    files = Files(configuration)
    store = files.path(files.resolve(configuration[CHECKPOINT_DIRECTORY])) / job_id
    if isinstance(store, RemotePath):
        return JobPlace(_local_jobs(configuration) / job_id, store)
    return JobPlace(store, store)


def remote_store(configuration: Mapping[str, str], work: Path) -> RemotePath | None:
    """Return the directory with the checkpoints for a process that was told where the job's files are on this host."""
    configured = configuration.get(CHECKPOINT_DIRECTORY)
    if configured is None:
        return None
    files = Files(configuration)
    store = files.path(files.resolve(configured))
    return store / work.name if isinstance(store, RemotePath) else None


class HeldDirectories:
    """The directories of jobs that this process uses on this host; those that no living process uses are removed.

    A lock goes with its process, however that ends.
    """

    def __init__(self) -> None:
        self._locks: dict[Path, int] = {}

    def hold(self, work: Path) -> None:
        """Use a directory, which is made if it is not there; then others that nobody uses any more are removed."""
        if work in self._locks:
            return
        is_new = not work.is_dir()
        make_directory(work, mode=PRIVATE_DIRECTORY)
        self._locks[work] = lock = os.open(work, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        if is_new:
            for other in work.parent.iterdir():
                remove_if_unlocked(other)

    def let_go(self, work: Path) -> None:
        """Use a directory no longer."""
        lock = self._locks.pop(work, None)
        if lock is not None:
            os.close(lock)


def _local_jobs(configuration: Mapping[str, str]) -> Path:
    """Return the directory below which each job has one, on the first of `io.tmp.dirs`."""
    configured = configuration.get(_DIRECTORIES, "").replace(os.pathsep, ",").split(",")[0]
    directory = Path(configured) / f"firesteel-jobs-{os.getuid()}" if configured else run_directory() / "jobs"
    make_directory(directory, mode=PRIVATE_DIRECTORY)
    return directory
