"""Asynchronous calls per element (module as `pyflink.datastream.async_data_stream`)."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.common.time import Time
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.functions import AsyncFunction, AsyncRetryStrategy
from firesteel.datastream.operator_descriptors import AsyncWaitOperator
from firesteel.datastream.stream_base import require

__all__ = ["AsyncDataStream"]


T = TypeVar("T")
R = TypeVar("R")


class AsyncDataStream:
    """Adds asynchronous functions to streams.

    Example:
        >>> AsyncDataStream.unordered_wait(stream, LookUp(), Time.seconds(5), 100, Types.STRING())
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Results as they come; watermarks are not overtaken. At most `capacity` calls run at once."""
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
        """As `unordered_wait`; calls are tried again within `timeout`."""
        return _wait(data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, ordered=False)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Results in the order of the elements. At most `capacity` calls run at once."""
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
        """As `ordered_wait`; calls are tried again within `timeout`."""
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
    stream = stream._values()
    operator = AsyncWaitOperator(function, timeout_ms, capacity, ordered, retry_strategy)
    return stream._new_stream(stream._operator("async wait operator", operator, output_type))
