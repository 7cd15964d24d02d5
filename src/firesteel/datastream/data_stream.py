"""Streams and their operations (module as `pyflink.datastream.data_stream`)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from firesteel.common.checks import require
from firesteel.common.notebook_table import NotebookTable, ShownAsTable
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.datastream.streams.connected_streams import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from firesteel.datastream.streams.element_operators import ElementOperators
from firesteel.datastream.streams.interval_join import IntervalJoin
from firesteel.datastream.streams.joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream.streams.keyed_operators import KeyedOperators
from firesteel.datastream.streams.refused_methods import refuse
from firesteel.datastream.streams.stream_base import DataStreamSink, check_function, type_or_pickled
from firesteel.datastream.streams.stream_partitioning import StreamPartitioning
from firesteel.datastream.streams.stream_sinks import StreamSinks
from firesteel.datastream.streams.user_location import user_location
from firesteel.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream
from firesteel.datastream.window import Window, WindowAssigner
from firesteel.errors import InvalidProgramError
from firesteel.functions import operator_descriptors as op
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.operator_builder import (
    add_partitioner,
    next_id,
    stream_of,
    transformation_of,
    transformations_of,
    values_of,
)
from firesteel.functions.state import MapStateDescriptor
from firesteel.functions.user_functions import KeyedProcessFunction, KeySelector, NullByteKeySelector, ProcessFunction
from firesteel.graph.partitioner import BROADCAST, HASH
from firesteel.graph.transformations import (
    CacheTransformation,
    KeyByTransformation,
    OperatorTransformation,
    PythonOperatorKind,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "JoinedStreams",
    "KeyedStream",
    "WindowedStream",
]

T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
S = TypeVar("S")
W = TypeVar("W", bound=Window)


_OF_KEYS = ("count_window", "interval_join", "max", "max_by", "min", "min_by", "reduce", "sum", "window")
_OF_WINDOWS = ("aggregate", "allowed_lateness", "apply", "side_output_late_data", "trigger")


class DataStream(ElementOperators[T], StreamPartitioning[T], StreamSinks[T], ShownAsTable):
    """A stream of elements of one type.

    Example:
        >>> numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
        >>> _ = numbers.map(lambda n: n * n, output_type=Types.INT()).filter(lambda n: n > 1).print()
        >>> run_local(env).lines
        ['4', '9']
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(_OF_KEYS, "call key_by() first"),
        **dict.fromkeys(_OF_WINDOWS, "call key_by() and window() first"),
    }

    def _new_stream(self, transformation: Transformation) -> DataStream[Any]:
        return DataStream(self._environment, transformation)

    def _values(self) -> DataStream[T]:
        return self

    def _notebook_table(self) -> NotebookTable:
        facts = [("name", self._transformation.name), ("type", self.get_type())]
        return NotebookTable(["DataStream", ""], facts, "Not executed: execute_and_collect(), or print() and execute()")

    def get_name(self) -> str:
        """Return the name of the operator."""
        return self._setting("get_name()").name

    def force_non_parallel(self) -> Self:
        """Fix parallelism and maximum parallelism of the operator at 1."""
        transformation = self._setting("force_non_parallel()")
        self.set_parallelism(1)
        transformation.max_parallelism = 1
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set the maximum time that output of this operator waits in a buffer before it is sent.

        Args:
            timeout_millis: Milliseconds; 0 sends every record at once, -1 uses the timeout of the environment.

        Raises:
            ValueError: `timeout_millis` is less than -1.
        """
        transformation = self._setting("set_buffer_timeout()", timeout_millis, kinds=int)
        if timeout_millis < -1:
            raise ValueError(f"Buffer timeout must be 0 ms or greater, or -1; found {timeout_millis}")
        transformation.buffer_timeout = timeout_millis
        return self

    def start_new_chain(self) -> Self:
        """Start a new operator chain with this operator."""
        self._setting("start_new_chain()").chaining_strategy = "HEAD"
        return self

    def process(self, func: ProcessFunction[T, R], output_type: TypeInformation[R] | None = None) -> DataStream[R]:
        """Apply a function that returns any number of results per element and may write side outputs.

        Args:
            func: The process function.
            output_type: Type of the results; None pickles them.

        Example:
            >>> class WithTime(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield value, ctx.timestamp()
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n * 1000)
            >>> numbers = env.from_collection([1, 2], Types.INT()).assign_timestamps_and_watermarks(timed)
            >>> _ = numbers.process(WithTime()).collect_async()
            >>> run_local(env).elements
            [(1, 1000), (2, 2000)]
        """
        require(func, ProcessFunction, "process()")
        return self._new_stream(self._operator("PROCESS", op.ProcessOperator(func), output_type))

    # --- several streams ---------------------------------------------------------------------------------------------

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Return a stream of all elements of this stream and the given ones.

        Args:
            streams: Streams of elements of the same type.

        Raises:
            InvalidProgramError: the streams have different types.

        Example:
            >>> left, right = env.from_collection([1, 2], Types.INT()), env.from_collection([3], Types.INT())
            >>> _ = left.union(right).collect_async()
            >>> sorted(run_local(env).elements)
            [1, 2, 3]
        """
        for stream in streams:
            require(stream, DataStream, "union()")
        inputs = [values_of(stream) for stream in (self, *streams)]
        for stream in inputs[1:]:
            if stream.get_type() != self.get_type():
                raise InvalidProgramError(
                    f"Cannot union streams of different types: {self.get_type()!r} and {stream.get_type()!r}"
                )
        union = UnionTransformation(
            id=next_id(self._environment),
            name="Union",
            inputs=[transformation_of(stream) for stream in inputs],
            parallelism=transformation_of(inputs[0]).parallelism,
            output_type=self.get_type(),
            user_location=user_location(),
        )
        return stream_of(inputs[0], union)

    def join(self, other_stream: DataStream[S]) -> JoinedStreams[T, S]:
        """Join two streams: pair the elements of both that have the same key and window.

        Flink: `DataStream.join` (Java only).

        Args:
            other_stream: The stream whose elements become the second argument of the join function.

        Example:
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
            >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
            >>> orders = env.from_collection([("a", 1000), ("b", 2000)], pair).assign_timestamps_and_watermarks(timed)
            >>> payments = env.from_collection([("a", 3000)], pair).assign_timestamps_and_watermarks(timed)
            >>> paid = orders.join(payments).where(lambda order: order[0]).equal_to(lambda payment: payment[0])
            >>> windows = paid.window(TumblingEventTimeWindows.of(Time.minutes(5)))
            >>> _ = windows.apply(lambda order, payment: (order[0], payment[1] - order[1])).collect_async()
            >>> run_local(env).elements
            [('a', 2000)]
        """
        require(other_stream, DataStream, "join()")
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[S]) -> CoGroupedStreams[T, S]:
        """Co-group two streams: collect the elements of both that have the same key and window into two lists.

        Flink: `DataStream.coGroup` (Java only).

        Args:
            other_stream: The stream whose elements become the second list.

        Example:
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
            >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
            >>> orders = env.from_collection([("a", 1000), ("b", 2000)], pair).assign_timestamps_and_watermarks(timed)
            >>> payments = env.from_collection([("a", 3000)], pair).assign_timestamps_and_watermarks(timed)
            >>> sides = orders.co_group(payments).where(lambda order: order[0]).equal_to(lambda payment: payment[0])
            >>> windows = sides.window(TumblingEventTimeWindows.of(Time.minutes(5)))
            >>> _ = windows.apply(lambda orders, payments: [] if list(payments) else orders).collect_async()
            >>> run_local(env).elements
            [('b', 2000)]
        """
        require(other_stream, DataStream, "co_group()")
        return CoGroupedStreams(self, other_stream)

    @overload
    def connect(self, ds: BroadcastStream[S]) -> BroadcastConnectedStream[T, S]: ...

    @overload
    def connect(self, ds: DataStream[S]) -> ConnectedStreams[T, S]: ...

    def connect(self, ds: Any) -> Any:
        """Connect this stream with a second one, which may be a broadcast stream, as the inputs of one operator.

        Args:
            ds: A stream of elements of any type, or the result of `broadcast` with state descriptors.

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
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        require(ds, DataStream, "connect()")
        return ConnectedStreams(self, ds)

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any],
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any] | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> DataStream[T] | BroadcastStream[T]:
        """Send every element to every subtask; with state descriptors, return a `BroadcastStream` to connect to.

        Args:
            broadcast_state_descriptor: The first map state of the broadcast; None returns a plain stream.
            other_broadcast_state_descriptors: More map states.

        Raises:
            ValueError: states have the same name.
        """
        stream = self._new_stream(self._partition(BROADCAST))
        if broadcast_state_descriptor is None:
            return stream
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            require(descriptor, MapStateDescriptor, "broadcast()")
        names = [descriptor.name for descriptor in descriptors]
        if len(set(names)) < len(names):
            raise ValueError(f"broadcast() takes states of different names, found {', '.join(map(repr, names))}")
        return BroadcastStream(stream, descriptors)

    # --- keys and windows --------------------------------------------------------------------------------------------

    def key_by(
        self, key_selector: KeySelector[T, K] | Callable[[T], K], key_type: TypeInformation[K] | None = None
    ) -> KeyedStream[T, K]:
        """Partition the stream by key: elements with equal keys go to the same subtask and share keyed state.

        Args:
            key_selector: A `KeySelector` or a function that returns the key of an element.
            key_type: Type of the keys; None pickles them.

        Example:
            >>> words = env.from_collection(["to", "be", "to"], Types.STRING())
            >>> pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
            >>> by_word = pairs.key_by(lambda pair: pair[0], Types.STRING())
            >>> _ = by_word.reduce(lambda a, b: (a[0], a[1] + b[1])).collect_async()
            >>> run_local(env).elements
            [('to', 1), ('be', 1), ('to', 2)]
        """
        check_function(key_selector, KeySelector, "get_key", "key_by()")
        checked_type = type_or_pickled(key_type)
        transformation = self._operator(
            "_stream_key_by_map_operator",
            op.KeyByOperator(key_selector, checked_type),
            Types.ROW([checked_type, self.get_type()]),
            cls=KeyByTransformation,
        )
        hidden = self._new_stream(transformation)
        return KeyedStream(self._environment, add_partitioner(hidden, HASH), self.get_type(), self, checked_type)

    def _keyed_by_elements(self, key_type: TypeInformation[Any]) -> KeyedStream[T, Any]:
        """Return a keyed stream of this stream, whose elements are `(key, value)` pairs already."""
        return KeyedStream(self._environment, self._partition(HASH), self.get_type(), self, key_type)

    def _key_by_nothing(self) -> KeyedStream[T, int]:
        return self.key_by(NullByteKeySelector(), Types.BYTE())

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Assign the elements of the whole stream to windows, in a single subtask.

        Args:
            window_assigner: Assigns each element to its windows, for example `TumblingEventTimeWindows`.

        Example:
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
            >>> numbers = env.from_collection([1, 4, 12], Types.LONG()).assign_timestamps_and_watermarks(timed)
            >>> windows = numbers.window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
            >>> _ = windows.reduce(lambda a, b: a + b).collect_async()
            >>> run_local(env).elements
            [5, 12]
        """
        return AllWindowedStream(self, window_assigner)

    def cache(self) -> CachedDataStream[T]:
        """Cache the elements for later jobs of this environment (batch jobs only).

        Raises:
            InvalidProgramError: the stream is neither the output of an operator nor a side output.
        """
        if not isinstance(self._transformation, (OperatorTransformation, SideOutputTransformation)):
            raise InvalidProgramError(
                "Cache can only be called with physical transformation or side output transformation"
            )
        transformation = CacheTransformation(
            id=next_id(self._environment),
            name="CacheWrite",
            inputs=[self._transformation],
            parallelism=self._transformation.parallelism,
            output_type=self.get_type(),
            operator=op.CacheWriteOperator(),
            user_location=user_location(),
            data_set_id=uuid.uuid4().hex,
        )
        transformations_of(self._environment).append(transformation)
        return CachedDataStream(self._environment, transformation)


class CachedDataStream(DataStream[T]):
    """A stream whose elements are cached for later jobs.

    Example:
        >>> _ = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        >>> numbers = env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n * n, Types.INT()).cache()
        >>> _ = numbers.map(lambda n: n * 10, Types.INT()).collect_async()
        >>> run_local(env).elements
        [10, 40, 90]
    """

    def cache(self) -> CachedDataStream[T]:
        """Return this stream, which is cached already."""
        return self

    def invalidate(self) -> None:
        """Raise an error: later jobs do not read cached results yet, so there is nothing to invalidate.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("CachedDataStream.invalidate: results kept by cache() are not read by later jobs yet")


class KeyedStream(DataStream[T], KeyedOperators[T, K], Generic[T, K]):
    """A stream partitioned by key; its operators have keyed state and timers.

    `DataStream.key_by` returns it.
    """

    _is_keyed = True

    class AccumulateType(Enum):
        """The rolling aggregates."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self,
        environment: Any,
        transformation: Transformation,
        original_data_type_info: TypeInformation[T],
        origin_stream: DataStream[T],
        key_type: TypeInformation[K],
    ) -> None:
        super().__init__(environment, transformation)
        self._original_data_type_info = original_data_type_info
        self._origin_stream = origin_stream
        self._key_type = key_type

    def get_type(self) -> TypeInformation[T]:
        """Return the type of the elements, without the key."""
        return self._original_data_type_info

    def _values(self) -> DataStream[T]:
        return self._take_values(self.get_type())

    def _element_operator(
        self, name: str, operator: object, output_type: TypeInformation[Any] | None
    ) -> OperatorTransformation:
        return self._operator(name, operator, output_type, kind=PythonOperatorKind.KEYED_PROCESS)

    def process(  # type: ignore[override]  # another kind of function, as in Flink
        self, func: KeyedProcessFunction[K, T, R], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Apply a function that returns any number of results per element and uses keyed state and timers.

        Args:
            func: The process function.
            output_type: Type of the results; None pickles them.

        Example:
            >>> class Count(KeyedProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
            ...     def process_element(self, value, ctx):
            ...         self.count.update((self.count.value() or 0) + 1)
            ...         yield ctx.get_current_key(), self.count.value()
            >>> words = env.from_collection(["to", "be", "to"], Types.STRING())
            >>> _ = words.key_by(lambda word: word, Types.STRING()).process(Count()).collect_async()
            >>> run_local(env).elements
            [('to', 1), ('be', 1), ('to', 2)]
        """
        require(func, KeyedProcessFunction, "process() of a KeyedStream")
        operator = op.KeyedProcessOperator(func, self._key_type)
        return self._new_stream(self._element_operator("KEYED PROCESS", operator, output_type))

    def interval_join(self, other_stream: KeyedStream[S, K]) -> IntervalJoin[T, S]:
        """Join two keyed streams: pair elements with the same key whose event times lie within an interval.

        Flink: `KeyedStream.intervalJoin` (Java only). Both streams need keys of the same type.

        Args:
            other_stream: A stream with keys of the same type.

        Example:
            >>> class Delay(ProcessJoinFunction):
            ...     def process_element(self, left, right, ctx):
            ...         yield left[0], right[1] - left[1]
            >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
            >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
            >>> orders = env.from_collection([("a", 1000), ("b", 2000)], pair).assign_timestamps_and_watermarks(timed)
            >>> payments = env.from_collection([("a", 3000)], pair).assign_timestamps_and_watermarks(timed)
            >>> by_id = orders.key_by(lambda order: order[0], Types.STRING())
            >>> near = by_id.interval_join(payments.key_by(lambda payment: payment[0], Types.STRING()))
            >>> _ = near.between(Time.seconds(-5), Time.minutes(10)).process(Delay()).collect_async()
            >>> run_local(env).elements
            [('a', 2000)]

        Raises:
            TypeError: the other stream is not keyed, or its keys have another type.
        """
        require(other_stream, KeyedStream, "interval_join()")
        return IntervalJoin(self, other_stream)

    def key_by(
        self, key_selector: KeySelector[T, S] | Callable[[T], S], key_type: TypeInformation[S] | None = None
    ) -> KeyedStream[T, S]:
        """Partition the stream by another key.

        Args:
            key_selector: Returns the new key of an element.
            key_type: Type of the keys; None pickles them.
        """
        return self._origin_stream.key_by(key_selector, key_type)

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Assign the elements of the whole stream to windows, in a single subtask."""
        return self._origin_stream.window_all(window_assigner)

    @overload  # type: ignore[override]  # with the keys, as in PyFlink
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[Row]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Row]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Row]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[Row] | list[Row]:
        """Run the program and return the stream's elements as `Row(key, value)`; see `DataStream`."""
        return self._collect(job_execution_name, limit)

    def _collected_type(self) -> TypeInformation[Any]:
        return Types.ROW([type_or_pickled(self._key_type), self.get_type()])


_SETTINGS = (
    "name",
    "get_name",
    "uid",
    "set_uid_hash",
    "set_parallelism",
    "set_max_parallelism",
    "force_non_parallel",
    "set_buffer_timeout",
    "start_new_chain",
    "disable_chaining",
    "slot_sharing_group",
    "set_description",
)
_PARTITIONING = ("shuffle", "rebalance", "rescale", "forward", "broadcast", "partition_custom")
refuse(KeyedStream, _SETTINGS, "call it on the stream before key_by() or on the operator after it")
refuse(KeyedStream, _PARTITIONING, "its elements are partitioned by key")
refuse(KeyedStream, ("get_side_output", "cache"), "call it on the operator before key_by()")
