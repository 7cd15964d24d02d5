"""The full screen that shows a running query (Flink: `CliResultView`)."""

from __future__ import annotations

import sys
import threading
import time
from datetime import datetime

from rich.console import Console
from rich.live import Live

from firesteel.cli.arrived_rows import ArrivedRows
from firesteel.cli.result_frame import frame_of
from firesteel.cli.result_view import ResultView
from firesteel.cli.terminal_keys import pressed, single_keys
from firesteel.client.client_errors import JobCanceledError
from firesteel.table.execution.print_style import PrintStyle, print_rows
from firesteel.table.table_parts import row_type_of
from firesteel.table.table_result import TableResult

_POLL_S = 0.05
"""How long the screen waits for a key before it looks for rows."""
_MOST_PRINTED = 1000
"""How many rows are printed when the screen closes."""
_LEAVE = {"q", "escape", "interrupt"}


class RunningRows:
    """Collects the rows of a query in a thread of its own.

    Args:
        result: The running query.
        arrived: Takes the rows.
    """

    def __init__(self, result: TableResult, arrived: ArrivedRows) -> None:
        self.error: BaseException | None = None
        self._result = result
        self._arrived = arrived
        self._is_stopped = False
        self._thread = threading.Thread(target=self._collect, name="rows of a query", daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        try:
            for row in self._result.collect():
                self._arrived.add(row)
        except BaseException as error:
            if not (self._is_stopped and isinstance(error, JobCanceledError)):
                self.error = error

    @property
    def status(self) -> str:
        """Return how the query is doing."""
        if self._thread.is_alive():
            return "stopping" if self._is_stopped else "running"
        return "stopped" if self._is_stopped else "failed" if self.error is not None else "finished"

    def stop(self) -> None:
        """Cancel the query if it is still running. Its job delivers the rows that it has before it ends."""
        client = self._result.get_job_client()
        if client is not None and self._thread.is_alive() and not self._is_stopped:
            self._is_stopped = True
            client.cancel()

    def wait(self) -> None:
        """Wait until all rows have arrived."""
        self._thread.join()


def show_screen(result: TableResult, most: int | None) -> None:
    """Show the rows of a query on the whole screen until the user leaves it, then print them.

    Args:
        result: The running query.
        most: Maximum number of rows of the table; None: show the changes themselves.

    Raises:
        JobExecutionError: the query failed.
    """
    arrived = ArrivedRows(most)
    view, rows = ResultView(row_type_of(result), arrived.is_changelog), RunningRows(result, arrived)
    try:
        _watch(view, rows, arrived, Console())
    finally:
        rows.stop()
        rows.wait()
        view.show(*arrived.take())
        if view.received or rows.error is None:
            _print(view)
    if rows.error is not None:
        raise rows.error


def _watch(view: ResultView, rows: RunningRows, arrived: ArrivedRows, console: Console) -> None:
    with single_keys(), Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        updated = status = ""
        while rows.error is None:
            before = updated, status
            status = rows.status
            # The last rows of a query do not wait for the next refresh.
            if view.refreshes.is_due(time.monotonic()) or (status != "running" and arrived.has_news):
                view.show(*arrived.take())
                updated = f"{datetime.now():%H:%M:%S.%f}"[:10]
            keys = pressed(_POLL_S)
            for key in keys:
                is_in_list = not view.is_open and view.dialog is None
                if key in _LEAVE and is_in_list:
                    return
                if key == "x" and is_in_list:
                    rows.stop()
                view.press(key)
            if keys or before != (updated, status):
                live.update(frame_of(view, status, updated[:8], *console.size), refresh=True)


def _print(view: ResultView) -> None:
    """Print the last rows of the view, as in the result mode `tableau`."""
    rows = view.rows()
    style = PrintStyle.CHANGES if view.is_changelog else PrintStyle.WIDTHS_OF_DATA
    print_rows(rows[-_MOST_PRINTED:], view.row_type, style, sys.stdout, lambda count: _last_line(view, count))


def _last_line(view: ResultView, count: int) -> str:
    if view.is_changelog:
        return f"The last {count:,} of {view.received:,} changes"
    return f"{count:,} of {len(view.rows()):,} rows, out of {view.received:,} changes"
