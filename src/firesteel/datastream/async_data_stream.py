"""Asynchronous functions on streams (module as `pyflink.datastream.async_data_stream`)."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.common.checks import require
from firesteel.common.time import Time
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.streams.batches import BatchSettings, with_batches
from firesteel.functions.operator_builder import values_of, with_operator
from firesteel.functions.operator_descriptors import AsyncWaitOperator
from firesteel.functions.user_functions import AsyncBatchFunction, AsyncFunction, AsyncRetryStrategy

__all__ = ["AsyncDataStream"]


T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")


class AsyncDataStream:
    """Applies asynchronous functions to streams.

    Example:
        >>> class LookUp(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [f"user {value}"]
        ...     def timeout(self, value):
        ...         return []
        >>> ids = env.from_collection([1, 2], Types.INT())
        >>> users = AsyncDataStream.unordered_wait(ids, LookUp(), Time.seconds(5), 100, Types.STRING())
        >>> _ = users.collect_async()
        >>> sorted(run_local(env).elements)
        ['user 1', 'user 2']
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function and emit results as they arrive; results do not overtake watermarks.

        Args:
            data_stream: The input.
            async_function: Called for each element.
            timeout: Maximum time of a call; 0 means no limit.
            capacity: Maximum number of concurrent calls per subtask.
            output_type: Type of the results; None pickles them.

        Raises:
            ValueError: `timeout` is negative or `capacity` is not positive.
        """
        return _wait(data_stream, async_function, timeout, None, capacity, output_type, ordered=False)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function as `unordered_wait` does, with retries within `timeout`.

        Args:
            data_stream: The input.
            async_function: Called for each element.
            timeout: Limit for one element, including all retries.
            async_retry_strategy: Decides when an element is retried, and the delays between the attempts.
            capacity: The number of elements in progress at which the input waits.
            output_type: The type of the results; pickled objects by default.

        Raises:
            ValueError: `timeout` or `capacity` is not positive.
        """
        require(async_retry_strategy, AsyncRetryStrategy, "unordered_wait_with_retry()")
        return _wait(data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=False)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function and emit results in the order of the elements.

        Args:
            data_stream: The input.
            async_function: Called for each element.
            timeout: Maximum time of a call; 0 means no limit.
            capacity: Maximum number of concurrent calls per subtask.
            output_type: Type of the results; None pickles them.

        Raises:
            ValueError: `timeout` is negative or `capacity` is not positive.
        """
        return _wait(data_stream, async_function, timeout, None, capacity, output_type, ordered=True)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function as `ordered_wait` does, with retries within `timeout`.

        Args:
            data_stream: The input.
            async_function: Called for each element.
            timeout: Limit for one element, including all retries.
            async_retry_strategy: Decides when an element is retried, and the delays between the attempts.
            capacity: The number of elements in progress at which the input waits.
            output_type: The type of the results; pickled objects by default.

        Raises:
            ValueError: `timeout` or `capacity` is not positive.
        """
        require(async_retry_strategy, AsyncRetryStrategy, "ordered_wait_with_retry()")
        return _wait(data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=True)

    @staticmethod
    def unordered_wait_batch(
        data_stream: DataStream[T],
        async_batch_function: AsyncBatchFunction[A, B],
        timeout: Time,
        max_batch_size: int,
        batch_timeout: Time | None = None,
        capacity: int = 10,
        output_type: TypeInformation[R] | None = None,
        async_retry_strategy: AsyncRetryStrategy[C] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function to batches of elements; results of batches do not overtake watermarks.

        The method is that of a proposal for Flink (FLINK-38825). See `DataStream.map_batches` for batches of tables.

        Args:
            data_stream: The input.
            async_batch_function: Called for each batch; it returns one result for each element.
            timeout: Maximum time of a call with all retries; 0 means no limit.
            max_batch_size: Maximum number of elements of a batch.
            batch_timeout: Maximum time that elements wait for their batch to be full; by default they wait no longer
                than for the end of Spark's batch.
            capacity: Maximum number of concurrent calls per subtask.
            output_type: Type of the results; None pickles them.
            async_retry_strategy: Decides when the call for a batch is repeated.
        """
        settings = BatchSettings(
            max_batch_size, batch_timeout, "rows", async_retry_strategy, capacity, timeout, ordered=False
        )
        return _wait_batch(data_stream, async_batch_function, settings, output_type)

    @staticmethod
    def ordered_wait_batch(
        data_stream: DataStream[T],
        async_batch_function: AsyncBatchFunction[A, B],
        timeout: Time,
        max_batch_size: int,
        batch_timeout: Time | None = None,
        capacity: int = 10,
        output_type: TypeInformation[R] | None = None,
        async_retry_strategy: AsyncRetryStrategy[C] | None = None,
    ) -> DataStream[R]:
        """Apply an asynchronous function to batches of elements, and emit results in the order of the elements.

        The arguments are those of `unordered_wait_batch`.
        """
        settings = BatchSettings(
            max_batch_size, batch_timeout, "rows", async_retry_strategy, capacity, timeout, ordered=True
        )
        return _wait_batch(data_stream, async_batch_function, settings, output_type)


def _wait_batch(
    stream: DataStream[T],
    function: AsyncBatchFunction[A, B],
    settings: BatchSettings,
    output_type: TypeInformation[R] | None,
) -> DataStream[R]:
    require(function, AsyncBatchFunction, "AsyncDataStream")
    return with_batches(values_of(stream), function, settings, output_type)


def _wait(
    stream: DataStream[Any],
    function: AsyncFunction[Any, Any],
    timeout: Time,
    retry_strategy: AsyncRetryStrategy[Any] | None,
    capacity: int,
    output_type: TypeInformation[Any] | None,
    ordered: bool,
) -> DataStream[Any]:
    require(function, AsyncFunction, "AsyncDataStream")
    require(timeout, Time, "AsyncDataStream")
    timeout_ms = timeout.to_milliseconds()
    if timeout_ms < 0 or (retry_strategy is not None and timeout_ms == 0):
        raise ValueError(f"timeout must be 0 ms or greater, with retries greater than 0; found {timeout}")
    if capacity <= 0:
        raise ValueError(f"capacity must be greater than 0, found {capacity}")
    stream = values_of(stream)
    operator = AsyncWaitOperator(function, timeout_ms, capacity, ordered, retry_strategy)
    return with_operator(stream, "async wait operator", operator, output_type)
