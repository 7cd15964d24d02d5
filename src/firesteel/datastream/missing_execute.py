"""The hint that a program has defined a job and executed none.

Who asks for a plan or a graph has not forgotten `execute()`, and who ends the program before the last line of its file,
by `sys.exit()`, `--help` or an exception, does not want a job.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from types import FrameType

from firesteel.common.our_code import OUR_CODE

__all__ = ["EXECUTE", "INSERT_EXECUTE", "STATEMENT_SET_EXECUTE", "executed", "expect", "hint_at_exit", "hint_of_no_job"]

EXECUTE = "env.execute()"
STATEMENT_SET_EXECUTE = "statement_set.execute()"
INSERT_EXECUTE = "table.insert_into(...).execute()"

_is_registered = False
_expected: dict[str, None] = {}


def expect(call: str) -> None:
    """Note that the program has defined something that only a call executes, such as an INSERT of a statement set."""
    _expected[call] = None


def executed(call: str) -> None:
    """Note that the program has made the call, or one that asks for a plan instead."""
    _expected.pop(call, None)


def hint_of_no_job(has_unexecuted_program: Callable[[], bool]) -> None:
    """Print the hint on standard error if no job was submitted and something waits for one; not at exit again."""
    execution = sys.modules.get("firesteel.client.execution")  # The first job imports it.
    missing = [*([EXECUTE] if has_unexecuted_program() else []), *_expected]
    if missing and (execution is None or not execution.has_submitted()):
        print(f"No job was executed: is {' or '.join(missing)} missing?", file=sys.stderr)
    atexit.unregister(_hint_if_complete)


def hint_at_exit(has_unexecuted_program: Callable[[], bool], caller: FrameType) -> None:
    """Print the hint when the process ends, if a program asks: `python job.py`, but neither tests nor notebooks.

    Args:
        has_unexecuted_program: Whether there are operators that were not executed.
        caller: The code that asked for an environment, or code of ours that it called.
    """
    global _is_registered
    program = _program_of(caller)
    if not _is_registered and program is not None:
        _is_registered = True
        atexit.register(_hint_if_complete, has_unexecuted_program, _file_of(program))


def _program_of(caller: FrameType) -> FrameType | None:
    """Return the frame of the program that called us, None if tests, a library or a notebook did."""
    frame: FrameType | None = caller
    while frame is not None and frame.f_code.co_filename.startswith(OUR_CODE):
        frame = frame.f_back
    is_program = frame is not None and frame.f_globals.get("__name__") == "__main__" and "__file__" in frame.f_globals
    return frame if is_program else None


def _file_of(frame: FrameType) -> FrameType:
    """Return the execution of the file in which a function was called."""
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _hint_if_complete(has_unexecuted_program: Callable[[], bool], file: FrameType) -> None:
    from opcode import opname  # here, since few programs end without a job

    if opname[file.f_code.co_code[file.f_lasti]].startswith("RETURN"):
        hint_of_no_job(has_unexecuted_program)
