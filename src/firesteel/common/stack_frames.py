"""The stacks of this process's threads, as text and as plain data.

Nothing here runs until somebody asks, and nothing of it stops the threads: the frames are read between two of their
bytecodes.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

__all__ = ["Frame", "ThreadText", "frames_of", "no_label", "threads_of_this_process"]

Frame = tuple[str, str, int]
"""(function with its module, file, line in it), the parts of one call; a label has no file, and line 0."""

ThreadText = tuple[str, str]
"""(name of a thread, its stack as text)."""

Label = Callable[[FrameType], str | None]
"""Returns what a frame belongs to, such as an operator; None for frames of nobody in particular."""

_LABEL_FILE: Final = ""


def no_label(frame: FrameType) -> str | None:
    """Return None: the frame belongs to nobody in particular."""
    return None


def frames_of(innermost: FrameType, depth: int, label: Label = no_label) -> list[Frame]:
    """Return the calls of a stack, the outermost first, with a frame for each label before the calls that have it.

    Args:
        innermost: The frame that runs.
        depth: Number of calls to return, from the innermost on.
        label: Names what frames belong to.

    Example:
        >>> import sys
        >>> def parse():
        ...     return frames_of(sys._getframe(), 1)
        >>> parse()[0][0].endswith("parse")
        True
    """
    found: list[Frame] = []
    last: str | None = None
    for frame in _calls(innermost, depth):
        name = label(frame)
        if name is not None and name != last:
            last = name
            found.append((name, _LABEL_FILE, 0))
        code = frame.f_code
        module = frame.f_globals.get("__name__") or code.co_filename.rpartition("/")[2]
        found.append((f"{module}.{code.co_qualname}", code.co_filename, frame.f_lineno or code.co_firstlineno))
    return found


def _calls(innermost: FrameType, depth: int) -> list[FrameType]:
    calls: list[FrameType] = []
    frame: FrameType | None = innermost
    while frame is not None and len(calls) < depth:
        calls.append(frame)
        frame = frame.f_back
    return calls[::-1]


def threads_of_this_process(label: Label = no_label) -> list[ThreadText]:
    """Return the names and stacks of all threads, as Python formats stacks, with a line for each label."""
    frames = sys._current_frames()
    return [
        (thread.name, f'"{thread.name}"\n' + "".join(_lines(frames[thread.ident], label)))
        for thread in threading.enumerate()
        if thread.ident in frames
    ]


def _lines(innermost: FrameType, label: Label) -> Iterator[str]:
    last: str | None = None
    for frame in _calls(innermost, sys.maxsize):
        name = label(frame)
        if name is not None and name != last:
            last = name
            yield f"  {name}\n"
        # Of one frame at a time, which reads the line of the source.
        yield from traceback.format_stack(frame, limit=1)
