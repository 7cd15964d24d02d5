"""Flink DataStream programs in Python, run on Spark."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # That of `typing` takes an import, during which Ctrl-C may come.
if TYPE_CHECKING:
    from types import TracebackType

    from firesteel.notebook.shell import Shell

_DIRECTORY = os.path.dirname(os.path.abspath(__file__))


def interrupt_in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show Ctrl-C during our imports, which take a moment, in one line; all else as Python does."""
    frame = trace
    while frame is not None and not frame.tb_frame.f_code.co_filename.startswith(_DIRECTORY):
        frame = frame.tb_next
    if issubclass(kind, KeyboardInterrupt) and frame is not None:
        print(str(error) or "Interrupted.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


# Not where a program or a debugger has its own; `python -X dev` shows whole tracebacks.
if sys.excepthook is sys.__excepthook__ and not sys.flags.dev_mode:
    sys.excepthook = interrupt_in_one_line


def load_ipython_extension(shell: Shell) -> None:
    """Prepare a notebook: `%load_ext firesteel` (IPython's convention).

    Args:
        shell: The notebook's `InteractiveShell`.
    """
    from firesteel.client import set_progress_reporter
    from firesteel.notebook import NotebookLine, SqlMagic, is_terminal, show_short_errors

    shell.register_magic_function(SqlMagic(shell), "cell", "sql")
    show_short_errors(shell)
    if not is_terminal(shell):
        set_progress_reporter(NotebookLine(shell))
