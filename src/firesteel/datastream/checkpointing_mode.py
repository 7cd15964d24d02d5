"""Checkpointing modes (module as `pyflink.datastream.checkpointing_mode`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """The guarantee of checkpoints: whether records may affect state more than once after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
