"""Query settings: plain data that expressions need, shipped with the job."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.kernel import KernelContext
from firesteel.columns.value_text import time_zone


@dataclass(frozen=True)
class QuerySettings:
    """The settings of a query.

    Attributes:
        time_zone: `table.local-time-zone`.
        query_start_us: When the query started, in microseconds since the epoch.
        pandas_rows: The most rows for which a pandas function is called at a time; 0 for any number.
    """

    time_zone: str = "UTC"
    query_start_us: int = 0
    database: str = "default_database"
    pandas_rows: int = 0

    def context(self, kernel: KernelContext) -> EvaluationContext:
        """Return the evaluation context of the expressions in a kernel."""
        return EvaluationContext(
            time_zone(self.time_zone),
            kernel.is_streaming,
            self.query_start_us,
            kernel.function_context,
            kernel.watermark_ms,
            call_all=kernel.call_all,
            database=self.database,
            pandas_rows=self.pandas_rows,
        )
