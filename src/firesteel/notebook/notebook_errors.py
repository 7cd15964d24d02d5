"""Errors of users' programs in a notebook, in a few lines."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType

from firesteel.common.our_code import LIBRARIES, OUR_CODE
from firesteel.common.uncaught_errors import attribute_meant, is_raised_by_us
from firesteel.errors import FiresteelError
from firesteel.notebook.shell import Shell

__all__ = ["in_cells", "show_short_errors"]

_PLACE = re.compile(r"(<ipython-input-[^>]+>|\S*ipykernel_\d+\S*\.py):(\d+)( in [^\s:]+)?(?![:\w])")
"""A line of a cell, as slot processes, which do not have the cell, name it: file, line and maybe the function."""

_MAGIC = "get_ipython()."
"""The beginning of what IPython makes of a magic: the user has not written it."""


def show_short_errors(shell: Shell) -> None:
    """Let a notebook show firesteel's errors, and interrupts of its jobs, without the frames of libraries.

    Args:
        shell: The `InteractiveShell`; its magic `%tb` still shows the whole traceback.
    """
    shell.set_custom_exc((Exception, KeyboardInterrupt), _show)


def in_cells(text: str, shell: Shell) -> str:
    """Return a text in which places of cells are named as users know them, with their lines.

    Args:
        text: Such as an error message with `at /tmp/ipykernel_1/2.py:3 in f`.
        shell: The `InteractiveShell`, which knows the cells.
    """

    def place(found: re.Match[str]) -> str:
        file, number, function = found[1], int(found[2]), found[3]
        line = linecache.getline(file, number).strip()
        return f"{_cell(file, shell)}, line {number}{',' if function else ''}{function or ''}{line and ': '}{line}"

    return _PLACE.sub(place, text)


def _show(
    shell: Shell, kind: type[BaseException], error: BaseException, trace: TracebackType, tb_offset: object = None
) -> None:
    if isinstance(error, KeyboardInterrupt):
        print(error if error.args else "Interrupted.", file=sys.stderr)
        return
    if not isinstance(error, FiresteelError | NotImplementedError) and not is_raised_by_us(trace):
        shell.showtraceback((kind, error, trace), running_compiled_code=True)
        return
    print(f"{kind.__name__}: {in_cells(str(error), shell)}{attribute_meant(error)}", file=sys.stderr)
    for frame in _frames_of_the_user(trace):
        print(f"  at {_cell(frame.filename, shell)}, line {frame.lineno}: {frame.line}", file=sys.stderr)
    print("(%tb shows the whole traceback)", file=sys.stderr)


def _frames_of_the_user(trace: TracebackType) -> Iterator[traceback.FrameSummary]:
    for frame in traceback.extract_tb(trace):
        is_ours = frame.filename.startswith((OUR_CODE, *LIBRARIES))
        if frame.line and not is_ours and not frame.line.startswith(_MAGIC):
            yield frame


def _cell(file: str, shell: Shell) -> str:
    """Return the name of a cell, such as `cell 7`, or the file if it is none."""
    name = shell.compile.format_code_name(file)
    return file if name is None else f"cell {name[1].removeprefix('In[').removesuffix(']')}"
