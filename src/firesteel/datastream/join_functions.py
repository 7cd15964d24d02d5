"""Functions over pairs of streams that are joined: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from firesteel.datastream.function_base import Function
from firesteel.datastream.output_tag import SideOutput

IN1 = TypeVar("IN1", contravariant=True)
IN2 = TypeVar("IN2", contravariant=True)
OUT = TypeVar("OUT", covariant=True)


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """One result per pair of elements with the same key and window (Flink: `api.common.functions.JoinFunction`)."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """The result for one element of each stream."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per pair of elements with the same key and window.

    Flink: `api.common.functions.FlatJoinFunction`. Differs in that results are returned or yielded, as everywhere here.
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """The results for one element of each stream."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per key and window, out of all elements of both streams.

    Flink: `api.common.functions.CoGroupFunction`. Differs in that results are returned or yielded.
    """

    @abstractmethod
    def co_group(self, first: list[IN1], second: list[IN2]) -> Iterable[OUT] | None:
        """The results; one of the lists may be empty, never both."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results and side outputs per pair that an interval join finds.

    Flink: `streaming.api.functions.co.ProcessJoinFunction`. Differs in that a side output is written by yielding
    `(OutputTag, value)`.
    """

    class Context(ABC):
        """What is known of the pair."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Event time of the left element (milliseconds)."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Event time of the right element (milliseconds)."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Event time of the results: the later of both."""

    @abstractmethod
    def process_element(
        self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """The results for the pair."""
