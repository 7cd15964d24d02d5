"""Messages for exceptions that ended a user's program."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from firesteel.common.our_code import OUR_CODE
from firesteel.common.uncaught_errors import attribute_meant, frames_of_the_program
from firesteel.errors import FiresteelError


def user_error(error: Exception, program: Path) -> str:
    """Return the message for an exception that ended the program, with the user's own lines.

    If firesteel rejected an argument, that is the error and the line of the call, otherwise the traceback through the
    program.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = frames_of_the_program(error.__traceback__)
    file = os.path.abspath(program)  # as `run_as_main` names it
    own = own[next((i for i, frame in enumerate(own) if frame.filename == file), len(own)) :]
    if own and frames[-1].filename.startswith(OUR_CODE):
        last = own[-1]
        hint = attribute_meant(error)
        return f"Error: {error}{hint}\n  at {last.filename}:{last.lineno} in {last.name}: {last.line}"
    if not own and isinstance(error, FiresteelError):
        return f"Error: {error}"
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "pyflink":
        return (
            f"Error: {error}\n  PyFlink is not installed, and firesteel does not need it: run the program with\n"
            f"  firesteel run --pyflink {program}\n  or replace pyflink by firesteel in its imports"
        )
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    return f"{program} failed:\n{''.join(lines).rstrip()}"
