"""User functions and the contexts they get (module as `pyflink.datastream.functions`).

Functions that give several results return any iterable, yield, or return None for nothing. A side output is written by
yielding `(OutputTag, value)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava
from firesteel.datastream.async_functions import AsyncFunction
from firesteel.datastream.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from firesteel.datastream.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from firesteel.datastream.function_base import Function
from firesteel.datastream.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from firesteel.datastream.output_tag import SideOutput
from firesteel.datastream.runtime_context import KeyedStateStore, RuntimeContext
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.timerservice import TimerService
from firesteel.datastream.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]

IN = TypeVar("IN", contravariant=True)
IN1 = TypeVar("IN1", contravariant=True)
IN2 = TypeVar("IN2", contravariant=True)
OUT = TypeVar("OUT", covariant=True)
T = TypeVar("T")
KEY_OUT = TypeVar("KEY_OUT", covariant=True)
ACC = TypeVar("ACC")
KEY = TypeVar("KEY", contravariant=True)


class MapFunction(Function, Generic[IN, OUT]):
    """One result per element."""

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """The result."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Any number of results per element."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """The results."""


class FilterFunction(Function, Generic[IN]):
    """Keeps or drops elements."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Truthy keeps the element."""


class ReduceFunction(Function, Generic[T]):
    """Two values to one of the same type."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """The combination; `value1` is what came first."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Elements to a result by way of an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """An accumulator without elements."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """The accumulator with one more element."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """The result of what was accumulated."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Both accumulators in one."""


class KeySelector(Function, Generic[IN, KEY_OUT]):
    """The key of an element; must always be the same for equal elements."""

    @abstractmethod
    def get_key(self, value: IN) -> KEY_OUT:
        """The key."""


class NullByteKeySelector(KeySelector[Any, int]):
    """One key for all elements: what `window_all` keys by."""

    def get_key(self, value: Any) -> int:
        """Zero."""
        return 0


class Partitioner(Function):
    """The subtask that an element goes to."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """A number from 0 to `num_partitions - 1`."""


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """One result per element of two inputs."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT:
        """The result for the first input."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT:
        """The result for the second input."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results per element of two inputs."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """The results for the first input."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """The results for the second input."""


class _ProcessContext(ABC):
    @abstractmethod
    def timer_service(self) -> TimerService:
        """Timers and the present time."""

    @abstractmethod
    def timestamp(self) -> int:
        """Event time of the element, or time of the timer (milliseconds); -2**63 if the element has none.

        PyFlink's documentation says None there, but both of its modes give Java's least long.
        """


class _KeyedContext(_ProcessContext):
    @abstractmethod
    def get_current_key(self) -> Any:
        """Key of the element or timer."""


class ProcessFunction(Function, Generic[IN, OUT]):
    """Any number of results and side outputs per element, with access to time."""

    class Context(_ProcessContext, ABC):
        """What is known of the element; timers can't be registered here, as there is no key."""

    @abstractmethod
    def process_element(self, value: IN, ctx: ProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results."""


class KeyedProcessFunction(Function, Generic[KEY, IN, OUT]):
    """Any number of results and side outputs per element, with state and timers of its key."""

    class Context(_KeyedContext, ABC):
        """What is known of the element."""

    class OnTimerContext(Context, ABC):
        """What is known of the timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Kind of the timer."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[OUT | SideOutput] | None:
        """The results of a timer; none unless overridden."""
        return None


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Any number of results and side outputs per element of two inputs."""

    class Context(_ProcessContext, ABC):
        """What is known of the element; timers can't be registered here, as there is no key."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: CoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results for the first input."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: CoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results for the second input."""


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """Any number of results and side outputs per element of two keyed inputs, with state and timers of the key."""

    class Context(_KeyedContext, ABC):
        """What is known of the element."""

    class OnTimerContext(Context, ABC):
        """What is known of the timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Kind of the timer."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: KeyedCoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results for the first input."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: KeyedCoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """The results for the second input."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[OUT | SideOutput] | None:
        """The results of a timer; none unless overridden."""
        return None


class SourceFunction(WithoutJava, Function, Generic[OUT]):
    """A source written in Python, with parallelism 1: override `run` or give a function that returns an iterable.

    Example:
        >>> env.add_source(SourceFunction(lambda: range(10)), type_info=Types.INT())
    """

    _source_func: Callable[[], Iterable[Any]] | None = None

    def __init__(self, source_func: Callable[[], Iterable[OUT]] | None = None) -> None:
        self._source_func = _python_callable(source_func, "SourceFunction")

    def run(self) -> Iterable[OUT]:
        """The elements, in order; an endless iterable is an unbounded source."""
        if self._source_func is None:
            raise NotImplementedError(f"{type(self).__name__} must override run() or be given a function")
        return self._source_func()

    def cancel(self) -> None:
        """Called when the job is cancelled."""


class SinkFunction(WithoutJava, Function, Generic[IN]):
    """A sink written in Python: override `invoke` or give a function of one value.

    Example:
        >>> stream.add_sink(SinkFunction(lambda value: sent.append(value)))
    """

    _sink_func: Callable[[Any], Any] | None = None

    def __init__(self, sink_func: Callable[[IN], Any] | None = None) -> None:
        self._sink_func = _python_callable(sink_func, "SinkFunction")

    def invoke(self, value: IN) -> None:
        """Takes one element."""
        if self._sink_func is None:
            raise NotImplementedError(f"{type(self).__name__} must override invoke() or be given a function")
        self._sink_func(value)


def _python_callable(function: Any, kind: str) -> Any:
    if function is None or callable(function):
        return function
    raise NotImplementedError(f"{kind} of a Java class is not available; found {function!r}, give a Python function")
