"""Errors of users' programs in a notebook, in a few lines."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from firesteel.common.our_code import LIBRARIES, OUR_CODE
from firesteel.errors import FiresteelError
from firesteel.notebook.shell import Shell

__all__ = ["show_short_errors"]


def show_short_errors(shell: Shell) -> None:
    """Let a notebook show firesteel's errors, and interrupts of its jobs, without the frames of libraries.

    Args:
        shell: The `InteractiveShell`; its magic `%tb` still shows the whole traceback.
    """
    shell.set_custom_exc((FiresteelError, NotImplementedError, KeyboardInterrupt), _show)


def _show(
    shell: Shell, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: object = None
) -> None:
    if isinstance(error, KeyboardInterrupt):
        print(error if error.args else "Interrupted.", file=sys.stderr)
        return
    print(f"{kind.__name__}: {error}", file=sys.stderr)
    for frame in traceback.extract_tb(trace):
        if frame.line and not frame.filename.startswith((OUR_CODE, *LIBRARIES)):
            print(f"  at line {frame.lineno} of {_place(frame)}: {frame.line}", file=sys.stderr)
    print("(%tb shows the whole traceback)", file=sys.stderr)


def _place(frame: traceback.FrameSummary) -> str:
    if "ipykernel" in frame.filename or frame.filename.startswith("<ipython"):
        return "the cell" if frame.name == "<cell line: 1>" or frame.name.startswith("<") else frame.name
    return frame.filename
