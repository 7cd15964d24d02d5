"""Where checkpoints are kept (module as `pyflink.datastream.checkpoint_storage`); pass it as configuration options."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

__all__ = ["CheckpointStorage", "CustomCheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage(ABC):
    """Where checkpoints are kept."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """The storage as options of a `Configuration`."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """In the memory of the JobManager."""

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """Where the metadata goes."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Bytes that one state may have."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Where savepoints go: not set here."""
        return None

    def to_options(self) -> dict[str, str]:
        """The storage as options of a `Configuration`."""
        return {"execution.checkpointing.storage": "jobmanager"}

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(checkpoints to JobManager, max_state_size={self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """In a directory."""

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
        """Where savepoints go: not set here."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Bytes below which state is kept with the metadata."""
        return self._file_state_size_threshold

    def get_write_buffer_size(self) -> int:
        """Bytes that are written at once."""
        return self._write_buffer_size

    def to_options(self) -> dict[str, str]:
        """The storage as options of a `Configuration`."""
        return {
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": self._checkpoint_path,
            "execution.checkpointing.data-inline-threshold": f"{self._file_state_size_threshold} bytes",
            "execution.checkpointing.write-buffer-size": str(self._write_buffer_size),
        }

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._checkpoint_path})"


class CustomCheckpointStorage(CheckpointStorage):
    """A Java class in PyFlink."""

    def __init__(self, j_custom_checkpoint_storage: Any) -> None:
        raise NotImplementedError("CustomCheckpointStorage wraps a Java object; use FileSystemCheckpointStorage")

    def to_options(self) -> dict[str, str]:
        """Nothing: it can't be made."""
        return {}


def plain_directory(path: str) -> str:
    """Return a directory in Flink's form: without a trailing slash, a local one as `file:/path`."""
    return re.sub(r"^file:///(?=[^/])", "file:/", path.rstrip("/"))
