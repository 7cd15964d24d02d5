"""User functions and their contexts (module as `pyflink.datastream.functions`).

A function with several results returns any iterable, is a generator, or returns None for no results. It writes a side
output by yielding `(OutputTag, value)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava
from firesteel.functions.async_functions import AsyncFunction
from firesteel.functions.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from firesteel.functions.batch_functions import AsyncBatchFunction, MapBatchFunction
from firesteel.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from firesteel.functions.function_base import Function
from firesteel.functions.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from firesteel.functions.output_tag import SideOutput
from firesteel.functions.runtime_context import KeyedStateStore, RuntimeContext
from firesteel.functions.time_domain import TimeDomain
from firesteel.functions.timerservice import TimerService
from firesteel.functions.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncBatchFunction",
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
    "MapBatchFunction",
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
    """A function that returns one result per element.

    Example:
        >>> class Length(MapFunction):
        ...     def map(self, value):
        ...         return len(value)
        >>> _ = env.from_collection(["to", "question"], Types.STRING()).map(Length(), Types.INT()).collect_async()
        >>> run_local(env).elements
        [2, 8]
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return the result for an element.

        Args:
            value: The element; with object reuse, do not keep or change it.

        Returns:
            The result, of the declared output type; one per call.
        """


class FlatMapFunction(Function, Generic[IN, OUT]):
    """A function that returns any number of results per element.

    Example:
        >>> class Words(FlatMapFunction):
        ...     def flat_map(self, value):
        ...         yield from value.split()
        >>> lines = env.from_collection(["to be", "or not"], Types.STRING())
        >>> _ = lines.flat_map(Words(), Types.STRING()).collect_async()
        >>> run_local(env).elements
        ['to', 'be', 'or', 'not']
    """

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Return the results for an element.

        Args:
            value: The element; results are returned as an iterable, or None for none.
        """


class FilterFunction(Function, Generic[IN]):
    """A predicate that keeps or drops elements.

    Example:
        >>> class Even(FilterFunction):
        ...     def filter(self, value):
        ...         return value % 2 == 0
        >>> _ = env.from_collection([1, 2, 3, 4], Types.INT()).filter(Even()).collect_async()
        >>> run_local(env).elements
        [2, 4]
    """

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Return a truthy value to keep the element.

        Args:
            value: The element; do not change it, as it is passed on.
        """


class ReduceFunction(Function, Generic[T]):
    """A function that combines two values into one of the same type.

    Example:
        >>> class Sum(ReduceFunction):
        ...     def reduce(self, value1, value2):
        ...         return value1 + value2
        >>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
        >>> _ = numbers.key_by(lambda n: n % 2, Types.INT()).reduce(Sum()).collect_async()
        >>> run_local(env).elements
        [1, 2, 4, 6]
    """

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of both values; `value1` is the earlier one.

        Args:
            value1: The reduced value of the former elements.
            value2: The next element.

        Returns:
            The combination; None is no value, so that the next element begins anew and a window does not fire.
        """


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """A function that adds elements to an accumulator and computes a result from it.

    Example:
        >>> class Average(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0, 0
        ...
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + value, accumulator[1] + 1
        ...
        ...     def get_result(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return an empty accumulator."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with one more element.

        Args:
            value: The element to add.
            accumulator: The present accumulator, which may be changed.

        Returns:
            The new accumulator; None is no value, so that the next element gets a new one.
        """

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result computed from an accumulator.

        Args:
            accumulator: The accumulator, which must not be changed.

        Returns:
            The result; a window whose result is None does not fire.
        """

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return both accumulators merged into one.

        Args:
            acc_a: An accumulator, which may be changed and returned.
            acc_b: The accumulator to merge into it.
        """


class KeySelector(Function, Generic[IN, KEY_OUT]):
    """A function that returns the key of an element; equal elements must always have the same key.

    Example:
        >>> class FirstLetter(KeySelector):
        ...     def get_key(self, value):
        ...         return value[0]
        >>> words = env.from_collection(["to", "be", "the"], Types.STRING())
        >>> _ = words.key_by(FirstLetter(), Types.STRING()).reduce(lambda a, b: a + " " + b).collect_async()
        >>> run_local(env).elements
        ['to', 'be', 'to the']
    """

    @abstractmethod
    def get_key(self, value: IN) -> KEY_OUT:
        """Return the key of an element.

        Args:
            value: The element. Equal elements must have equal keys, also in other processes.
        """


class NullByteKeySelector(KeySelector[Any, int]):
    """A key selector that gives all elements the same key; `window_all` uses it.

    Example:
        >>> NullByteKeySelector().get_key("any element")
        0
    """

    def get_key(self, value: object) -> int:
        """Return 0."""
        return 0


class Partitioner(Function):
    """A function that chooses the subtask for a key.

    Example:
        >>> class ByRest(Partitioner):
        ...     def partition(self, key, num_partitions):
        ...         return key % num_partitions
        >>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
        >>> spread = numbers.partition_custom(ByRest(), lambda n: n)
    """

    @abstractmethod
    def partition(self, key: object, num_partitions: int) -> int:
        """Return the index of the subtask for a key, from 0 to `num_partitions - 1`.

        Args:
            key: The key of the element.
            num_partitions: Number of subtasks of the receiving operator.

        Returns:
            The index of the receiving subtask, from 0 to `num_partitions` - 1.
        """


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns one result per element of two inputs.

    Example:
        >>> class Text(CoMapFunction):
        ...     def map1(self, value):
        ...         return f"number {value}"
        ...     def map2(self, value):
        ...         return f"word {value}"
        >>> numbers, words = env.from_collection([1], Types.INT()), env.from_collection(["to"], Types.STRING())
        >>> _ = numbers.connect(words).map(Text(), Types.STRING()).collect_async()
        >>> sorted(run_local(env).elements)
        ['number 1', 'word to']
    """

    @abstractmethod
    def map1(self, value: IN1) -> OUT:
        """Return the result for an element of the first input.

        Args:
            value: The element.

        Returns:
            The result, of the same type as that of `map2`.
        """

    @abstractmethod
    def map2(self, value: IN2) -> OUT:
        """Return the result for an element of the second input.

        Args:
            value: The element.

        Returns:
            The result, of the same type as that of `map1`.
        """


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results per element of two inputs.

    Example:
        >>> class Letters(CoFlatMapFunction):
        ...     def flat_map1(self, value):
        ...         return []
        ...     def flat_map2(self, value):
        ...         return list(value)
        >>> numbers, words = env.from_collection([1], Types.INT()), env.from_collection(["to"], Types.STRING())
        >>> _ = numbers.connect(words).flat_map(Letters(), Types.STRING()).collect_async()
        >>> run_local(env).elements
        ['t', 'o']
    """

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Return the results for an element of the first input.

        Args:
            value: The element; results are returned as an iterable, or None for none.
        """

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Return the results for an element of the second input.

        Args:
            value: The element; results are returned as an iterable, or None for none.
        """


class _ProcessContext(ABC):
    @abstractmethod
    def timer_service(self) -> TimerService:
        """Return the timer service, which also gives the current time."""

    @abstractmethod
    def timestamp(self) -> int:
        """Return the timestamp of the element or timer in ms since the epoch, or -2**63 if the element has none.

        PyFlink's documentation says None there, but both of its execution modes return Java's `Long.MIN_VALUE`.
        """


class _KeyedContext(_ProcessContext):
    @abstractmethod
    def get_current_key(self) -> Any:
        """Return the key of the element or timer."""


class ProcessFunction(Function, Generic[IN, OUT]):
    """A function that returns any number of results and side outputs per element and has access to time.

    Example:
        >>> late = OutputTag("late", Types.STRING())
        >>> class SplitLate(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if ctx.timestamp() < ctx.timer_service().current_watermark():
        ...             yield late, value
        ...         else:
        ...             yield value
    """

    class Context(_ProcessContext, ABC):
        """The context of an element; it cannot register timers, as there is no key."""

    @abstractmethod
    def process_element(self, value: IN, ctx: ProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element.

        Args:
            value: The element.
            ctx: Access to its timestamp and to time.

        Returns:
            The results; `(OutputTag, value)` goes to a side output. None means no results.
        """


class KeyedProcessFunction(Function, Generic[KEY, IN, OUT]):
    """A function that returns any number of results and side outputs per element and uses keyed state and timers.

    Example:
        >>> class Count(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        ...
        ...     def process_element(self, value, ctx):
        ...         count = (self.count.value() or 0) + 1
        ...         self.count.update(count)
        ...         yield ctx.get_current_key(), count
    """

    class Context(_KeyedContext, ABC):
        """The context of an element."""

    class OnTimerContext(Context, ABC):
        """The context of a timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element.

        Args:
            value: The element.
            ctx: Access to its key and timestamp, to time and to timers.

        Returns:
            The results; `(OutputTag, value)` goes to a side output. None means no results.
        """

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[OUT | SideOutput] | None:
        """Return the results for a timer that fires at `timestamp` (ms since the epoch); by default there are none.

        Args:
            timestamp: The time for which the timer was registered, in ms since the epoch.
            ctx: Access to the key and the time domain of the timer.
        """
        return None


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results and side outputs per element of two inputs.

    Example:
        >>> class Text(CoProcessFunction):
        ...     def process_element1(self, value, ctx):
        ...         yield f"number {value}"
        ...     def process_element2(self, value, ctx):
        ...         yield f"word {value}"
        >>> numbers, words = env.from_collection([1], Types.INT()), env.from_collection(["to"], Types.STRING())
        >>> _ = numbers.connect(words).process(Text(), Types.STRING()).collect_async()
        >>> sorted(run_local(env).elements)
        ['number 1', 'word to']
    """

    class Context(_ProcessContext, ABC):
        """The context of an element; it cannot register timers, as there is no key."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: CoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the first input.

        Args:
            value: An element of the first stream.
            ctx: Access to its timestamp and to time.
        """

    @abstractmethod
    def process_element2(self, value: IN2, ctx: CoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the second input.

        Args:
            value: An element of the second stream.
            ctx: Access to its timestamp and to time.
        """


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """A function that returns any number of results per element of two keyed inputs and uses keyed state and timers.

    Example:
        >>> class WithName(KeyedCoProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        ...     def process_element1(self, value, ctx):
        ...         self.name.update(value[1])
        ...     def process_element2(self, value, ctx):
        ...         yield self.name.value(), value[1]
        >>> users = env.from_collection([(7, "Ann")], Types.TUPLE([Types.INT(), Types.STRING()]))
        >>> orders = env.from_collection([(7, 30)], Types.TUPLE([Types.INT(), Types.INT()]))
        >>> both = users.connect(orders).key_by(lambda user: user[0], lambda order: order[0], Types.INT())
        >>> _ = both.process(WithName(), Types.TUPLE([Types.STRING(), Types.INT()])).collect_async()
        >>> run_local(env).elements
        [('Ann', 30)]
    """

    class Context(_KeyedContext, ABC):
        """The context of an element."""

    class OnTimerContext(Context, ABC):
        """The context of a timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: KeyedCoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the first input.

        Args:
            value: An element of the first stream.
            ctx: Access to its key and timestamp, to time and to timers.
        """

    @abstractmethod
    def process_element2(self, value: IN2, ctx: KeyedCoProcessFunction.Context) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the second input.

        Args:
            value: An element of the second stream.
            ctx: Access to its key and timestamp, to time and to timers.
        """

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[OUT | SideOutput] | None:
        """Return the results for a timer that fires at `timestamp` (ms since the epoch); by default there are none.

        Args:
            timestamp: The time for which the timer was registered, in ms since the epoch.
            ctx: Access to the key and the time domain of the timer.
        """
        return None


class SourceFunction(WithoutJava, Function, Generic[OUT]):
    """A source written in Python, with parallelism 1: override `run` or pass a function that returns an iterable.

    A program can be built with one, but not run: derive from `firesteel.datastream.connectors.base.Source` instead.

    Args:
        source_func: Called without arguments, returns the elements; None if a subclass overrides `run`.

    Raises:
        NotImplementedError: the argument is not callable, such as the name of a Java class.

    Example:
        >>> numbers = env.add_source(SourceFunction(lambda: range(3)), type_info=Types.INT())
        >>> _ = numbers.print()
        >>> run_local(env)
        Traceback (most recent call last):
            ...
        NotImplementedError: add_source() with a Python SourceFunction is not supported: use from_source() with ...
    """

    _source_func: Callable[[], Iterable[Any]] | None = None

    def __init__(self, source_func: Callable[[], Iterable[OUT]] | None = None) -> None:
        self._source_func = _python_callable(source_func, "SourceFunction")

    def run(self) -> Iterable[OUT]:
        """Return the elements in order; an infinite iterable makes an unbounded source."""
        if self._source_func is None:
            raise NotImplementedError(f"{type(self).__name__} must override run(), or pass a function")
        return self._source_func()

    def cancel(self) -> None:
        """Handle the cancellation of the job; does nothing by default."""


class SinkFunction(WithoutJava, Function, Generic[IN]):
    """A sink written in Python: override `invoke` or pass a function of one value.

    Args:
        sink_func: Called with each element; None if a subclass overrides `invoke`.

    Raises:
        NotImplementedError: the argument is not callable, such as the name of a Java class.

    Example:
        >>> words = env.from_collection(["to", "be"], Types.STRING())
        >>> _ = words.add_sink(SinkFunction(lambda word: print("sent", word)))
        >>> _ = run_local(env)
        sent to
        sent be
    """

    _sink_func: Callable[[Any], Any] | None = None

    def __init__(self, sink_func: Callable[[IN], Any] | None = None) -> None:
        self._sink_func = _python_callable(sink_func, "SinkFunction")

    def invoke(self, value: IN) -> None:
        """Write one element.

        Args:
            value: The element; after a failure it may be written again.
        """
        if self._sink_func is None:
            raise NotImplementedError(f"{type(self).__name__} must override invoke(), or pass a function")
        self._sink_func(value)


def _python_callable(function: object, kind: str) -> Any:
    if function is None or callable(function):
        return function
    raise NotImplementedError(f"{kind} takes a Python function, Java classes are not supported; found {function!r}")
