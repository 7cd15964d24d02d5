"""Disposal of a savepoint: removes the files that its metadata lists, and nothing else in its directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from firesteel.common.files.remote_path import AnyPath, size_of
from firesteel.errors import FiresteelError
from firesteel.task.checkpoint_metadata import METADATA, CheckpointMetadata, read_metadata
from firesteel.task.state_seal import StateSeal

__all__ = ["SavepointDisposalError", "dispose_savepoint"]

_ANYONES = StateSeal(allows_unverified=True)
"""Reads metadata of anyone: nothing of it is executed, and only files below its directory are removed."""


class SavepointDisposalError(FiresteelError):
    """A savepoint cannot be disposed of; the arguments are its directory and the reason."""

    def __str__(self) -> str:
        return f"Could not dispose savepoint {self.args[0]}: {self.args[1]}"


def dispose_savepoint(directory: AnyPath) -> None:
    """Remove a savepoint; of a checkpoint remove the metadata only, as other checkpoints may share its files.

    Raises:
        SavepointDisposalError: there is no savepoint, or its metadata names files elsewhere. Nothing is removed.
        StateFileError: its metadata is damaged.
        OSError: a file cannot be removed.
    """
    if size_of(directory / METADATA) is None:
        raise SavepointDisposalError(directory, f"there is no {METADATA} file in it")
    files = list(_files(directory, read_metadata(directory, _ANYONES)))
    # Remove the metadata first, so that a partially removed savepoint cannot be restored.
    (directory / METADATA).unlink()
    for path in files:
        path.unlink(missing_ok=True)
    if isinstance(directory, Path):
        parents = {parent for path in files if isinstance(path, Path) for parent in path.parents}
        _remove_empty(directory, {parent for parent in parents if directory in parent.parents})


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
