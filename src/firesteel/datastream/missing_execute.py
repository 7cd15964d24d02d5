"""The hint that a program has defined a job and executed none.

Who asks for a plan or a graph has not forgotten `execute()`, and who ends the program before the last line of its file,
by `sys.exit()`, `--help` or an exception, does not want a job.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["hint_at_exit", "hint_of_no_job"]

_HINT = "No job was executed: is env.execute() missing?"
_is_registered = False


def hint_of_no_job(has_unexecuted_program: Callable[[], bool]) -> None:
    """Print the hint on standard error if there are operators and no job was submitted; not at exit again."""
    execution = sys.modules.get("firesteel.client.execution")  # The first job imports it.
    if has_unexecuted_program() and (execution is None or not execution.has_submitted()):
        print(_HINT, file=sys.stderr)
    atexit.unregister(_hint_if_complete)


def hint_at_exit(has_unexecuted_program: Callable[[], bool], caller: FrameType) -> None:
    """Print the hint when the process ends, if a program asks: `python job.py`, but neither tests nor notebooks.

    Args:
        has_unexecuted_program: Whether there are operators that were not executed.
        caller: The code that asked for an environment.
    """
    global _is_registered
    if not _is_registered and caller.f_globals.get("__name__") == "__main__" and "__file__" in caller.f_globals:
        _is_registered = True
        atexit.register(_hint_if_complete, has_unexecuted_program, _file_of(caller))


def _file_of(frame: FrameType) -> FrameType:
    """Return the execution of the file in which a function was called."""
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _hint_if_complete(has_unexecuted_program: Callable[[], bool], file: FrameType) -> None:
    from opcode import opname  # here, since few programs end without a job

    if opname[file.f_code.co_code[file.f_lasti]].startswith("RETURN"):
        hint_of_no_job(has_unexecuted_program)
