"""The failure of a task or job, as serializable data."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TaskFailure"]


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A failure, described first by the user's operator and source line.

    Flink: `runtime.executiongraph.ErrorInfo` with `util.SerializedThrowable`.

    Attributes:
        message: One line: exception type and text.
        vertex_id: The JobVertex that failed; None if the failure concerns the whole job.
        vertex_name: Its name.
        operator_name: The operator of the chain that raised the error.
        subtask_index: The index of the subtask from 0; shown from 1.
        parallelism: The vertex's parallelism.
        in_hand: What the operator was processing, shown after "on": `record ('a', 1)`.
        user_location: The line of user code, shown after "at": `job.py:12 in parse: return int(x)`.
        user_traceback: The traceback through the user's code.
        details: Additional information: the full traceback, logs of the process.
        is_recoverable: Whether a restart may help; if not, the job fails regardless of its restart strategy.
        lost_partition: The data set and number of the partition whose loss caused the failure, if any.

    Example:
        >>> failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=1, parallelism=4)
        >>> str(failure)
        "operator 'Map' (subtask 2/4) failed: ValueError: bad"
    """

    message: str
    vertex_id: str | None = None
    vertex_name: str | None = None
    operator_name: str | None = None
    subtask_index: int | None = None
    parallelism: int | None = None
    in_hand: str | None = None
    user_location: str | None = None
    user_traceback: str | None = None
    details: str = ""
    is_recoverable: bool = True
    lost_partition: tuple[str, int] | None = None

    @classmethod
    def of(cls, error: BaseException, details: str = "") -> TaskFailure:
        """Return the failure for an exception of the control plane itself."""
        text = str(error)
        return cls(f"{type(error).__name__}: {text}" if text else type(error).__name__, details=details)

    def __str__(self) -> str:
        subject = self._subject()
        text = f"{subject} failed: {self.message}" if subject else self.message
        text += f"\n  on {self.in_hand}" if self.in_hand else ""
        return f"{text}\n  at {self.user_location}" if self.user_location else text

    def _subject(self) -> str:
        if self.operator_name is not None:
            named = f"operator {self.operator_name!r}"
        elif self.vertex_name is not None:
            named = f"vertex {self.vertex_name!r}"
        else:
            return ""
        if self.subtask_index is None:
            return named
        of = f"/{self.parallelism}" if self.parallelism is not None else ""
        return f"{named} (subtask {self.subtask_index + 1}{of})"
