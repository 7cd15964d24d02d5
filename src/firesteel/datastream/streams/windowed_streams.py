"""Windowed streams: re-exported by `firesteel.datastream.data_stream`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from firesteel.common.checks import require, require_one_result
from firesteel.common.java_objects import WithoutJava
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.streams.stream_base import StreamBase, check_function, type_or_pickled
from firesteel.datastream.window import MergingWindowAssigner, Trigger, Window, WindowAssigner
from firesteel.functions.operator_builder import add_operator, key_type_of, keyed_by_nothing, stream_of
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.user_functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from firesteel.graph.transformations import PythonOperatorKind

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W", bound=Window)
ACC = TypeVar("ACC")
V = TypeVar("V")
R = TypeVar("R")


class _Windowed(WithoutJava, Generic[T, W]):
    """The base class of keyed and non-keyed windowed streams."""

    _all_windows = False
    _functions: tuple[type, ...] = (WindowFunction, ProcessWindowFunction)

    def __init__(self, keyed_stream: StreamBase[T], window_assigner: WindowAssigner[Any, W]) -> None:
        require(window_assigner, WindowAssigner, "window()")
        self._keyed_stream = keyed_stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] = window_assigner.get_default_trigger(keyed_stream.get_execution_environment())
        self._allowed_lateness_ms = 0
        self._late_data_tag: OutputTag[Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the program."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation[T]:
        """Return the type of the elements."""
        return self._keyed_stream.get_type()

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger, which replaces the default one of the window assigner.

        Args:
            trigger: Decides when windows fire.

        Raises:
            ValueError: the assigner merges windows and the trigger does not support that.
            TypeError: `trigger` is not a `Trigger`.
        """
        require(trigger, Trigger, "trigger()")
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise ValueError(f"{self._assigner} merges windows, but {type(trigger).__name__} does not support that")
        self._trigger = trigger
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Set how long windows are kept after their end for late elements.

        Args:
            time_ms: Milliseconds, 0 or more (default 0).

        Raises:
            ValueError: `time_ms` is negative.
        """
        require(time_ms, int, "allowed_lateness(), in ms,")
        if time_ms < 0:
            raise ValueError(f"Allowed lateness must be 0 ms or greater, found {time_ms}")
        self._allowed_lateness_ms = time_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late elements to a side output instead of dropping them.

        Args:
            output_tag: Tag for `get_side_output` of the resulting stream; its type is that of the elements.

        Raises:
            TypeError: `output_tag` is not an `OutputTag`.

        Example:
            >>> late = OutputTag("late", Types.LONG())
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
            >>> numbers = env.from_collection([1, 25, 2], Types.LONG()).assign_timestamps_and_watermarks(timed)
            >>> keyed = numbers.key_by(lambda n: 0, Types.INT())
            >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
            >>> sums = windows.side_output_late_data(late).reduce(lambda a, b: a + b)
            >>> _ = sums.get_side_output(late).collect_async()
            >>> run_local(env, batch_elements=1).elements
            [2]
        """
        require(output_tag, OutputTag, "side_output_late_data()")
        self._late_data_tag = output_tag
        return self

    def _check_window_function(self, function: object, call: str) -> None:
        if function is not None:
            require(function, self._functions, call)

    def _window(
        self,
        aggregation: object,
        window_function: object,
        state_type: TypeInformation[Any] | None,
        output_type: TypeInformation[Any] | None,
    ) -> DataStream[Any]:
        operator = WindowOperator(
            self._assigner,
            self._trigger,
            self._allowed_lateness_ms,
            self._late_data_tag,
            aggregation,
            window_function,
            self._all_windows,
            key_type_of(self._keyed_stream),
            state_type,
        )
        functions = [type(f).__name__ for f in (aggregation, window_function) if f is not None]
        parts = ", ".join([repr(self._assigner), type(self._trigger).__name__, *functions])
        transformation = add_operator(
            self._keyed_stream,
            type(self._assigner).__name__,
            operator,
            output_type,
            kind=PythonOperatorKind.KEYED_PROCESS,
        )
        transformation.description = f"{'AllWindow' if self._all_windows else 'Window'}({parts})"
        return stream_of(self._keyed_stream, transformation)

    def _reduce(
        self, function: object, window_function: object, output_type: TypeInformation[Any] | None
    ) -> DataStream[Any]:
        check_function(function, ReduceFunction, "reduce", "reduce()")
        self._check_window_function(window_function, "reduce()")
        own_type = self.get_input_type()
        result_type = own_type if output_type is None and window_function is None else output_type
        return self._window(function, window_function, own_type, result_type)

    def _aggregate(
        self,
        function: object,
        window_function: object,
        accumulator_type: TypeInformation[Any] | None,
        output_type: TypeInformation[Any] | None,
    ) -> DataStream[Any]:
        require(function, AggregateFunction, "aggregate()")
        require_one_result(getattr(function, "get_result", None), "aggregate()", "a ProcessWindowFunction after it")
        self._check_window_function(window_function, "aggregate()")
        return self._window(function, window_function, type_or_pickled(accumulator_type), output_type)


class WindowedStream(_Windowed[T, W], Generic[T, K, W]):
    """A keyed stream whose elements are assigned to windows.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 3, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> keyed = numbers.key_by(lambda n: n % 2 == 0, Types.BOOLEAN())
        >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).allowed_lateness(5)
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> sorted(run_local(env).elements)
        [4, 4, 12]
    """

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: None = None,
        output_type: TypeInformation[T] | None = None,
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: WindowFunction[T, R, K, W] | ProcessWindowFunction[T, R, K, W],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: WindowFunction[T, Any, K, W] | ProcessWindowFunction[T, Any, K, W] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Reduce the elements of each window to one value, incrementally as they arrive.

        Args:
            reduce_function: Combines two values into one.
            window_function: Called with the reduced value when the window fires; None emits that value itself.
            output_type: Type of the results; None pickles them if there is a window function.
        """
        return self._reduce(reduce_function, window_function, output_type)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, R],
        window_function: None = None,
        accumulator_type: TypeInformation[ACC] | None = None,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, V],
        window_function: WindowFunction[V, R, K, W] | ProcessWindowFunction[V, R, K, W],
        accumulator_type: TypeInformation[ACC] | None = None,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, Any],
        window_function: WindowFunction[Any, Any, K, W] | ProcessWindowFunction[Any, Any, K, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Aggregate the elements of each window, incrementally as they arrive.

        Args:
            aggregate_function: Adds elements to an accumulator.
            window_function: Called with the aggregated value when the window fires; None emits that value itself.
            accumulator_type: Type of the accumulator; None pickles it.
            output_type: Type of the results; None pickles them.

        Example:
            >>> class Mean(AggregateFunction):
            ...     def create_accumulator(self):
            ...         return 0, 0
            ...     def add(self, value, accumulator):
            ...         return accumulator[0] + value, accumulator[1] + 1
            ...     def get_result(self, accumulator):
            ...         return accumulator[0] / accumulator[1]
            ...     def merge(self, acc_a, acc_b):
            ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
            >>> numbers = env.from_collection([2, 4, 5, 7], Types.INT())
            >>> windows = numbers.key_by(lambda n: 0, Types.INT()).count_window(2)
            >>> _ = windows.aggregate(Mean(), output_type=Types.DOUBLE()).collect_async()
            >>> run_local(env).elements
            [3.0, 6.0]
        """
        return self._aggregate(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: WindowFunction[T, R, K, W], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Apply a function to all elements of a window each time the window fires.

        Args:
            window_function: The function of key, window and elements.
            output_type: Type of the results; None pickles them.
        """
        require(window_function, WindowFunction, "apply()")
        return self._window(None, window_function, self.get_input_type(), output_type)

    def process(
        self,
        process_window_function: ProcessWindowFunction[T, R, K, W],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function with a context to all elements of a window each time the window fires.

        Args:
            process_window_function: The function of key, context and elements.
            output_type: Type of the results; None pickles them.
        """
        require(process_window_function, ProcessWindowFunction, "process()")
        return self._window(None, process_window_function, self.get_input_type(), output_type)


class AllWindowedStream(_Windowed[T, W]):
    """A stream whose elements are assigned to windows in a single subtask.

    `DataStream.window_all` returns it.

    Args:
        data_stream: The stream to divide into windows; its elements all go to one subtask.
        window_assigner: Assigns each element to windows; it also provides the trigger unless `trigger` sets another.

    Example:
        >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
        >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
        >>> windows = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
        >>> run_local(env).elements
        [5, 12]
    """

    _all_windows = True
    _functions = (AllWindowFunction, ProcessAllWindowFunction)

    def __init__(self, data_stream: DataStream[T], window_assigner: WindowAssigner[Any, W]) -> None:
        super().__init__(keyed_by_nothing(data_stream), window_assigner)

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: None = None,
        output_type: TypeInformation[T] | None = None,
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: AllWindowFunction[T, R, W] | ProcessAllWindowFunction[T, R, W],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: AllWindowFunction[T, Any, W] | ProcessAllWindowFunction[T, Any, W] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Reduce the elements of each window to one value, incrementally as they arrive.

        Args:
            reduce_function: Combines two values into one.
            window_function: Called with the reduced value when the window fires; None emits that value itself.
            output_type: Type of the results; None pickles them if there is a window function.
        """
        return self._reduce(reduce_function, window_function, output_type)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, R],
        window_function: None = None,
        accumulator_type: TypeInformation[ACC] | None = None,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, ACC, V],
        window_function: AllWindowFunction[V, R, W] | ProcessAllWindowFunction[V, R, W],
        accumulator_type: TypeInformation[ACC] | None = None,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, Any],
        window_function: AllWindowFunction[Any, Any, W] | ProcessAllWindowFunction[Any, Any, W] | None = None,
        accumulator_type: TypeInformation[Any] | None = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Aggregate the elements of each window, incrementally as they arrive.

        Args:
            aggregate_function: Adds elements to an accumulator.
            window_function: Called with the aggregated value when the window fires; None emits that value itself.
            accumulator_type: Type of the accumulator; None pickles it.
            output_type: Type of the results; None pickles them.
        """
        return self._aggregate(aggregate_function, window_function, accumulator_type, output_type)

    def apply(
        self, window_function: AllWindowFunction[T, R, W], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Apply a function to all elements of a window each time the window fires.

        Args:
            window_function: The function of window and elements.
            output_type: Type of the results; None pickles them.
        """
        require(window_function, AllWindowFunction, "apply()")
        return self._window(None, window_function, self.get_input_type(), output_type)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T, R, W],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function with a context to all elements of a window each time the window fires.

        Args:
            process_window_function: The function of context and elements.
            output_type: Type of the results; None pickles them.
        """
        require(process_window_function, ProcessAllWindowFunction, "process()")
        return self._window(None, process_window_function, self.get_input_type(), output_type)
