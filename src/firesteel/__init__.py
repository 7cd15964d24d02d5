"""Flink DataStream programs in Python, run on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.notebook.shell import Shell


def load_ipython_extension(shell: Shell) -> None:
    """Prepare a notebook: `%load_ext firesteel` (IPython's convention).

    Args:
        shell: The notebook's `InteractiveShell`.
    """
    from firesteel.client import set_progress_reporter
    from firesteel.notebook import NotebookLine, SqlMagic, show_short_errors

    shell.register_magic_function(SqlMagic(shell), "cell", "sql")
    show_short_errors(shell)
    set_progress_reporter(NotebookLine(shell))
