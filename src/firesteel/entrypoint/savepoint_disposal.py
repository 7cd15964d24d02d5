"""Disposal of a savepoint: removes the files that its metadata lists, and nothing else in its directory."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.common.remote_path import AnyPath, size_of
from firesteel.errors import FiresteelError
from firesteel.task.checkpoint_metadata import METADATA, CheckpointMetadata, RegionState, VertexLayout
from firesteel.task.state_file import read_state_file
from firesteel.task.versions import VersionFile

__all__ = ["SavepointDisposalError", "dispose_savepoint"]

_CLASSES = {
    (kind.__module__, kind.__name__): kind for kind in (CheckpointMetadata, RegionState, VertexLayout, VersionFile)
}


class SavepointDisposalError(FiresteelError):
    """A savepoint cannot be disposed of; the arguments are its directory and the reason."""

    def __str__(self) -> str:
        return f"Could not dispose savepoint {self.args[0]}: {self.args[1]}"


class _MetadataUnpickler(pickle.Unpickler):
    """Unpickles metadata without running code, because the file may have been written by anyone."""

    def find_class(self, module: str, name: str) -> Any:
        found = _CLASSES.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a savepoint's metadata")
        return found


def dispose_savepoint(directory: AnyPath) -> None:
    """Remove a savepoint; of a checkpoint remove the metadata only, as other checkpoints may share its files.

    Raises:
        SavepointDisposalError: there is no savepoint, or its metadata names files elsewhere. Nothing is removed.
        StateFileError: its metadata is damaged.
        OSError: a file cannot be removed.
    """
    if size_of(directory / METADATA) is None:
        raise SavepointDisposalError(directory, f"there is no {METADATA} file in it")
    files = list(_files(directory, _metadata(directory)))
    # Remove the metadata first, so that a partially removed savepoint cannot be restored.
    (directory / METADATA).unlink()
    for path in files:
        path.unlink(missing_ok=True)
    if isinstance(directory, Path):
        parents = {parent for path in files if isinstance(path, Path) for parent in path.parents}
        _remove_empty(directory, {parent for parent in parents if directory in parent.parents})


def _metadata(directory: AnyPath) -> CheckpointMetadata:
    content = next(read_state_file(directory / METADATA))
    try:
        metadata = _MetadataUnpickler(io.BytesIO(content)).load()
    except Exception as error:
        raise SavepointDisposalError(directory, f"cannot read its metadata: {error}") from error
    if not isinstance(metadata, CheckpointMetadata):
        raise SavepointDisposalError(directory, f"its {METADATA} contains a {type(metadata).__name__}")
    return metadata


def _files(directory: AnyPath, metadata: CheckpointMetadata) -> Iterator[AnyPath]:
    for name in metadata.files() if metadata.is_savepoint else ():
        path = directory / name
        if not _is_below(path, directory, name):
            raise SavepointDisposalError(directory, f"its metadata names {name!r}, which is elsewhere")
        yield path


def _is_below(path: AnyPath, directory: AnyPath, name: str) -> bool:
    if isinstance(path, Path) and isinstance(directory, Path):
        root, parent = directory.resolve(), path.parent.resolve()
        return root == parent or root in parent.parents
    return not {"", ".", ".."} & set(name.split("/"))


def _remove_empty(directory: Path, below: set[Path]) -> None:
    """Remove empty directories, the innermost first."""
    for path in (*sorted(below, key=lambda path: len(path.parts), reverse=True), directory):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
