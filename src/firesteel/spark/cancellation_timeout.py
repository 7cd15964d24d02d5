"""The timeout for user code to end after cancellation."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.time import Duration

__all__ = ["CANCELLATION_TIMEOUT", "cancellation_timeout_s"]

CANCELLATION_TIMEOUT = "task.cancellation.timeout"
_DEFAULT = "180 s"
"""Flink's default. Cancelled code is interrupted at once; the timeout matters only if it ignores the interrupt."""


def cancellation_timeout_s(configuration: Mapping[str, str]) -> float | None:
    """Return the timeout of cancelled code in seconds, or None for no limit (Flink: 0)."""
    text = configuration.get(CANCELLATION_TIMEOUT, _DEFAULT)
    return Duration.parse(text).to_millis() / 1000 or None
