"""Checkpoint settings that were renamed or became options."""

from __future__ import annotations

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration
from firesteel.datastream.checkpoint_config import CheckpointConfig
from firesteel.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from firesteel.pyflink1.removed import Removed, note

_RETENTION = "ExternalizedCheckpointRetention and set_externalized_checkpoint_retention()"
_STORAGE = "the options execution.checkpointing.storage and execution.checkpointing.dir"


def enable_externalized_checkpoints(
    self: CheckpointConfig, cleanup_mode: ExternalizedCheckpointRetention
) -> CheckpointConfig:
    """Set whether the last checkpoint is retained when the job is cancelled."""
    note("enable_externalized_checkpoints()", _RETENTION)
    return self.set_externalized_checkpoint_retention(cleanup_mode)


def set_externalized_checkpoint_cleanup(
    self: CheckpointConfig, cleanup_mode: ExternalizedCheckpointRetention
) -> CheckpointConfig:
    """Set whether the last checkpoint is retained when the job is cancelled."""
    note("set_externalized_checkpoint_cleanup()", _RETENTION)
    return self.set_externalized_checkpoint_retention(cleanup_mode)


def get_externalized_checkpoint_cleanup(self: CheckpointConfig) -> ExternalizedCheckpointRetention:
    """Return whether the last checkpoint is retained when the job is cancelled."""
    return self.get_externalized_checkpoint_retention()


def set_checkpoint_storage(self: CheckpointConfig, storage: CheckpointStorage) -> CheckpointConfig:
    """Set the checkpoint storage."""
    require(storage, CheckpointStorage, "set_checkpoint_storage()")
    note("set_checkpoint_storage()", _STORAGE)
    self._configuration.add_all(Configuration.from_dict(storage.to_options()))
    return self


def set_checkpoint_storage_dir(self: CheckpointConfig, checkpoint_path: str) -> CheckpointConfig:
    """Set the directory of checkpoints."""
    return set_checkpoint_storage(self, FileSystemCheckpointStorage(checkpoint_path))


_CONFIG = ("datastream.CheckpointConfig",)
REMOVED = (
    Removed(
        ("datastream", "datastream.checkpoint_config"),
        "ExternalizedCheckpointCleanup",
        ExternalizedCheckpointRetention,
        _RETENTION,
    ),
    Removed(_CONFIG, "enable_externalized_checkpoints", enable_externalized_checkpoints, _RETENTION),
    Removed(_CONFIG, "set_externalized_checkpoint_cleanup", set_externalized_checkpoint_cleanup, _RETENTION),
    Removed(_CONFIG, "get_externalized_checkpoint_cleanup", get_externalized_checkpoint_cleanup, _RETENTION),
    Removed(_CONFIG, "set_checkpoint_storage", set_checkpoint_storage, _STORAGE),
    Removed(_CONFIG, "set_checkpoint_storage_dir", set_checkpoint_storage_dir, _STORAGE),
)
