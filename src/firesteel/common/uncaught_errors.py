"""Errors that end a program which Python runs by itself, as `python job.py`.

Python shows an error below its traceback, of which users know the fewest lines. The message comes first here, followed
by the lines of the program; `firesteel run` and notebooks do the same.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from types import TracebackType

from firesteel.common.closed_output import discard_output, is_of_closed_output
from firesteel.common.meant import meant
from firesteel.common.our_code import OUR_CODE, is_of_python
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError

__all__ = ["attribute_meant", "frames_of_the_program", "is_raised_by_us", "show_briefly"]

_SHOWN_FRAMES = 8


def show_briefly() -> None:
    """Show errors that end this process briefly from now on: one line after Ctrl-C, none if the output is closed.

    Programs that have their own `sys.excepthook` keep it, and `python -X dev` shows whole tracebacks.
    """
    is_default = sys.excepthook is sys.__excepthook__ or sys.excepthook.__module__ == "firesteel"
    if is_default and not sys.flags.dev_mode:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt) and (error.args or _is_within_us(trace)):
        print(printable(str(error)) or "Interrupted.", file=sys.stderr)
    elif is_of_closed_output(error):
        discard_output()
    elif isinstance(error, FiresteelError) or (isinstance(error, Exception) and is_raised_by_us(trace)):
        print("\n".join(_lines(error, trace)), file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _is_within_us(trace: TracebackType | None) -> bool:
    return any(frame.filename.startswith(OUR_CODE) for frame in traceback.extract_tb(trace))


def is_raised_by_us(trace: TracebackType | None) -> bool:
    """Return whether firesteel raised an error, such as one that refuses the arguments of a call."""
    frames = traceback.extract_tb(trace)
    return bool(frames) and frames[-1].filename.startswith(OUR_CODE)


def _lines(error: BaseException, trace: TracebackType | None) -> Iterator[str]:
    kind = type(error)
    text = "".join(traceback.format_exception_only(error)).rstrip()
    yield printable(text.replace(f"{kind.__module__}.{kind.__qualname__}", kind.__name__, 1) + attribute_meant(error))
    frames = frames_of_the_program(trace)
    for frame in reversed(frames[-_SHOWN_FRAMES:]):
        yield f"  at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    if len(frames) > _SHOWN_FRAMES:
        yield f"  called from {len(frames) - _SHOWN_FRAMES} more lines"
    yield f"(python -X dev {sys.argv[0] or '...'} shows the whole traceback)"


def frames_of_the_program(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that are neither firesteel's nor Python's, the innermost last."""
    frames = traceback.extract_tb(trace)
    return [one for one in frames if not one.filename.startswith(OUR_CODE) and not is_of_python(one.filename)]


def attribute_meant(error: BaseException) -> str:
    """Return the attribute that the user may have meant, such as `; did you mean 'map'?`, or nothing.

    Python's own tracebacks say so, too, but not for errors that are caught.
    """
    if not isinstance(error, AttributeError) or error.name is None or "; " in str(error):
        return ""
    return meant(error.name, (name for name in dir(error.obj) if not name.startswith("_")))
