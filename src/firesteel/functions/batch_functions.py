"""Functions of batches of elements: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Generic, TypeVar

from firesteel.functions.function_base import Function

__all__ = ["AsyncBatchFunction", "BatchFormat", "MapBatchFunction"]

IN = TypeVar("IN", contravariant=True)
OUT = TypeVar("OUT", covariant=True)


class BatchFormat(Enum):
    """What a function of batches gets and returns."""

    ROWS = "rows"
    """A list of elements."""
    ARROW = "arrow"
    """A `pyarrow.Table`, and a table, record batch or array."""
    PANDAS = "pandas"
    """A `pandas.DataFrame`, and a data frame or series."""
    POLARS = "polars"
    """A `polars.DataFrame`, and a data frame or series."""


class MapBatchFunction(Function, Generic[IN, OUT]):
    """A function that maps a batch of elements at once, such as a model; `open` loads it once per subtask.

    Example:
        >>> class Ranks(MapBatchFunction):
        ...     def map_batch(self, batch):
        ...         return [f"{value} of {max(batch)}" for value in batch]
        >>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
        >>> _ = numbers.map_batches(Ranks(), 2, output_type=Types.STRING()).collect_async()
        >>> run_local(env).elements
        ['1 of 2', '2 of 2', '3 of 4', '4 of 4']
    """

    @abstractmethod
    def map_batch(self, batch: IN) -> OUT:
        """Return the results for a batch, one for each element, in order.

        Args:
            batch: The elements in the format of the call: a list, or a table of another library.
        """


class AsyncBatchFunction(Function, Generic[IN, OUT]):
    """A function that calls an external service for a batch of elements, without blocking other batches.

    The name is that of a proposal for Flink (`AsyncBatchFunction` of FLINK-38825), where it returns results of any
    number; here it returns one result for each element, so that results keep the event times of their elements.

    Example:
        >>> class Score(AsyncBatchFunction):
        ...     async def async_invoke_batch(self, batch):
        ...         return [len(text) for text in batch]
        >>> texts = env.from_collection(["to", "question"], Types.STRING())
        >>> scores = AsyncDataStream.ordered_wait_batch(texts, Score(), Time.seconds(5), 32, output_type=Types.INT())
        >>> _ = scores.collect_async()
        >>> run_local(env).elements
        [2, 8]
    """

    @abstractmethod
    async def async_invoke_batch(self, batch: IN) -> OUT:
        """Return the results for a batch, one for each element, in order.

        An exception fails the job, or causes a retry of the batch if a retry strategy is set.
        """

    def timeout(self, batch: IN) -> OUT:
        """Return the results for a batch whose call, including all retries, took too long.

        Raises:
            TimeoutError: always, unless overridden.
        """
        raise TimeoutError("the call of an AsyncBatchFunction has timed out")
