"""Output of query results (Flink: `CliTableauResultView`)."""

from __future__ import annotations

import sys
import time

from firesteel.table.environment.row_writers import write_csv, write_json
from firesteel.table.execution.print_style import PrintStyle, print_rows, rows_in_set
from firesteel.table.table_parts import row_type_of
from firesteel.table.table_result import TableResult


def show_query(result: TableResult, is_streaming: bool, most_width: int) -> None:
    """Print the rows of a query; an interrupt cancels its job.

    Args:
        result: The running query.
        is_streaming: Whether changes are printed as they arrive, and not the whole result at its end.
        most_width: The limit of the widths of columns, see `print_rows`.
    """
    row_type = row_type_of(result)
    started = time.monotonic()
    with result.collect() as rows:
        if is_streaming:
            print_rows(rows, row_type, PrintStyle.CHANGES, sys.stdout, _received, most_width)
        else:
            print_rows(
                rows,
                row_type,
                PrintStyle.WIDTHS_OF_DATA,
                sys.stdout,
                lambda count: f"{rows_in_set(count)} ({time.monotonic() - started:.2f} seconds)",
                most_width,
            )


def write_result(result: TableResult, output: str, has_kinds: bool) -> None:
    """Write rows for a program as they arrive; an interrupt cancels the job.

    Args:
        result: The result.
        output: `csv` or `json`.
        has_kinds: Whether each row has a column `op` with its row kind.
    """
    write = write_csv if output == "csv" else write_json
    with result.collect() as rows:
        write(rows, row_type_of(result), sys.stdout, has_kinds)


def _received(count: int) -> str:
    return f"Received a total of {count} {'row' if count == 1 else 'rows'}"
