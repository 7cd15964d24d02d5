"""Checkpoint storages as groups of configuration options (module as `pyflink.datastream.checkpoint_storage`)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import ClassVar

from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.common.options.stored_options import (
    CHECKPOINTING_INLINE_THRESHOLD,
    CHECKPOINTING_STORAGE,
    CHECKPOINTING_WRITE_BUFFER,
)

__all__ = ["CheckpointStorage", "CustomCheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage(ABC):
    """The place where checkpoints are stored.

    Example:
        >>> storage = FileSystemCheckpointStorage("file:///data/checkpoints")
        >>> env.configure(Configuration.from_dict(storage.to_options()))
    """

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """Return the storage as options of a `Configuration`."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """A checkpoint storage in the memory of the JobManager.

    Args:
        checkpoint_path: Accepted for compatibility.
        max_state_size: Accepted for compatibility; in bytes, 5 MiB by default.

    Example:
        >>> JobManagerCheckpointStorage().get_max_state_size()
        5242880
    """

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """Return the directory of the checkpoint metadata, or None if it is not set."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Return the maximum size of a single state in bytes."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return None: the directory of savepoints is set elsewhere."""
        return None

    def to_options(self) -> dict[str, str]:
        """Return the storage as options of a `Configuration`."""
        return {CHECKPOINTING_STORAGE.key: "jobmanager"}

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(checkpoints to JobManager, max_state_size={self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """A checkpoint storage in a directory.

    Args:
        checkpoint_path: Directory of the checkpoints, as path or URI.
        file_state_size_threshold: Accepted for compatibility; at most 1048576 bytes, 20480 by default.
        write_buffer_size: Accepted for compatibility; in bytes.

    Raises:
        ValueError: the path is missing, or the threshold is out of range.

    Example:
        >>> storage = FileSystemCheckpointStorage("s3://bucket/checkpoints/")
        >>> storage.get_checkpoint_path()
        's3://bucket/checkpoints'
        >>> env.configure(Configuration.from_dict(storage.to_options()))
    """

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must be given")
        self._checkpoint_path = checkpoint_path
        self._file_state_size_threshold = 20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        if not 0 <= self._file_state_size_threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ValueError(f"file_state_size_threshold must be within 0..1048576, found {file_state_size_threshold}")
        self._write_buffer_size = max(
            4096 if write_buffer_size < 0 else write_buffer_size, self._file_state_size_threshold
        )

    def get_checkpoint_path(self) -> str:
        """Return the directory, without a trailing slash."""
        return plain_directory(self._checkpoint_path)

    def get_savepoint_path(self) -> str | None:
        """Return None: the directory of savepoints is set elsewhere."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return the size in bytes below which state is stored in the metadata."""
        return self._file_state_size_threshold

    def get_write_buffer_size(self) -> int:
        """Return the size of the write buffer in bytes."""
        return self._write_buffer_size

    def to_options(self) -> dict[str, str]:
        """Return the storage as options of a `Configuration`."""
        return {
            CHECKPOINTING_STORAGE.key: "filesystem",
            CHECKPOINTING_DIR.key: self._checkpoint_path,
            CHECKPOINTING_INLINE_THRESHOLD.key: f"{self._file_state_size_threshold} bytes",
            CHECKPOINTING_WRITE_BUFFER.key: str(self._write_buffer_size),
        }

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._checkpoint_path})"


class CustomCheckpointStorage(CheckpointStorage):
    """A checkpoint storage implemented in Java, which is not supported.

    Args:
        j_custom_checkpoint_storage: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> CustomCheckpointStorage(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: CustomCheckpointStorage wraps a Java object; use FileSystemCheckpointStorage
    """

    def __init__(self, j_custom_checkpoint_storage: object) -> None:
        raise NotImplementedError("CustomCheckpointStorage wraps a Java object; use FileSystemCheckpointStorage")

    def to_options(self) -> dict[str, str]:
        """Return no options: the storage cannot be created."""
        return {}


def plain_directory(path: str) -> str:
    """Return a directory in Flink's form: without a trailing slash, and `file:/path` for a local one."""
    return re.sub(r"^file:///(?=[^/])", "file:/", path.rstrip("/"))
