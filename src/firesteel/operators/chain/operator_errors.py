"""Errors of running operators.

FiresteelError
  +- UserFunctionError     user code raised inside an operator
  +- StateMigrationError   restored state does not fit the descriptor it is asked for with
"""

from __future__ import annotations

import linecache
import reprlib
import traceback
from collections.abc import Sequence
from operator import length_hint
from types import CodeType
from typing import Any, Protocol

from firesteel.common.closed_output import OutputClosedError, is_of_closed_output
from firesteel.common.options.table_options import TABLE_PRUNE_TOP_N
from firesteel.common.our_code import LIBRARIES, OUR_CODE
from firesteel.common.process_limits import reason_of
from firesteel.errors import FiresteelError
from firesteel.operators.chain.user_mistakes import advice_about

USER_ERRORS = (Exception, SystemExit)
"""What user code may raise: a `sys.exit()` in a function fails its operator, and must not end the process of the slot,
which Spark would take for a lost one and try again."""

_SHOWN_CHARACTERS = 200

_short = reprlib.Repr()
_short.maxlevel = 4
_short.maxstring = _short.maxother = _short.maxlong = _SHOWN_CHARACTERS


class FailedTask(Protocol):
    """The subtask of a failed operator."""

    vertex_id: str
    vertex_name: str
    subtask_index: int
    parallelism: int


class FailedOperator(Protocol):
    """The operator whose user code failed, as errors describe it."""

    name: str
    description: str | None
    user_location: str | None

    @property
    def task(self) -> FailedTask:
        """The subtask of the operator."""


class UserFunctionError(FiresteelError):
    """User code raised an error; records operator, subtask and the user's line of code.

    The fields are those of `runtime.failure.TaskFailure`, in a plain dict that can be sent between processes.
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
        """Return the error that describes the failure of `operator` with `error`."""
        task = operator.task
        # It printed, and nobody reads that any more.
        is_closed = is_of_closed_output(error)
        return cls(
            {
                "message": _one_line(OutputClosedError()) if is_closed else _one_line(error),
                "is_recoverable": not is_closed,
                "vertex_id": task.vertex_id,
                "vertex_name": task.vertex_name,
                "operator_name": operator.description or operator.name,
                "subtask_index": task.subtask_index,
                "parallelism": task.parallelism,
                "in_hand": in_hand(error),
                "user_location": _location(error, operator.user_location),
                "user_traceback": user_traceback(error),
                "details": "".join(traceback.format_exception(error)),
            }
        )


class StateMigrationError(FiresteelError):
    """Restored state can't be read with the given descriptor (Flink: `util.StateMigrationException`).

    Args:
        what: The state, or the keys of an operator.
        restored: What it was when it was written.
        asked: What the program declares now.
    """

    def __init__(self, what: str, restored: str, asked: str) -> None:
        super().__init__(
            f"{what} was restored as {restored}, but the program asks for {asked}; declare it as it was, or give it "
            "another name (a ROW and an Avro record may get and lose fields, and a time to live may be switched on and "
            "off)"
        )


class ChangedQueryError(StateMigrationError):
    """The state of an operator of SQL was written by one that keeps something else.

    Args:
        operator: The name of the operator.
        restored: The parts of its state when it was written, as a file has them.
        asked: Its parts now.
        is_narrowed: Whether columns were left out that former releases kept.
    """

    def __init__(self, operator: str, restored: object, asked: Sequence[str], is_narrowed: bool = False) -> None:
        before = "; ".join(map(str, restored)) if isinstance(restored, tuple) else str(restored)
        remedy = (
            f". If only columns are missing that nothing reads, set {TABLE_PRUNE_TOP_N.key!r} to 'false', which keeps "
            "them as former releases did"
        )
        FiresteelError.__init__(
            self,
            f"the state of operator {operator!r} was restored as {before}, but the query keeps {'; '.join(asked)} now. "
            f"A query that keeps something else starts without the state of its former self{remedy * is_narrowed}",
        )


def _one_line(error: BaseException) -> str:
    text = "; ".join(filter(None, (" ".join(str(error).split()), reason_of(error) or advice_about(error))))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not frame.filename.startswith((OUR_CODE, "<frozen"))]


def user_location(error: BaseException) -> str | None:
    """Return the innermost line of user code as `job.py:12 in parse: return int(x)`, or None if there is none."""
    frames = [f for f in _user_frames(error) if not f.filename.startswith(LIBRARIES)] or _user_frames(error)
    if not frames:
        return None
    frame = frames[-1]
    source = f": {frame.line}" if frame.line else ""
    return f"{frame.filename}:{frame.lineno} in {frame.name}{source}"


def _location(error: BaseException, of_operator: str | None) -> str | None:
    """Return the line of the error, or if a library raised it that a user gave to an operator, where that was."""
    is_users = any(not frame.filename.startswith(LIBRARIES) for frame in _user_frames(error))
    found = user_location(error)
    if is_users or of_operator is None:
        return found
    return _with_source(of_operator) if found is None else f"{of_operator}, by {found}"


def _with_source(location: str) -> str:
    """Return a location such as `job.py:12` with the line that is there, if the file is on this machine."""
    file, _, number = location.rpartition(":")
    line = linecache.getline(file, int(number)).strip() if number.isdecimal() else ""
    return f"{location}: {line}" if line else location


def in_hand(error: BaseException) -> str | None:
    """Return what the operator was processing when user code failed, such as `record ('a', 1)`, or None.

    The record is read from the frames of the error, so operators need not track it at run time. By convention loops
    name the element `value`, and comprehensions over `values` name their iterator `remaining`.
    """
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(OUR_CODE):
            found = _described(frame.f_code, frame.f_locals) or found
        elif found is not None:
            break
    return found


def _described(code: CodeType, names: dict[str, Any]) -> str | None:
    if code.co_name == "on_timer" and "key" in names:
        return f"timer {names['timestamp']} of key {_line(names['key'])}"
    if code.co_name == "_emit" and "window" in names and "key" in names:
        return f"window {_line(names['window'])} of key {_line(names['key'])}"
    if code.co_name == "_call_batch" and "first" in names:
        count = len(names["batch"])
        return f"records {names['first']} to {names['first'] + count - 1} of the subtask, a batch of {count}"
    if "remaining" in names:
        position = len(names["values"]) - length_hint(names["remaining"]) - 1
        return f"record {_line(names['values'][position])}" if position >= 0 else None
    return f"record {_line(names['value'])}" if "value" in names else None


def _line(value: object) -> str:
    """Return the value's repr, shortened to one line."""
    text = " ".join(_short.repr(value).split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def user_traceback(error: BaseException) -> str:
    """Return the traceback restricted to frames of user code."""
    lines = traceback.format_list(_user_frames(error)) + traceback.format_exception_only(error)
    return "".join(lines)


def failure_of(error: BaseException) -> dict[str, str | int | None]:
    """Return the fields of a `TaskFailure` for any error raised inside a task."""
    if isinstance(error, UserFunctionError):
        return dict(error.failure)
    return {"message": _one_line(error), "details": "".join(traceback.format_exception(error))}
