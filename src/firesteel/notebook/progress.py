"""A line of progress below the cell of a notebook."""

from __future__ import annotations

import sys

from firesteel.client.progress_reporter import Restart, RestartLines
from firesteel.client.progress_view import LineOfProgress
from firesteel.common.terminal_text import printable
from firesteel.notebook.notebook_errors import in_cells
from firesteel.notebook.shell import Display, Shell
from firesteel.runtime.executiongraph.job_details import JobDetails

__all__ = ["NotebookLine"]


class NotebookLine(RestartLines):
    """A reporter that shows a line for each job (a `ProgressReporter`).

    Args:
        shell: The notebook's `InteractiveShell`, which knows the cells that errors name.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._line = LineOfProgress()
        self._display: Display | None = None

    def submitted(self, job_id: str) -> None:
        """Begin a line."""
        from IPython.display import display  # only notebooks have it

        self._line = LineOfProgress()
        self._display = display({"text/plain": "starting"}, raw=True, display_id=True)

    def progressed(self, details: JobDetails) -> None:
        """Show the line anew."""
        if self._display is not None:
            self._display.update({"text/plain": self._line.text(details)}, raw=True)

    def ended(self, details: JobDetails) -> None:
        """Show the last line."""
        self.progressed(details)
        self._display = None

    def restarts(self, restart: Restart) -> None:
        """Print the restart below the cell."""
        print(printable(in_cells(str(restart), self._shell)), file=sys.stderr, flush=True)
