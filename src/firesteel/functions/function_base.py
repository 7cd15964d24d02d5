"""The base class of all user functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC

from firesteel.functions.runtime_context import RuntimeContext


class Function(ABC):  # noqa: B024 - the kinds of functions have the abstract methods
    """The base class of all user functions.

    Example:
        >>> class Scale(MapFunction):
        ...     def open(self, runtime_context):
        ...         self.factor = int(runtime_context.get_job_parameter("factor", "10"))
        ...     def map(self, value):
        ...         return value * self.factor
        >>> _ = env.from_collection([1, 2], Types.INT()).map(Scale(), Types.INT()).collect_async()
        >>> run_local(env).elements
        [10, 20]
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - may be overridden
        """Set up the function; called once per attempt of a subtask, before its first element.

        Args:
            runtime_context: Gives access to state, metrics and the index of the subtask.
        """

    def close(self) -> None:  # noqa: B027 - may be overridden
        """Release resources; called once at the end of an attempt, even after a failure."""
