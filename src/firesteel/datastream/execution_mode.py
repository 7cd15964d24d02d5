"""How a job is executed (module as `pyflink.datastream.execution_mode`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """STREAMING emits as data comes, BATCH final results only; AUTOMATIC is BATCH if all sources are bounded."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
