"""The location of an API call in the user's program."""

from __future__ import annotations

import sys

from firesteel.common.our_code import OUR_CODE


def user_location() -> str | None:
    """Return `file.py:12` of the first stack frame outside of firesteel, or None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(OUR_CODE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None
