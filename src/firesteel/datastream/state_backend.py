"""State backends as groups of configuration options (module as `pyflink.datastream.state_backend`)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from enum import Enum

from firesteel.common.options.state_options import ROCKSDB_LOCAL_DIR, STATE_BACKEND
from firesteel.common.options.stored_options import (
    CHECKPOINTING_INCREMENTAL,
    ROCKSDB_PREDEFINED,
    ROCKSDB_TRANSFER_THREADS,
)

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend(ABC):
    """The place where keyed state is stored.

    Example:
        >>> HashMapStateBackend().to_options()
        {'state.backend.type': 'hashmap'}
        >>> env.configure(Configuration.from_dict(HashMapStateBackend().to_options()))
    """

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """Return the state backend as options of a `Configuration`."""


class HashMapStateBackend(StateBackend):
    """A state backend that keeps state in memory.

    Example:
        >>> env.configure(Configuration.from_dict(HashMapStateBackend().to_options()))
    """

    def to_options(self) -> dict[str, str]:
        """Return the state backend as options of a `Configuration`."""
        return {STATE_BACKEND.key: "hashmap"}

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Settings of an embedded store for kinds of hardware."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


def _local_path(text: str) -> str:
    path = re.sub(r"^file:(//)?", "", text).rstrip("/") or "/"
    if "://" in path:
        raise ValueError(f"Path {text} has a non-local scheme")
    if not path.startswith("/"):
        raise ValueError(f"Relative paths are not supported, found {text!r}")
    if "," in path or ":" in path:
        raise ValueError(f"a comma or colon separates directories and cannot be part of one, found {text!r}")
    return path


class EmbeddedRocksDBStateBackend(StateBackend):
    """A state backend that keeps state in an embedded store on local disk, for state larger than memory.

    Args:
        enable_incremental_checkpointing: Value of the option `execution.checkpointing.incremental`, which has no
            effect on checkpoints; None means False.

    Example:
        >>> backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
        >>> backend.set_db_storage_paths("/data/state")
        >>> backend.get_db_storage_paths()
        ['/data/state']
        >>> env.configure(Configuration.from_dict(backend.to_options()))
    """

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._threads = 4

    def get_db_storage_paths(self) -> list[str]:
        """Return the directories of the store."""
        return list(self._paths)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the directories of the store.

        Args:
            paths: Local directories, as absolute paths or `file:` URIs, over which processes are distributed; missing
                ones are created. A job fails if it can use none of them.

        Raises:
            ValueError: there is no path, or a path is relative, not local, or has a comma or colon in it.
        """
        if not paths:
            raise ValueError("set_db_storage_paths takes at least one path")
        self._paths = [_local_path(path) for path in paths]

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether checkpoints are incremental."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Store the predefined options, which have no effect: the store is not RocksDB.

        Args:
            options: Returned by `get_predefined_options`, and part of the options.
        """
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the predefined options for a kind of hardware."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Raise an error: Java classes are not supported.

        Args:
            options_factory_class_name: Only named in the error.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"set_options: the Java class {options_factory_class_name!r} cannot be used")

    def get_options(self) -> str | None:
        """Return the Java class of the options, which is always None."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """Return the number of threads that copy files."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Store the number of threads that copy files, which has no effect.

        Args:
            number_of_transfering_threads: At least 1 (default 4).

        Raises:
            ValueError: the number is less than 1.
        """
        if number_of_transfering_threads < 1:
            raise ValueError(f"There must be at least 1 transfer thread, found {number_of_transfering_threads}")
        self._threads = number_of_transfering_threads

    def to_options(self) -> dict[str, str]:
        """Return the state backend as options of a `Configuration`."""
        options = {
            STATE_BACKEND.key: "rocksdb",
            CHECKPOINTING_INCREMENTAL.key: "true" if self._incremental else "false",
            ROCKSDB_PREDEFINED.key: self._predefined.name,
            ROCKSDB_TRANSFER_THREADS.key: str(self._threads),
        }
        return options | ({ROCKSDB_LOCAL_DIR.key: ",".join(self._paths)} if self._paths else {})

    def __str__(self) -> str:
        return f"EmbeddedRocksDBStateBackend(incremental={self._incremental})"


class CustomStateBackend(StateBackend):
    """A state backend implemented in Java, which is not supported.

    Args:
        j_custom_state_backend: Not used.

    Raises:
        NotImplementedError: always.

    Example:
        >>> CustomStateBackend(None)
        Traceback (most recent call last):
            ...
        NotImplementedError: CustomStateBackend wraps a Java object; use ...
    """

    def __init__(self, j_custom_state_backend: object) -> None:
        raise NotImplementedError("CustomStateBackend wraps a Java object; use HashMapStateBackend")

    def to_options(self) -> dict[str, str]:
        """Return no options: the backend cannot be created."""
        return {}
