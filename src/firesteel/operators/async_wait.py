"""Async I/O: concurrent calls of a user's coroutine, with ordered or unordered results.

Why: `docs/decisions/0006-async-io-has-its-own-loop.md`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from firesteel.common.values.bounded_results import all_of
from firesteel.functions.operator_descriptors import AsyncWaitOperator
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import Output, TaskInfo, Timestamps
from firesteel.operators.own_loop import OwnLoopOperator
from firesteel.operators.retries import wants_retry

_Result = tuple[list[Any], int | None]


class AsyncWaitRunner(OwnLoopOperator):
    """`AsyncDataStream.ordered_wait` and `unordered_wait` (Flink: `AsyncWaitOperator`).

    The calls of one batch of elements run concurrently on the operator's own event loop, at most `capacity` at a time.
    All of them complete before the next batch starts, so unordered results never overtake a watermark.
    """

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: AsyncWaitOperator) -> None:
        super().__init__(name, task, output, descriptor.function)
        self._timeout_s = descriptor.timeout_ms / 1000 or None
        self._capacity = descriptor.capacity
        self._ordered = descriptor.ordered
        self._retry = descriptor.retry_strategy
        self._settle = output.settler(output.output_type, "v")[1]

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for all elements and wait for the results."""
        assert self._loop is not None
        try:
            answers = self._loop.run_until_complete(self._ask_all(list(pairs(values, timestamps))))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        results: list[Any] = []
        result_timestamps: list[int | None] = []
        for found, timestamp in answers:
            results.extend(found)
            result_timestamps.extend([timestamp] * (len(results) - len(result_timestamps)))
        self.output.hand_on(results, None if timestamps is None else result_timestamps)

    async def _ask_all(self, elements: list[tuple[object, int | None]]) -> list[_Result]:
        free = asyncio.Semaphore(self._capacity)
        arrived: list[_Result] = []

        async def ask(value: object, timestamp: int | None) -> _Result:
            async with free:
                answer = (await self._ask(value), timestamp)
            arrived.append(answer)
            return answer

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(value, timestamp)) for value, timestamp in elements]
        return [task.result() for task in tasks] if self._ordered else arrived

    async def _ask(self, value: Any) -> list[Any]:
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                return await self._ask_with_retries(value)
        except TimeoutError:
            if not limit.expired():  # It is the user's own.
                raise
            return self._settled(self.function.timeout(value))

    def _settled(self, found: object) -> list[Any]:
        """Return the results of one element, converted to the declared type of the stream."""
        if not isinstance(found, Iterable):
            wrong = "cannot be none" if found is None else "should be of list type"
            raise RuntimeError(
                f"The result of AsyncFunction {wrong}, please check the methods 'async_invoke' and 'timeout' of class "
                f"'{type(self.function).__name__}'."
            )
        return list(map(self._settle, all_of(found)))

    async def _ask_with_retries(self, value: Any) -> list[Any]:
        attempt = 1
        while True:
            try:
                found = await self.function.async_invoke(value)
                if not wants_retry(self._retry, attempt, found, None):
                    return self._settled(found)
            except Exception as error:
                if not wants_retry(self._retry, attempt, None, error):
                    raise
            assert self._retry is not None
            await asyncio.sleep(self._retry.get_backoff_time_millis(attempt) / 1000)
            attempt += 1
