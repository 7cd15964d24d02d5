"""Concurrent calls of asynchronous scalar functions.

Why: `docs/decisions/0006-async-io-has-its-own-loop.md`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from firesteel.common.options.table_options import (
    ASYNC_SCALAR_ATTEMPTS,
    ASYNC_SCALAR_CONCURRENT,
    ASYNC_SCALAR_RETRY,
    ASYNC_SCALAR_RETRY_DELAY,
    ASYNC_SCALAR_TIMEOUT,
)

Row = Sequence[object]


class AsyncCalls:
    """Calls a function for the rows of a batch on a private event loop (Flink: `AsyncScalarFunctionOperation`).

    All calls complete before the next batch starts. A call that fails is repeated as `table.exec.async-scalar.*` says.

    Args:
        configuration: The options of the job.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._most = ASYNC_SCALAR_CONCURRENT.of(configuration)
        self._timeout_s = ASYNC_SCALAR_TIMEOUT.of(configuration)
        retries = ASYNC_SCALAR_RETRY.of(configuration) == "FIXED_DELAY"
        self._attempts = ASYNC_SCALAR_ATTEMPTS.of(configuration) if retries else 1
        self._delay_s = ASYNC_SCALAR_RETRY_DELAY.of(configuration)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, function: Callable[..., Awaitable[object]], rows: Sequence[Row]) -> list[object]:
        """Return the result of each row, in order."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        try:
            return self._loop.run_until_complete(self._call_all(function, rows))
        except ExceptionGroup as group:
            # Users know the error of their function, and restart strategies and reports look at its type.
            raise group.exceptions[0] from None

    def close(self) -> None:
        """Close the event loop."""
        if self._loop is not None:
            self._loop.close()

    async def _call_all(self, function: Callable[..., Awaitable[object]], rows: Sequence[Row]) -> list[object]:
        free = asyncio.Semaphore(self._most)

        async def call(row: Row) -> object:
            async with free:
                return await self._call(function, row)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(row)) for row in rows]
        return [task.result() for task in tasks]

    async def _call(self, function: Callable[..., Awaitable[object]], row: Row) -> object:
        # Around all attempts together, as Flink's `table.exec.async-scalar.timeout`.
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                return await self._call_with_retries(function, row)
        except TimeoutError:
            if not limit.expired():  # It is the user's own.
                raise
            raise TimeoutError(f"Async function call has timed out for input: {list(row)}") from None

    async def _call_with_retries(self, function: Callable[..., Awaitable[object]], row: Row) -> object:
        for _ in range(self._attempts - 1):
            try:
                return await function(*row)
            except Exception:  # of the user's function
                await asyncio.sleep(self._delay_s)
        return await function(*row)
