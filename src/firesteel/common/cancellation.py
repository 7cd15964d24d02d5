"""Whether the job is being cancelled for which a thread calls connectors in the driver.

Clients of external systems may block for minutes where nothing can interrupt them. Before they wait longer, they ask.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["is_cancelled", "let_cancel"]

_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("cancelled", default=None)


def let_cancel(is_cancelled: Callable[[], bool]) -> None:
    """Let `is_cancelled()` in this thread, and in those that run with a copy of its context, ask this function."""
    _cancelled.set(is_cancelled)


def is_cancelled() -> bool:
    """Return whether the job that this thread works for is being cancelled; False if there is none."""
    asked = _cancelled.get()
    return asked is not None and asked()
