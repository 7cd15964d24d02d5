"""The hint that a program has defined a job and executed none."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Mapping

__all__ = ["hint_at_exit", "hint_of_no_job"]

_HINT = "No job was executed: is env.execute() missing?"
_is_registered = False


def hint_of_no_job(has_unexecuted_program: Callable[[], bool]) -> None:
    """Print the hint on standard error if there are operators and no job was submitted; not at exit again."""
    execution = sys.modules.get("firesteel.client.execution")  # The first job imports it.
    if has_unexecuted_program() and (execution is None or not execution.has_submitted()):
        print(_HINT, file=sys.stderr)
    atexit.unregister(_hint_unless_failed)


def hint_at_exit(has_unexecuted_program: Callable[[], bool], caller: Mapping[str, object]) -> None:
    """Print the hint when the process ends, if a program asks: `python job.py`, but neither tests nor notebooks.

    Args:
        has_unexecuted_program: Whether there are operators that were not executed.
        caller: The global names of the code that asked for an environment.
    """
    global _is_registered
    if not _is_registered and caller.get("__name__") == "__main__" and "__file__" in caller:
        _is_registered = True
        atexit.register(_hint_unless_failed, has_unexecuted_program)


def _hint_unless_failed(has_unexecuted_program: Callable[[], bool]) -> None:
    if not hasattr(sys, "last_type"):  # An exception has ended the program, and Python has printed it.
        hint_of_no_job(has_unexecuted_program)
