"""Errors of running operators.

FiresteelError
  +- UserFunctionError     user code raised inside an operator
  +- StateMigrationError   restored state does not fit the descriptor it is asked for with
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from firesteel.errors import FiresteelError

if TYPE_CHECKING:
    from firesteel.operators.operator import Operator

_OUR_CODE = str(Path(__file__).resolve().parents[1])


class UserFunctionError(FiresteelError):
    """User code raised: the failure by operator, subtask and the user's own line.

    The fields are those of `runtime.failure.TaskFailure`, in a plain dict: what crosses process borders.
    """

    def __init__(self, failure: dict[str, str | int | None]) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        return f"operator {self.failure['operator_name']!r}: {self.failure['message']}"

    @classmethod
    def of(cls, error: BaseException, operator: Operator) -> UserFunctionError:
        """The failure of `operator` by `error`."""
        task = operator.task
        return cls(
            {
                "message": _one_line(error),
                "vertex_id": task.vertex_id,
                "vertex_name": task.vertex_name,
                "operator_name": operator.name,
                "subtask_index": task.subtask_index,
                "parallelism": task.parallelism,
                "user_location": user_location(error) or operator.user_location,
                "user_traceback": user_traceback(error),
                "details": "".join(traceback.format_exception(error)),
            }
        )


class StateMigrationError(FiresteelError):
    """Restored state can't be read as the descriptor says (Flink: `util.StateMigrationException`).

    So it is where a time to live was switched on or off: values without one have no time to count from.
    """

    def __init__(self, state_name: str, has_ttl: bool) -> None:
        found, asked = ("without", "with") if has_ttl else ("with", "without")
        super().__init__(
            f"state {state_name!r} was restored {found} a time to live and is asked for {asked} one; keep the "
            "StateTtlConfig as it was (its duration and options may change), or give the state another name"
        )


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not frame.filename.startswith((_OUR_CODE, "<frozen"))]


def user_location(error: BaseException) -> str | None:
    """The innermost line of the user's own code: `job.py:12 in parse: return int(x)`, None if there is none."""
    frames = [f for f in _user_frames(error) if "site-packages" not in f.filename] or _user_frames(error)
    if not frames:
        return None
    frame = frames[-1]
    source = f": {frame.line}" if frame.line else ""
    return f"{frame.filename}:{frame.lineno} in {frame.name}{source}"


def user_traceback(error: BaseException) -> str:
    """The traceback through the user's code alone."""
    lines = traceback.format_list(_user_frames(error)) + traceback.format_exception_only(error)
    return "".join(lines)


def failure_of(error: Exception) -> dict[str, str | int | None]:
    """The fields of a `TaskFailure` for any error inside a task."""
    if isinstance(error, UserFunctionError):
        return dict(error.failure)
    return {"message": _one_line(error), "details": "".join(traceback.format_exception(error))}
