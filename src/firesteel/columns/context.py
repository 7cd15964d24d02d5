"""What expressions need to know about the job that computes them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.columns.value_text import UTC


@dataclass(frozen=True)
class EvaluationContext:
    """The surroundings of an expression.

    Attributes:
        time_zone: The session's time zone (`table.local-time-zone`).
        streaming: Whether the job runs in streaming mode, where functions of the current time read the clock for each
            batch of rows. In batch mode they give the start of the query.
        query_start_us: When the query started, in microseconds since the epoch.
        function_context: What `open` of user functions gets.
        watermark_ms: Gives the current watermark, None before the first one.
        clock_us: The clock, in microseconds since the epoch.
        database: The current database.
    """

    time_zone: datetime.tzinfo = UTC
    streaming: bool = True
    query_start_us: int = 0
    function_context: Any = None
    watermark_ms: Callable[[], int | None] = lambda: None
    clock_us: Callable[[], int] = lambda: time.time_ns() // 1000
    database: str = "default_database"

    def now_us(self) -> int:
        """Return the current time of the statement, in microseconds since the epoch, cut to milliseconds."""
        now = self.clock_us() if self.streaming or not self.query_start_us else self.query_start_us
        return now // 1000 * 1000
