"""The location of an API call in the user's program."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def user_location() -> str | None:
    """Return `file.py:12` of the first stack frame outside of firesteel, or None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
