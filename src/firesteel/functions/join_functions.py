"""Functions for joins of two streams: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from firesteel.functions.function_base import Function
from firesteel.functions.output_tag import SideOutput

IN1 = TypeVar("IN1", contravariant=True)
IN2 = TypeVar("IN2", contravariant=True)
OUT = TypeVar("OUT", covariant=True)


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns one result per pair (Flink: `api.common.functions.JoinFunction`).

    Example:
        >>> class Pair(JoinFunction):
        ...     def join(self, first, second):
        ...         return first, second
        >>> Pair().join("order", "payment")
        ('order', 'payment')
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the result for an element of each stream.

        Args:
            first: An element of the stream on which `join` was called.
            second: An element of the other stream with the same key and window.
        """


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results per pair of elements with the same key and window.

    Flink: `api.common.functions.FlatJoinFunction`. Difference: the function returns or yields its results.

    Example:
        >>> class Matching(FlatJoinFunction):
        ...     def join(self, first, second):
        ...         if first != second:
        ...             yield first, second
        >>> list(Matching().join("order", "payment"))
        [('order', 'payment')]
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Return the results for an element of each stream.

        Args:
            first: An element of the stream on which `join` was called.
            second: An element of the other stream with the same key and window.

        Returns:
            An iterable of results; None is the same as no results.
        """


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results for all elements with the same key and window.

    Flink: `api.common.functions.CoGroupFunction`. Difference: the function returns or yields its results.

    Example:
        >>> class Unpaid(CoGroupFunction):
        ...     def co_group(self, first, second):
        ...         return [] if second else first
        >>> Unpaid().co_group(["order 1", "order 2"], [])
        ['order 1', 'order 2']
    """

    @abstractmethod
    def co_group(self, first: list[IN1], second: list[IN2]) -> Iterable[OUT] | None:
        """Return the results for the elements of both streams; one of the lists may be empty, but not both.

        Args:
            first: The elements of the first stream with the same key and window; may be empty.
            second: Those of the second stream; may be empty.
        """


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results and side outputs per pair of an interval join.

    Flink: `streaming.api.functions.co.ProcessJoinFunction`. Difference: the function writes a side output by yielding
    `(OutputTag, value)`.

    Example:
        >>> class Delay(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """The context of a pair."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the timestamp of the left element in ms since the epoch."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the timestamp of the right element in ms since the epoch."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the timestamp of the results in ms since the epoch: the later timestamp of the pair."""

    @abstractmethod
    def process_element(
        self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for a pair.

        Args:
            left: An element of the left stream.
            right: An element of the right stream within the interval.
            ctx: Access to the timestamps of both.
        """
