"""Asynchronous functions on streams (module as `pyflink.datastream.async_data_stream`)."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.common.checks import require
from firesteel.common.time import Time
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream
from firesteel.functions.operator_builder import values_of, with_operator
from firesteel.functions.operator_descriptors import AsyncWaitOperator
from firesteel.functions.user_functions import AsyncFunction, AsyncRetryStrategy

__all__ = ["AsyncDataStream"]


T = TypeVar("T")
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
        return _wait(data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=True)


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
    timeout_ms = timeout.to_milliseconds()
    if timeout_ms < 0 or (retry_strategy is not None and timeout_ms == 0):
        raise ValueError(f"timeout must be 0 ms or greater, with retries greater than 0; found {timeout}")
    if capacity <= 0:
        raise ValueError(f"capacity must be greater than 0, found {capacity}")
    stream = values_of(stream)
    operator = AsyncWaitOperator(function, timeout_ms, capacity, ordered, retry_strategy)
    return with_operator(stream, "async wait operator", operator, output_type)
