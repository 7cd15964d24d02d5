"""Execution modes (module as `pyflink.datastream.execution_mode`)."""

from __future__ import annotations

from firesteel.functions.execution_mode import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
