"""Errors of running operators.

FiresteelError
  +- UserFunctionError     user code raised inside an operator
  +- StateMigrationError   restored state does not fit the descriptor it is asked for with
"""

from __future__ import annotations

import reprlib
import sysconfig
import traceback
from operator import length_hint
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

from firesteel.errors import FiresteelError

_OUR_CODE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sysconfig.get_path("stdlib"))
_SHOWN_CHARACTERS = 200

_short = reprlib.Repr()
_short.maxlevel = 4
_short.maxstring = _short.maxother = _short.maxlong = _SHOWN_CHARACTERS


class FailedTask(Protocol):
    """The subtask that a failed operator belongs to."""

    vertex_id: str
    vertex_name: str
    subtask_index: int
    parallelism: int


class FailedOperator(Protocol):
    """The operator that user code failed in, as errors describe it."""

    name: str
    user_location: str | None

    @property
    def task(self) -> FailedTask:
        """The subtask of the operator."""


class UserFunctionError(FiresteelError):
    """User code raised: the failure by operator, subtask and the user's own line.

    The fields are those of `runtime.failure.TaskFailure`, in a plain dict: what crosses process borders.
    """

    def __init__(self, failure: dict[str, str | int | None]) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        failure = self.failure
        text = f"operator {failure['operator_name']!r}: {failure['message']}"
        return f"{text}; on {failure['in_hand']}" if failure["in_hand"] else text

    @classmethod
    def of(cls, error: BaseException, operator: FailedOperator) -> UserFunctionError:
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
                "in_hand": in_hand(error),
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
    frames = [f for f in _user_frames(error) if not f.filename.startswith(_LIBRARIES)] or _user_frames(error)
    if not frames:
        return None
    frame = frames[-1]
    source = f": {frame.line}" if frame.line else ""
    return f"{frame.filename}:{frame.lineno} in {frame.name}{source}"


def in_hand(error: BaseException) -> str | None:
    """What the operator was at when user code failed, in one line: `record ('a', 1)`; None if it was at nothing.

    Read from the frames of the error, so that operators need not say what they are at: a loop over elements calls them
    `value`, or the iterator of a comprehension over `values` `remaining`.
    """
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(_OUR_CODE):
            found = _described(frame.f_code, frame.f_locals) or found
        elif found is not None:
            break
    return found


def _described(code: CodeType, names: dict[str, Any]) -> str | None:
    if code.co_name == "on_timer" and "key" in names:
        return f"timer {names['timestamp']} of key {_line(names['key'])}"
    if code.co_name == "_emit" and "window" in names and "key" in names:
        return f"window {_line(names['window'])} of key {_line(names['key'])}"
    if "remaining" in names:
        position = len(names["values"]) - length_hint(names["remaining"]) - 1
        return f"record {_line(names['values'][position])}" if position >= 0 else None
    return f"record {_line(names['value'])}" if "value" in names else None


def _line(value: Any) -> str:
    """The value in one short line."""
    text = " ".join(_short.repr(value).split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def user_traceback(error: BaseException) -> str:
    """The traceback through the user's code alone."""
    lines = traceback.format_list(_user_frames(error)) + traceback.format_exception_only(error)
    return "".join(lines)


def failure_of(error: Exception) -> dict[str, str | int | None]:
    """The fields of a `TaskFailure` for any error inside a task."""
    if isinstance(error, UserFunctionError):
        return dict(error.failure)
    return {"message": _one_line(error), "details": "".join(traceback.format_exception(error))}
