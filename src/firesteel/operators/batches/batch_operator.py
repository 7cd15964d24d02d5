"""The operator of functions of batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from firesteel.common.values.bounded_results import all_of
from firesteel.functions.batch_functions import AsyncBatchFunction, BatchFormat
from firesteel.functions.operator_descriptors import BatchOperator
from firesteel.operators.batches.waiting_elements import WaitingElements
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.chain.operator import Output, TaskInfo, Timestamps
from firesteel.operators.own_loop import OwnLoopOperator
from firesteel.operators.retries import wants_retry

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.operators.batches.batch_formats import ColumnFormat

__all__ = ["BatchRunner"]


class BatchRunner(OwnLoopOperator):
    """The operator of `map_batches` and of `AsyncDataStream.ordered_wait_batch` and `unordered_wait_batch`.

    Elements wait until a batch is full, or the first of them has waited long enough. Without a time to wait, a batch
    also ends with the batch of Spark; with one, the elements that wait are part of the checkpoint.
    """

    carries_state = True

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: BatchOperator) -> None:
        super().__init__(name, task, output, descriptor.function)
        self._descriptor = descriptor
        self._waiting = WaitingElements()
        self._deadline: int | None = None
        self._passed = 0
        self._settle = output.settler(output.output_type, "v")[1]
        self._format: ColumnFormat | None = None

    def open(self) -> None:
        """Prepare the calls, and open the function."""
        descriptor = self._descriptor
        if descriptor.format is not BatchFormat.ROWS:
            from firesteel.operators.batches.batch_formats import ColumnFormat  # needs pyarrow

            assert descriptor.output_type is not None
            self._format = ColumnFormat(descriptor.format, descriptor.input_type, descriptor.output_type)
        self._is_async = isinstance(self.function, AsyncBatchFunction)
        self._call: Callable[..., object] = method_of(
            self.function, "async_invoke_batch" if self._is_async else "map_batch"
        )
        super().open()

    def process(self, values: list[object], timestamps: Timestamps) -> None:
        """Add elements, and call the function for the batches that are full."""
        self._waiting.add(values, timestamps)
        if self._deadline is None and self._descriptor.wait_ms:
            self._deadline = now_ms() + self._descriptor.wait_ms
        size = self._descriptor.batch_size
        if full := len(self._waiting) // size * size:
            self._run(full)

    def process_watermark(self, timestamp: int) -> None:
        """Emit a watermark after the results of the elements before it."""
        self.watermark = timestamp
        if self._waiting:
            self._waiting.mark(timestamp)
        else:
            self.output.watermark(timestamp)

    def process_idle(self, is_idle: bool) -> None:
        """Call the function for the elements that wait, then emit the change."""
        self._run(len(self._waiting))
        super().process_idle(is_idle)

    def advance_processing_time(self, now_ms: int) -> None:
        """Call the function for the elements that wait, if the first of them has waited long enough."""
        if self._deadline is not None and now_ms >= self._deadline:
            self._run(len(self._waiting))

    def next_processing_time(self) -> int | None:
        """Return when the elements that wait have waited long enough."""
        return self._deadline

    def end_batch(self) -> None:
        """Call the function for the elements that wait, unless they may wait longer."""
        if not self._descriptor.wait_ms:
            self._run(len(self._waiting))

    def end_input(self, index: int) -> None:
        """Call the function for the elements that wait."""
        self._run(len(self._waiting))

    def snapshot(self) -> Snapshot:
        """Return the elements that wait, and the watermarks."""
        waiting = self._waiting
        return (waiting.values, waiting.timestamps, waiting.marks) if waiting else None

    def restore(self, snapshot: Snapshot) -> None:
        """Let the elements wait again, from now on."""
        self._waiting = WaitingElements()
        self._deadline = None
        if snapshot is not None:
            values, timestamps, marks = snapshot
            self._waiting.add(list(values), list(timestamps))
            self._waiting.marks = list(marks)
            self._deadline = now_ms() + self._descriptor.wait_ms

    def take_over(self, snapshots: Sequence[Snapshot]) -> None:
        """Let this subtask's share of the elements of all subtasks wait again; the sources repeat the watermarks."""
        waiting = [pair for found in snapshots if found for pair in zip(found[0], found[1], strict=True)]
        mine = waiting[self.task.subtask_index :: self.task.parallelism]
        self.restore(([value for value, _ in mine], [time for _, time in mine], []) if mine else None)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _run(self, count: int) -> None:
        """Call the function for the first elements that wait, and emit the results."""
        if not count:
            return
        assert self._loop is not None
        size = self._descriptor.batch_size
        starts = range(0, count, size)
        batches = [self._waiting.values[start : min(start + size, count)] for start in starts]
        try:
            answers = self._loop.run_until_complete(self._call_all(batches))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        self._passed += count
        # A watermark must not be overtaken, so results stay in order if one lies between the elements.
        if not self._descriptor.ordered and not self._waiting.marks_before(count - 1):
            self._put_in_order_of_arrival(answers, batches)
        else:
            answers.sort(key=lambda answer: answer[0])
        self._waiting.emit([result for _, results in answers for result in results], self.output)
        self._deadline = now_ms() + self._descriptor.wait_ms if self._waiting else None

    def _put_in_order_of_arrival(self, answers: list[tuple[int, list[object]]], batches: list[list[object]]) -> None:
        """Bring the event times into the order of the results."""
        size, times = self._descriptor.batch_size, self._waiting.timestamps
        count = sum(map(len, batches))
        times[:count] = [
            time for number, _ in answers for time in times[number * size : min((number + 1) * size, count)]
        ]

    async def _call_all(self, batches: list[list[object]]) -> list[tuple[int, list[object]]]:
        """Return the results of the batches in the order of their arrival, each with the number of its batch."""
        free = asyncio.Semaphore(self._descriptor.capacity)
        arrived: list[tuple[int, list[object]]] = []

        async def call(number: int, batch: list[object]) -> None:
            async with free:
                first = self._passed + number * self._descriptor.batch_size + 1
                arrived.append((number, await self._call_batch(batch, first)))

        async with asyncio.TaskGroup() as group:
            for number, batch in enumerate(batches):
                group.create_task(call(number, batch))
        return arrived

    async def _call_batch(self, batch: list[object], first: int) -> list[object]:
        """Return the results of a batch; errors name the records of this frame."""
        given = batch if self._format is None else self._format.batch(batch)
        limit = asyncio.timeout(self._descriptor.timeout_ms / 1000 or None)
        try:
            async with limit:
                return await self._call_with_retries(given, len(batch))
        except TimeoutError:
            if not limit.expired() or not self._is_async:  # It is the user's own.
                raise
            return self._results(self.function.timeout(given), len(batch))

    async def _call_with_retries(self, batch: object, count: int) -> list[object]:
        strategy, attempt = self._descriptor.retry_strategy, 1
        while True:
            try:
                answer = self._call(batch)
                results = self._results(await answer if isinstance(answer, Awaitable) else answer, count)
                if not wants_retry(strategy, attempt, results, None):
                    return results
            except Exception as error:
                if not wants_retry(strategy, attempt, None, error):
                    raise
            assert strategy is not None
            await asyncio.sleep(strategy.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    def _results(self, answer: object, count: int) -> list[object]:
        """Return the results of a batch, converted to the declared type of the stream.

        Raises:
            RuntimeError: their number is not that of the elements.
        """
        found = self._format.elements(answer) if self._format is not None else _listed(answer)
        if len(found) != count:
            raise RuntimeError(
                f"a function of batches returns one result for each element; found {len(found)} results for "
                f"{count} elements. For any number of results return lists, and call flat_map() after it"
            )
        return list(map(self._settle, all_of(found)))


def _listed(answer: object) -> list[object]:
    if isinstance(answer, str | bytes | dict) or not isinstance(answer, Iterable):
        raise RuntimeError(f"a function of batches returns one result for each element; found {type(answer).__name__}")
    return answer.tolist() if hasattr(answer, "tolist") else list(answer)  # arrays have numbers of their own
