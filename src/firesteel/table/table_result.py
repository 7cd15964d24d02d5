"""Results of statements (module as `pyflink.table.table_result`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

from firesteel.columns.column_types import VariantType
from firesteel.columns.type_text import type_text
from firesteel.common.job_client import JobClient
from firesteel.common.notebook_table import NotebookTable, ShownAsTable
from firesteel.common.types import Row
from firesteel.table.execution.print_style import MOST_WIDTH, PrintStyle, print_rows
from firesteel.table.resolved_schema import ResolvedSchema, schema_of_rows
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_schema import TableSchema
from firesteel.table.types import DataTypes, RowType

if TYPE_CHECKING:
    from firesteel.columns.column_types import RowField

__all__ = ["CloseableIterator", "TableResult"]

_SHOWN_ROWS = 100
"""How many rows a notebook shows."""


class CloseableIterator:
    """The rows of a result as they arrive; closing the iterator cancels the job if it is still running.

    `TableResult.collect` returns it.

    Args:
        rows: The rows in order. If the iterable has a method `close`, closing the iterator calls it.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> with table_env.execute_sql("SHOW DATABASES").collect() as rows:
        ...     print(list(rows))
        [<Row('default_database')>]
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self._iterator = iter(rows)

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        return next(self._iterator)

    def next(self) -> Row:
        """Return the next row; wait for it if the job is still running.

        Raises:
            StopIteration: There are no more rows.
        """
        return next(self._iterator)

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the job if it is still running. Idempotent."""
        close: Callable[[], None] | None = getattr(self._rows, "close", None)
        if close is not None:
            close()


class TableResult(ShownAsTable):
    """The result of a statement: its rows, and the job that computes them (Flink: `TableResult`).

    Args:
        row_type: Names and types of the columns.
        rows: The rows; those of a job arrive while it runs.
        job_client: The client of the job, or None.
        kind: A `ResultKind`.
        style: The style in which `print` shows the rows.
        most_width: The limit of widths that `print` has, see `print_rows`.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> _ = table_env.execute_sql("CREATE TABLE orders (id INT) WITH ('connector' = 'blackhole')")
        >>> table_env.execute_sql("DESCRIBE orders").print()
        +------+------+------+-----+--------+-----------+
        | name | type | null | key | extras | watermark |
        +------+------+------+-----+--------+-----------+
        |   id |  INT | TRUE |     |        |           |
        +------+------+------+-----+--------+-----------+
        1 row in set
    """

    def __init__(
        self,
        row_type: RowType,
        rows: Iterable[Row],
        job_client: JobClient | None = None,
        kind: int = ResultKind.SUCCESS_WITH_CONTENT,
        style: PrintStyle = PrintStyle.WIDTHS_OF_DATA,
        is_query: bool = False,
        most_width: int = MOST_WIDTH,
    ) -> None:
        self._row_type = row_type
        self._rows = rows
        self._job_client = job_client
        self._kind = kind
        self._style = style
        self._is_query = is_query
        self._most_width = most_width

    def get_job_client(self) -> JobClient | None:
        """Return the client of the job, or None if the statement started no job."""
        return self._job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended or, for a query, until it has started.

        Progress is shown unless there is a limit.

        Args:
            timeout_ms: The maximum time to wait, in ms; None waits without limit.

        Raises:
            TimeoutError: The job did not end in time.
            JobExecutionError: The job failed.
        """
        if self._job_client is None or self._is_query:
            return
        if timeout_ms is None:
            self._job_client.wait()
            return
        future = self._job_client.get_job_execution_result()
        try:
            future.result(timeout_ms / 1000)
        except FutureTimeoutError as error:
            raise TimeoutError(f"The job has not ended within {timeout_ms} ms") from error
        finally:
            if future.done():
                self._job_client.close()

    def get_table_schema(self) -> TableSchema:
        """Return the names and types of the columns."""
        return TableSchema(resolved=self.get_resolved_schema())

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns with their types."""
        return schema_of_rows(self._row_type)

    def get_result_kind(self) -> int:
        """Return `ResultKind.SUCCESS`, or `SUCCESS_WITH_CONTENT` if the statement returns rows."""
        return self._kind

    def collect(self) -> CloseableIterator:
        """Return an iterator over the rows with their row kinds. Close it, to cancel a job that is still running.

        Raises:
            TypeError: a column is a VARIANT, which PyFlink has no type for.
        """
        for field in self._row_type.fields:
            if isinstance(field.data_type, VariantType):
                raise TypeError(
                    f"Unsupported type: {type_text(field.data_type)}, it is not supported yet in current python type "
                    "system"
                )
        return CloseableIterator(self._rows)

    def _notebook_table(self) -> NotebookTable:
        names = self._row_type.field_names()
        if isinstance(self._rows, list):
            return NotebookTable(names, self._rows[:_SHOWN_ROWS])
        return NotebookTable(names, [], "Rows of a job, which can be read once: print(), or collect()")

    def print(self) -> None:
        """Print the rows as a table.

        In streaming mode a column `op` shows the row kind, and rows are printed as they arrive.
        """
        with CloseableIterator(self._rows) as rows:
            print_rows(rows, self._row_type, self._style, sys.stdout, most_width=self._most_width)


def ok() -> TableResult:
    """Return the result of a statement without rows."""
    row_type = RowType([_text_field("result")])
    return TableResult(row_type, [Row("OK")], kind=ResultKind.SUCCESS, style=PrintStyle.RAW)


def texts(column: str, values: Iterable[str], style: PrintStyle = PrintStyle.WIDTHS_OF_DATA) -> TableResult:
    """Return a result with one column of strings."""
    return TableResult(RowType([_text_field(column)]), [Row(value) for value in values], style=style)


def _text_field(name: str) -> RowField:
    return DataTypes.FIELD(name, DataTypes.STRING())
