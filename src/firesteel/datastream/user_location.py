"""Where in the user's program an API call was made."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def user_location() -> str | None:
    """`file.py:12` of the first frame outside of firesteel; None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
