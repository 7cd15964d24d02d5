"""What a checkpoint guarantees (module as `pyflink.datastream.checkpointing_mode`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """Whether every record counts once in state, or may count more often after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
