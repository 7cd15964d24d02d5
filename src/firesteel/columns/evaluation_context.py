"""The evaluation context: what expressions need from the job that computes them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from firesteel.columns.value_text import UTC

CallAll = Callable[[Callable[..., Awaitable[object]], Sequence[Sequence[object]]], Sequence[object]]
"""(coroutine function, its arguments per row) -> the results."""


def no_async_calls(function: Callable[..., Awaitable[object]], rows: Sequence[Sequence[object]]) -> Sequence[object]:
    """Refuse to call an asynchronous function, where no subtask has an event loop for it."""
    raise NotImplementedError(f"asynchronous functions can't be called here: {function!r}")


@dataclass(frozen=True)
class EvaluationContext:
    """Settings and services that expressions read while they are evaluated.

    Attributes:
        time_zone: The session's time zone (`table.local-time-zone`).
        streaming: Whether the job runs in streaming mode. There, functions of the current time read the clock for each
            batch of rows; in batch mode they return the start of the query.
        query_start_us: The start of the query, in microseconds since the epoch.
        function_context: The context that is passed to `open` of user functions.
        watermark_ms: Returns the current watermark, or None before the first one.
        clock_us: Returns the current time, in microseconds since the epoch.
        call_all: Calls an asynchronous function for several rows at a time, and returns the results in order.
        database: The name of the current database.
        pandas_rows: The most rows for which a pandas function is called at a time; 0 for any number.
    """

    time_zone: datetime.tzinfo = UTC
    streaming: bool = True
    query_start_us: int = 0
    function_context: object = None
    watermark_ms: Callable[[], int | None] = lambda: None
    clock_us: Callable[[], int] = lambda: time.time_ns() // 1000
    call_all: CallAll = no_async_calls
    database: str = "default_database"
    pandas_rows: int = 0

    def now_us(self) -> int:
        """Return the current time of the statement in microseconds since the epoch, truncated to ms."""
        now = self.clock_us() if self.streaming or not self.query_start_us else self.query_start_us
        return now // 1000 * 1000
