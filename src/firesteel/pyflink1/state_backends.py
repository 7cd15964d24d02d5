"""State backends of Flink 1, which configured both state and checkpoint storage."""

from __future__ import annotations

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration
from firesteel.common.options.checkpointing_options import CHECKPOINTING_SAVEPOINT_DIR
from firesteel.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from firesteel.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.pyflink1.removed import Removed, note

_MEMORY = "the option state.backend.type: hashmap, and execution.checkpointing.storage: jobmanager"
_FILES = "the options state.backend.type: hashmap and execution.checkpointing.dir"
_ROCKSDB = "the options state.backend.type: rocksdb and execution.checkpointing.dir"
_OPTION = "the option state.backend.type"


class MemoryStateBackend(HashMapStateBackend):
    """A backend with state in memory and checkpoints in the JobManager's memory."""

    def __init__(self, max_state_size: int | None = None, using_asynchronous_snapshots: bool | None = None) -> None:
        note("MemoryStateBackend", _MEMORY)
        self._storage = JobManagerCheckpointStorage(max_state_size=max_state_size)

    def to_options(self) -> dict[str, str]:
        """Return the backend as options of a `Configuration`."""
        return super().to_options() | self._storage.to_options()


class FsStateBackend(HashMapStateBackend):
    """A backend with state in memory and checkpoints in a directory."""

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        note("FsStateBackend", _FILES)
        self._storage = FileSystemCheckpointStorage(
            checkpoint_directory_uri, file_state_size_threshold, write_buffer_size
        )
        self._savepoints = _savepoint_options(default_savepoint_directory_uri)

    def get_checkpoint_path(self) -> str:
        """Return the directory of checkpoints."""
        return self._storage.get_checkpoint_path()

    def to_options(self) -> dict[str, str]:
        """Return the backend as options of a `Configuration`."""
        return super().to_options() | self._storage.to_options() | self._savepoints


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """A backend with state in an embedded store on local disk and checkpoints in a directory."""

    def __init__(
        self,
        checkpoint_data_uri: str | None = None,
        enable_incremental_checkpointing: bool | None = None,
        checkpoint_stream_backend: StateBackend | None = None,
    ) -> None:
        note("RocksDBStateBackend", _ROCKSDB)
        super().__init__(enable_incremental_checkpointing)
        self._storage = {} if checkpoint_stream_backend is None else checkpoint_stream_backend.to_options()
        if checkpoint_data_uri is not None:
            self._storage = FileSystemCheckpointStorage(checkpoint_data_uri).to_options()

    def to_options(self) -> dict[str, str]:
        """Return the backend as options of a `Configuration`."""
        return self._storage | super().to_options()


def _savepoint_options(directory: str | None) -> dict[str, str]:
    return {} if directory is None else {CHECKPOINTING_SAVEPOINT_DIR.key: directory}


def set_state_backend(self: StreamExecutionEnvironment, state_backend: StateBackend) -> StreamExecutionEnvironment:
    """Set the state backend."""
    require(state_backend, StateBackend, "set_state_backend()")
    note("set_state_backend()", _OPTION)
    self.configure(Configuration.from_dict(state_backend.to_options()))
    return self


_MODULES = ("datastream", "datastream.state_backend")
REMOVED = (
    Removed(_MODULES, "MemoryStateBackend", MemoryStateBackend, _MEMORY),
    Removed(_MODULES, "FsStateBackend", FsStateBackend, _FILES),
    Removed(_MODULES, "RocksDBStateBackend", RocksDBStateBackend, _ROCKSDB),
    Removed(("datastream.StreamExecutionEnvironment",), "set_state_backend", set_state_backend, _OPTION),
)
