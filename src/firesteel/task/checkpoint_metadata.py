"""Checkpoints and savepoints: the `_metadata` file, which lists the state and its files.

    <job directory>/chk-7/_metadata          a checkpoint, which refers to version files of the job
    <job directory>/versions-2/...           files of the second run of the job, see `version_store`
    <savepoint>/_metadata                    a savepoint, with its own state files in <savepoint>/versions

The metadata is written last: a directory without it is not a checkpoint. Flink: `runtime.checkpoint.metadata`.

Why: `docs/decisions/0012-checkpoints.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.common.checks import with_article
from firesteel.common.encoding import encoded_data
from firesteel.common.files.durability import sync_directory, sync_file
from firesteel.common.files.file_systems import LOCAL_FILES, Files
from firesteel.common.files.remote_path import AnyPath, RemotePath, size_of
from firesteel.errors import FiresteelError
from firesteel.task.state_file import StateFileError, publish, read_state_file, replace_state_file, state_file_bytes
from firesteel.task.state_seal import UNSEALED, StateSeal
from firesteel.task.state_types import load_metadata
from firesteel.task.versions import Chain

METADATA = "_metadata"
_CHECKPOINT = re.compile(r"chk-(\d+)")


class CheckpointNotFoundError(FiresteelError):
    """No checkpoint or savepoint exists at the given path.

    Args:
        path: The given path.
        hint: Which checkpoints exist instead.
    """

    def __init__(self, path: str, hint: str) -> None:
        super().__init__(path, hint)
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        return f"no checkpoint or savepoint at {self.path}: {self.hint}"


class CheckpointExistsError(FiresteelError):
    """Another JobManager has already taken this checkpoint; the argument is its directory."""

    def __str__(self) -> str:
        return f"checkpoint {self.args[0]} was already taken by another JobManager: this one's run of the job is over"


@dataclass(frozen=True, slots=True)
class VertexLayout:
    """The location of a vertex's state.

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
    """The part of a checkpoint that belongs to one pipelined region.

    Attributes:
        batch_id: The batch of the region after which it was taken.
        chains: (stage, slot) -> the files of its version, relative to `base_of` the checkpoint.
        sources: Encoded: operator id -> state of that source's enumerator.
        committables: Encoded: the committables of its sinks for the checkpoint.
        next_time: Time (ms) at which the region has work to do even without input.
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
        checkpoint_id: Number of the checkpoint within the job, across restarts, from 1.
        timestamp_ms: Time in ms at which it was taken.
        job_id: The job.
        job_name: The job's name.
        is_savepoint: Whether it has its own state files.
        vertices: All vertices.
        regions: The state of each pipelined region; None if the region had not run a batch yet.
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
        """The states of all regions that had run a batch."""
        return [state for state in self.regions if state is not None]

    @property
    def chains(self) -> dict[tuple[int, int], Chain]:
        """(stage, slot) -> the files of its version, relative to `base_of` the checkpoint; stages are unique."""
        return {slot: chain for state in self.states for slot, chain in state.chains.items()}

    def base_of(self, directory: AnyPath) -> AnyPath:
        """Return the directory to which its file paths are relative, given the directory of its metadata."""
        return directory if self.is_savepoint else directory.parent

    def files(self) -> Iterator[str]:
        """Yield the paths of all its state files."""
        for chain in self.chains.values():
            yield from (file.path for file in chain)


def write_metadata(directory: AnyPath, metadata: CheckpointMetadata, owner: str, seal: StateSeal = UNSEALED) -> None:
    """Write the metadata durably, which completes the checkpoint.

    Args:
        directory: The directory of the checkpoint, which must not exist; the one around it must.
        metadata: What to write.
        owner: Unique name of this process's attempt to write it.
        seal: Signs it.

    Raises:
        CheckpointExistsError: the checkpoint is already complete: if two JobManagers both act as leader, only one takes
        it.
        FileNotFoundError: the directory of the job is gone, so the job has ended.
    """
    frames = [encoded_data(metadata)]
    try:
        publish(directory / METADATA, frames, owner, seal)
    except FileExistsError:
        raise CheckpointExistsError(directory) from None


def write_savepoint_metadata(directory: AnyPath, metadata: CheckpointMetadata, seal: StateSeal = UNSEALED) -> None:
    """Write the metadata of a savepoint durably into the directory that already has its state files."""
    frames = [encoded_data(metadata)]
    if isinstance(directory, RemotePath):
        (directory / METADATA).create(state_file_bytes(frames, seal))
        return
    replace_state_file(directory / METADATA, frames, seal)
    sync_file(directory / METADATA)
    sync_directory(directory)
    sync_directory(directory.parent)


def read_metadata(directory: AnyPath, seal: StateSeal = UNSEALED) -> CheckpointMetadata:
    """Return the metadata in a directory.

    Raises:
        StateFileError: it is damaged, of a later format, or contains something else.
        UnverifiedStateError: it is not signed with the cluster's secret.
    """
    path = directory / METADATA
    [content] = read_state_file(path, seal)
    try:
        metadata = load_metadata(content)
    except Exception as error:  # Anything can be in a file that anyone may have written.
        raise StateFileError(path, f"can't be read as metadata: {error}") from error
    if not isinstance(metadata, CheckpointMetadata):
        raise StateFileError(path, f"contains {with_article(type(metadata))}, expected the metadata of a checkpoint")
    return metadata


def checkpoints_in(job_directory: AnyPath) -> list[AnyPath]:
    """Return the directories of the complete checkpoints of a job, the newest first.

    The job may remove checkpoints concurrently; removed directories are skipped.
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


def id_of(checkpoint: AnyPath) -> int:
    """Return the id of a checkpoint, given its directory."""
    return int(checkpoint.name.partition("-")[2])


def _is_complete(directory: AnyPath) -> bool:
    """Return whether the metadata exists; a machine crash may leave an empty file of an unfinished checkpoint."""
    return bool(size_of(directory / METADATA))


def named_directory(text: str, files: Files = LOCAL_FILES) -> AnyPath:
    """Return the directory that a user names by path or `file:` URI, directly or by its `_metadata` file.

    >>> named_directory("file:/checkpoints/chk-7/_metadata")
    PosixPath('/checkpoints/chk-7')
    """
    path = files.path(files.resolve(text))
    return path.parent if path.name == METADATA else path


def checkpoint_directory(text: str, files: Files = LOCAL_FILES) -> AnyPath:
    """Return the directory of the checkpoint or savepoint that a user names, directly or by its `_metadata` file.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at that path.
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
