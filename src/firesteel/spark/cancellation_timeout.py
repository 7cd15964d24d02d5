"""How long a job's code may take to end when it is cancelled."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.time import Duration

__all__ = ["CANCELLATION_TIMEOUT", "cancellation_timeout_s"]

CANCELLATION_TIMEOUT = "task.cancellation.timeout"
_DEFAULT = "180 s"
"""Flink's. Code is interrupted at once when it is cancelled; this is for code that does not heed it."""


def cancellation_timeout_s(configuration: Mapping[str, str]) -> float | None:
    """Return how long cancelled code may take to end (seconds), None: as long as it likes (Flink: 0)."""
    text = configuration.get(CANCELLATION_TIMEOUT, _DEFAULT)
    milliseconds = int(text) if text.isdigit() else Duration.parse(text).to_millis()
    return milliseconds / 1000 or None
