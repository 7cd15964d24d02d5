"""What a checkpoint or savepoint is: its `_metadata` file, which says what state there is and where.

    <job directory>/chk-7/_metadata          a checkpoint; its state is in <job directory>/versions-2
    <job directory>/versions-2/...           what the second run of the job wrote, see `version_store`
    <savepoint>/_metadata                    a savepoint, with state of its own in <savepoint>/versions

The metadata is written last: a directory without it is no checkpoint. Flink: `runtime.checkpoint.metadata`.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firesteel.common.local_path import local_path
from firesteel.errors import FiresteelError
from firesteel.task.state_file import read_state_file, write_state_file
from firesteel.task.version_store import version_files

METADATA = "_metadata"
_CHECKPOINT = re.compile(r"chk-(\d+)")


class CheckpointNotFoundError(FiresteelError):
    """There is no checkpoint or savepoint where one was said to be.

    Args:
        path: What was given.
        hint: What else there is.
    """

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(path, hint)
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        return f"no checkpoint or savepoint at {self.path}: {self.hint}"


class CheckpointExistsError(FiresteelError):
    """Another JobManager has taken a checkpoint; the argument is its directory."""

    def __str__(self) -> str:
        return f"checkpoint {self.args[0]} was taken by another JobManager meanwhile: this one's run of the job is over"


@dataclass(frozen=True, slots=True)
class VertexLayout:
    """Where the state of a vertex is.

    Attributes:
        vertex_id: The vertex.
        name: Its name.
        stage: The stage it runs in.
        first_slot: The slot of its subtask 0.
        parallelism: Number of subtasks.
        max_parallelism: Number of key groups.
        operators: Id and name of its operators.
    """

    vertex_id: str
    name: str
    stage: int
    first_slot: int
    parallelism: int
    max_parallelism: int
    operators: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """A checkpoint or savepoint.

    Attributes:
        checkpoint_id: Counts the checkpoints of a job, over restarts; from 1.
        batch_id: The batch it was taken behind.
        timestamp_ms: When it was taken.
        job_id: The job.
        job_name: The job's name.
        is_savepoint: Whether it has state files of its own.
        vertices: All vertices.
        bases: (stage, slot) -> the batch of the full file of its version.
        sources: Pickled: operator id -> where the enumerator of that source is.
        committables: Pickled: (sink operators' committables) that are to be committed with it.
        next_time: When the job has something to do again although nothing comes (ms).
        versions: Name of the directory of its versions: beside its own one, or in that of a savepoint.
        state_sizes: (stage, slot) -> bytes of state in that version, by operator id.
    """

    checkpoint_id: int
    batch_id: int
    timestamp_ms: int
    job_id: str
    job_name: str
    is_savepoint: bool
    vertices: tuple[VertexLayout, ...]
    bases: dict[tuple[int, int], int]
    sources: bytes
    committables: bytes
    next_time: int | None
    versions: str
    state_sizes: dict[tuple[int, int], dict[str, int]]

    def versions_in(self, directory: Path) -> Path:
        """Where its versions are, if its metadata is in that directory."""
        return (directory if self.is_savepoint else directory.parent) / self.versions

    def files_in(self, versions: Path) -> Iterator[Path]:
        """All its state files."""
        for (stage, slot), base in self.bases.items():
            yield from version_files(versions, stage, slot, base, self.batch_id)


def write_metadata(directory: Path, metadata: CheckpointMetadata) -> None:
    """Write the metadata: with it the checkpoint is complete.

    Raises:
        CheckpointExistsError: it is complete already: of two JobManagers that think to lead the job, one decides it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    try:
        write_state_file(directory / METADATA, [pickle.dumps(metadata, protocol=5)], is_new=True)
    except FileExistsError:
        raise CheckpointExistsError(directory) from None


def read_metadata(directory: Path) -> CheckpointMetadata:
    """The metadata in a directory.

    Raises:
        StateFileError: it is damaged, or of a later format.
    """
    return pickle.loads(next(read_state_file(directory / METADATA)))  # type: ignore[no-any-return]


def checkpoints_in(job_directory: Path) -> list[Path]:
    """The directories of the complete checkpoints of a job, the newest first."""
    found = [
        (int(name.group(1)), path)
        for path in (job_directory.iterdir() if job_directory.is_dir() else ())
        if (name := _CHECKPOINT.fullmatch(path.name)) and (path / METADATA).exists()
    ]
    return [path for _, path in sorted(found, reverse=True)]


def named_directory(text: str) -> Path:
    """The directory that a user names, or the `_metadata` file in it; as `file:` URI, if they like.

    >>> named_directory("file:/checkpoints/chk-7/_metadata")
    PosixPath('/checkpoints/chk-7')
    """
    path = local_path(text)
    return path.parent if path.name == METADATA else path


def checkpoint_directory(text: str) -> Path:
    """The directory of the checkpoint or savepoint that a user named: itself or its `_metadata` file.

    Raises:
        CheckpointNotFoundError: there is none.
    """
    directory = named_directory(text)
    if (directory / METADATA).exists():
        return directory
    newest = checkpoints_in(directory) or checkpoints_in(directory.parent)
    if newest:
        raise CheckpointNotFoundError(text, f"the newest one there is {newest[0]}")
    if not directory.exists():
        raise CheckpointNotFoundError(text, "the directory does not exist")
    raise CheckpointNotFoundError(text, f"the directory has no {METADATA} file; it may be incomplete")
