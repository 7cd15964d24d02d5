"""Where keyed state lives (module as `pyflink.datastream.state_backend`); pass it as configuration options."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


class StateBackend(ABC):
    """Where keyed state lives."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """The back end as options of a `Configuration`."""


class HashMapStateBackend(StateBackend):
    """In memory."""

    def to_options(self) -> dict[str, str]:
        """The back end as options of a `Configuration`."""
        return {"state.backend.type": "hashmap"}

    def __str__(self) -> str:
        return "HashMapStateBackend"


class PredefinedOptions(Enum):
    """Settings of an embedded store by hardware."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """In an embedded store on local disk, for state larger than memory."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._threads = 4

    def get_db_storage_paths(self) -> list[str]:
        """Directories of the store."""
        return list(self._paths)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the directories of the store: absolute paths, or `file:` URIs of them."""
        self._paths = [re.sub(r"^file:(//)?", "", path).rstrip("/") for path in paths]

    def is_incremental_checkpoints_enabled(self) -> bool:
        """True if checkpoints hold changes only."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Sets the options by hardware."""
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The options by hardware."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Refused: there are no Java classes.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"Options of the Java class {options_factory_class_name!r} are not available")

    def get_options(self) -> str | None:
        """The Java class of the options: none."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """Threads that copy files."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Sets the threads that copy files."""
        if number_of_transfering_threads < 1:
            raise ValueError(f"It must be at least 1, found {number_of_transfering_threads}")
        self._threads = number_of_transfering_threads

    def to_options(self) -> dict[str, str]:
        """The back end as options of a `Configuration`."""
        options = {
            "state.backend.type": "rocksdb",
            "execution.checkpointing.incremental": "true" if self._incremental else "false",
            "state.backend.rocksdb.predefined-options": self._predefined.name,
            "state.backend.rocksdb.checkpoint.transfer.thread.num": str(self._threads),
        }
        return options | ({"state.backend.rocksdb.localdir": ";".join(self._paths)} if self._paths else {})

    def __str__(self) -> str:
        return f"EmbeddedRocksDBStateBackend(incremental={self._incremental})"


class CustomStateBackend(StateBackend):
    """A Java class in PyFlink."""

    def __init__(self, j_custom_state_backend: Any) -> None:
        raise NotImplementedError("CustomStateBackend wraps a Java object; use HashMapStateBackend")

    def to_options(self) -> dict[str, str]:
        """Nothing: it can't be made."""
        return {}
