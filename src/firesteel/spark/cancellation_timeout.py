"""The timeout for user code to end after cancellation."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.execution_options import TASK_CANCELLATION_TIMEOUT

__all__ = ["cancellation_timeout_s"]


def cancellation_timeout_s(configuration: Mapping[str, str]) -> float | None:
    """Return the timeout of cancelled code in seconds, or None for no limit (Flink: 0)."""
    # Cancelled code is interrupted at once; the timeout matters only if it ignores the interrupt.
    return TASK_CANCELLATION_TIMEOUT.of(configuration) or None
