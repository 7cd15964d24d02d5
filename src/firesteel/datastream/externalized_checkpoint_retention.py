"""Retention of checkpoints (module as `pyflink.datastream.externalized_checkpoint_retention`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether the last checkpoint is retained when the job is cancelled."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
