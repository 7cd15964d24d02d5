"""Execution modes (module as `pyflink.datastream.execution_mode`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """The execution mode of a job.

    STREAMING emits results as data arrives, BATCH final results only. AUTOMATIC is BATCH if all sources are bounded.
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
