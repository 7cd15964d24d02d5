"""The base class of all user functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC

from firesteel.datastream.runtime_context import RuntimeContext


class Function(ABC):  # noqa: B024 - the kinds of functions have the abstract methods
    """The base class of all user functions."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - may be overridden
        """Set up the function; called once per attempt of a subtask, before its first element."""

    def close(self) -> None:  # noqa: B027 - may be overridden
        """Release resources; called once at the end of an attempt, even after a failure."""
