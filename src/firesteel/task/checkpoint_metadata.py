"""What a checkpoint or savepoint is: its `_metadata` file, which says what state there is and where.

    <job directory>/chk-7/_metadata          a checkpoint, which names version files of the job
    <job directory>/versions-2/...           what the second run of the job wrote, see `version_store`
    <savepoint>/_metadata                    a savepoint, with state of its own in <savepoint>/versions

The metadata is written last: a directory without it is no checkpoint. Flink: `runtime.checkpoint.metadata`.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.common.durability import sync_directory, sync_file
from firesteel.common.file_systems import LOCAL_FILES, Files
from firesteel.common.remote_path import AnyPath, RemotePath, size_of
from firesteel.errors import FiresteelError
from firesteel.task.state_file import publish, read_state_file, replace_state_file, state_file_bytes
from firesteel.task.versions import Chain

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
class RegionState:
    """What a checkpoint has of one pipelined region.

    Attributes:
        batch_id: The batch of the region behind which it was taken.
        chains: (stage, slot) -> the files of its version, relative to `base_of` the checkpoint.
        sources: Pickled: operator id -> where the enumerator of that source is.
        committables: Pickled: what its sinks want to have committed with the checkpoint.
        next_time: When the region has something to do again although nothing comes (ms).
    """

    batch_id: int
    chains: dict[tuple[int, int], Chain]
    sources: bytes
    committables: bytes
    next_time: int | None


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """A checkpoint or savepoint.

    Attributes:
        checkpoint_id: Counts the checkpoints of a job, over restarts; from 1.
        timestamp_ms: When it was taken.
        job_id: The job.
        job_name: The job's name.
        is_savepoint: Whether it has state files of its own.
        vertices: All vertices.
        regions: What it has of each pipelined region; None: the region had done nothing yet.
    """

    checkpoint_id: int
    timestamp_ms: int
    job_id: str
    job_name: str
    is_savepoint: bool
    vertices: tuple[VertexLayout, ...]
    regions: tuple[RegionState | None, ...]

    @property
    def states(self) -> list[RegionState]:
        """What it has of the regions that had done something."""
        return [state for state in self.regions if state is not None]

    @property
    def chains(self) -> dict[tuple[int, int], Chain]:
        """(stage, slot) -> the files of its version, relative to `base_of` the checkpoint; stages are unique."""
        return {slot: chain for state in self.states for slot, chain in state.chains.items()}

    def base_of(self, directory: AnyPath) -> AnyPath:
        """Return what the paths of its files are relative to, if its metadata is in that directory."""
        return directory if self.is_savepoint else directory.parent

    def files(self) -> Iterator[str]:
        """Yield the paths of all its state files."""
        for chain in self.chains.values():
            yield from (file.path for file in chain)


def write_metadata(directory: AnyPath, metadata: CheckpointMetadata, owner: str) -> None:
    """Write the metadata, durably: with it the checkpoint is complete.

    Args:
        directory: The directory of the checkpoint, which must not exist; the one around it must.
        metadata: What to write.
        owner: Names this process's attempt to write it.

    Raises:
        CheckpointExistsError: the checkpoint is complete: of two JobManagers that think to lead the job, one decides.
        FileNotFoundError: the directory of the job is gone: the job is over.
    """
    frames = [pickle.dumps(metadata, protocol=5)]
    try:
        publish(directory / METADATA, frames, owner)
    except FileExistsError:
        raise CheckpointExistsError(directory) from None


def write_savepoint_metadata(directory: AnyPath, metadata: CheckpointMetadata) -> None:
    """Write the metadata of a savepoint, durably, into the directory that has its state files already."""
    if isinstance(directory, RemotePath):
        (directory / METADATA).create(state_file_bytes([pickle.dumps(metadata, protocol=5)]))
        return
    replace_state_file(directory / METADATA, [pickle.dumps(metadata, protocol=5)])
    sync_file(directory / METADATA)
    sync_directory(directory)
    sync_directory(directory.parent)


def read_metadata(directory: AnyPath) -> CheckpointMetadata:
    """The metadata in a directory.

    Raises:
        StateFileError: it is damaged, or of a later format.
    """
    return pickle.loads(next(read_state_file(directory / METADATA)))  # type: ignore[no-any-return]


def checkpoints_in(job_directory: AnyPath) -> list[AnyPath]:
    """Return the directories of the complete checkpoints of a job, the newest first.

    The job may remove its checkpoints meanwhile: directories that are gone hold none.
    """
    try:
        paths: list[AnyPath] = [*job_directory.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [
        (int(name.group(1)), path)
        for path in paths
        if (name := _CHECKPOINT.fullmatch(path.name)) and _is_complete(path)
    ]
    return [path for _, path in sorted(found, reverse=True)]


def _is_complete(directory: AnyPath) -> bool:
    """Return whether there is metadata; an empty file is what a crash of the machine may leave of an unfinished one."""
    return bool(size_of(directory / METADATA))


def named_directory(text: str, files: Files = LOCAL_FILES) -> AnyPath:
    """The directory that a user names, or the `_metadata` file in it; as `file:` URI, if they like.

    >>> named_directory("file:/checkpoints/chk-7/_metadata")
    PosixPath('/checkpoints/chk-7')
    """
    path = files.path(files.resolve(text))
    return path.parent if path.name == METADATA else path


def checkpoint_directory(text: str, files: Files = LOCAL_FILES) -> AnyPath:
    """The directory of the checkpoint or savepoint that a user named: itself or its `_metadata` file.

    Raises:
        CheckpointNotFoundError: there is none.
    """
    directory = named_directory(text, files)
    if size_of(directory / METADATA) is not None:
        return directory
    newest = checkpoints_in(directory) or checkpoints_in(directory.parent)
    if newest:
        raise CheckpointNotFoundError(text, f"the newest one there is {newest[0]}")
    if not directory.exists():
        raise CheckpointNotFoundError(text, "the directory does not exist")
    raise CheckpointNotFoundError(text, f"the directory has no {METADATA} file; it may be incomplete")
