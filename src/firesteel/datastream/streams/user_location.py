"""The location of an API call in the user's program."""

from __future__ import annotations

import os
import sys

from firesteel.common.our_code import LIBRARIES, OUR_CODE


def user_location() -> str | None:
    """Return `file.py:12` of the first stack frame outside of firesteel and libraries, or None if there is none.

    There is none in the command line, whose script is firesteel's own.
    """
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((OUR_CODE, "<frozen", *LIBRARIES)):
            return None if os.path.basename(file) == "firesteel" else f"{file}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
