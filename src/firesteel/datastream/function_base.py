"""Root of all user functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC

from firesteel.datastream.runtime_context import RuntimeContext


class Function(ABC):  # noqa: B024 - the kinds of functions have the abstract methods
    """Root of all user functions."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - may be overridden
        """Called once per attempt of a subtask, before its first element."""

    def close(self) -> None:  # noqa: B027 - may be overridden
        """Called once at the end of an attempt, also after a failure."""
