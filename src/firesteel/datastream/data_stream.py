"""Streams and what can be done with them (module as `pyflink.datastream.data_stream`)."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn, Self

from firesteel.common.typeinfo import PickledBytesTypeInfo, TupleTypeInfo, TypeInformation, Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import operator_descriptors as op
from firesteel.datastream.accumulators import accumulator
from firesteel.datastream.closeable_iterator import CloseableIterator
from firesteel.datastream.connected_streams import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from firesteel.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
)
from firesteel.datastream.interval_join import IntervalJoin
from firesteel.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.stream_base import DataStreamSink, check_function, require, type_or_pickled
from firesteel.datastream.stream_sinks import StreamSinks
from firesteel.datastream.user_location import user_location
from firesteel.datastream.window import CountSlidingWindowAssigner, CountTumblingWindowAssigner, WindowAssigner
from firesteel.datastream.windowed_streams import AllWindowedStream, WindowedStream
from firesteel.errors import InvalidProgramError
from firesteel.graph.partitioner import BROADCAST, FORWARD, HASH, REBALANCE, RESCALE, SHUFFLE
from firesteel.graph.partitioner import Partitioner as EdgePartitioner
from firesteel.graph.transformations import (
    CacheTransformation,
    KeyByTransformation,
    OperatorTransformation,
    PythonOperatorKind,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    ValuesTransformation,
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

_Key = Callable[[Any], Any] | KeySelector[Any, Any]


class DataStream(StreamSinks):
    """A stream of elements of one type.

    Example:
        >>> numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
        >>> numbers.map(lambda n: n * n, output_type=Types.INT()).filter(lambda n: n > 1).print()
    """

    _key_type: TypeInformation | None = None

    def _new_stream(self, transformation: Transformation) -> DataStream:
        return DataStream(self._environment, transformation)

    def get_name(self) -> str:
        """Name of the operator."""
        return self._transformation.name

    def force_non_parallel(self) -> Self:
        """Fixes parallelism and max parallelism at 1."""
        self.set_parallelism(1)
        self._transformation.max_parallelism = 1
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Sets after how many milliseconds output is sent on at the latest; -1 waits for full buffers."""
        if timeout_millis < -1:
            raise ValueError(f"Buffer timeout must be 0 ms or greater, or -1; found {timeout_millis}")
        self._transformation.buffer_timeout = timeout_millis
        return self

    def start_new_chain(self) -> Self:
        """Starts a new chain with this operator."""
        self._transformation.chaining_strategy = "HEAD"
        return self

    # --- element by element ------------------------------------------------------------------------------------------

    def map(
        self, func: Callable[[Any], Any] | MapFunction[Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """One result per element."""
        check_function(func, MapFunction, "map", "map()")
        return self._new_stream(self._operator("Map", op.MapOperator(func), output_type))

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction[Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of results per element: an iterable, or None for nothing."""
        check_function(func, FlatMapFunction, "flat_map", "flat_map()")
        return self._new_stream(self._operator("FlatMap", op.FlatMapOperator(func), output_type))

    def filter(self, func: Callable[[Any], Any] | FilterFunction[Any]) -> DataStream:
        """The elements for which the function gives something truthy."""
        check_function(func, FilterFunction, "filter", "filter()")
        return self._new_stream(self._operator("Filter", op.FilterOperator(func), self.get_type()))

    def process(self, func: ProcessFunction[Any, Any], output_type: TypeInformation | None = None) -> DataStream:
        """Any number of results and side outputs per element."""
        require(func, ProcessFunction, "process()")
        return self._new_stream(self._operator("PROCESS", op.ProcessOperator(func), output_type))

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a tuple, in that order.

        Raises:
            TypeError: the stream's type is no `Types.TUPLE`.
        """
        own_type = self.get_type()
        if not isinstance(own_type, TupleTypeInfo):
            raise TypeError(f"Only streams of Types.TUPLE can be projected; the type is {own_type!r}")
        types = own_type.get_field_types()
        if not field_indexes or any(not 0 <= index < len(types) for index in field_indexes):
            raise ValueError(f"project() takes fields from 0 to {len(types) - 1}, found {field_indexes}")
        output_type = Types.TUPLE([types[index] for index in field_indexes])
        return self._new_stream(
            self._operator("Projection", op.ProjectOperator(tuple(field_indexes)), output_type, kind=None)
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Gives elements their event time and emits watermarks."""
        require(watermark_strategy, WatermarkStrategy, "assign_timestamps_and_watermarks()")
        own_type = self.get_type()
        name = "Timestamps/Watermarks"
        if watermark_strategy.timestamp_assigner is None:
            operator = op.TimestampsAndWatermarksOperator(watermark_strategy, extracted=False)
            return self._like_input(self._operator(name, operator, own_type, kind=None))
        pair = Types.TUPLE([Types.LONG(), own_type])
        extract = op.ExtractTimestampOperator(watermark_strategy.timestamp_assigner)
        stream = self._new_stream(self._operator("Extract-Timestamp", extract, pair))
        assign = op.TimestampsAndWatermarksOperator(watermark_strategy, extracted=True)
        stream = self._like_input(stream._operator(name, assign, pair, kind=None))
        return self._new_stream(stream._operator("Remove-Timestamp", op.RemoveTimestampOperator(), own_type, kind=None))

    def _like_input(self, transformation: Transformation) -> DataStream:
        transformation.parallelism = transformation.inputs[0].parallelism
        return self._new_stream(transformation)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The elements that the operator wrote to a side output."""
        require(output_tag, OutputTag, "get_side_output()")
        side = SideOutputTransformation(
            id=self._environment._ids.next(),
            name="SideOutput",
            inputs=[self._transformation],
            parallelism=self._transformation.parallelism,
            output_type=output_tag.type_info,
            output_tag=output_tag.tag_id,
            user_location=user_location(),
        )
        operator = op.MapOperator(_same)  # PyFlink's: it gives the side output an operator to name and place
        return self._new_stream(self._new_stream(side)._operator("Map", operator, output_tag.type_info))

    # --- several streams ---------------------------------------------------------------------------------------------

    def union(self, *streams: DataStream) -> DataStream:
        """All elements of these streams; their types must be the same.

        Raises:
            InvalidProgramError: a type differs.
        """
        inputs = [stream._values() if isinstance(stream, KeyedStream) else stream for stream in (self, *streams)]
        for stream in inputs[1:]:
            if stream.get_type() != self.get_type():
                raise InvalidProgramError(
                    f"Cannot union streams of different types: {self.get_type()!r} and {stream.get_type()!r}"
                )
        union = UnionTransformation(
            id=self._environment._ids.next(),
            name="Union",
            inputs=[stream._transformation for stream in inputs],
            parallelism=self._transformation.parallelism,
            output_type=self.get_type(),
            user_location=user_location(),
        )
        return self._new_stream(union)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pairs of elements of both streams with the same key and window.

        Flink: `DataStream.join` (Java only).

        Example:
            >>> paid = orders.join(payments).where(lambda o: o.id).equal_to(lambda p: p.order_id)
            >>> paid.window(TumblingEventTimeWindows.of(Time.minutes(5))).apply(lambda o, p: (o.id, p.amount)).print()
        """
        require(other_stream, DataStream, "join()")
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """All elements of both streams with the same key and window, as two lists.

        Flink: `DataStream.coGroup` (Java only).

        Example:
            >>> sides = orders.co_group(payments).where(lambda o: o.id).equal_to(lambda p: p.order_id)
            >>> windows = sides.window(TumblingEventTimeWindows.of(Time.minutes(5)))
            >>> windows.apply(lambda orders, payments: orders if not payments else ()).print()
        """
        require(other_stream, DataStream, "co_group()")
        return CoGroupedStreams(self, other_stream)

    def connect(self, ds: Any) -> Any:
        """This stream with another or a broadcast one, to meet in one operator."""
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        require(ds, DataStream, "connect()")
        return ConnectedStreams(self, ds)

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> Any:
        """Every subtask behind it gets every element; with descriptors a `BroadcastStream` to be connected."""
        stream = self._new_stream(self._partition(BROADCAST))
        if broadcast_state_descriptor is None:
            return stream
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            require(descriptor, MapStateDescriptor, "broadcast()")
        return BroadcastStream(stream, descriptors)

    # --- partitioning ------------------------------------------------------------------------------------------------

    def key_by(self, key_selector: _Key, key_type: TypeInformation | None = None) -> KeyedStream:
        """The stream by key: equal keys meet in one subtask and share state."""
        check_function(key_selector, KeySelector, "get_key", "key_by()")
        key_type = type_or_pickled(key_type)
        transformation = self._operator(
            "_stream_key_by_map_operator",
            op.KeyByOperator(key_selector, key_type),
            Types.ROW([key_type, self.get_type()]),
            cls=KeyByTransformation,
        )
        hidden = self._new_stream(transformation)
        return KeyedStream(self._environment, hidden._partition(HASH), self.get_type(), self, key_type)

    def _values(self) -> DataStream:
        return self

    def _keyed_by_elements(self, key_type: TypeInformation) -> KeyedStream:
        """The keyed stream of one whose elements are `(key, value)` already."""
        return KeyedStream(self._environment, self._partition(HASH), self.get_type(), self, key_type)

    def _key_by_nothing(self) -> KeyedStream:
        return self.key_by(NullByteKeySelector(), Types.BYTE())

    def partition_custom(self, partitioner: Callable[[Any, int], int] | Partitioner, key_selector: _Key) -> DataStream:
        """Elements go to the subtask that the partitioner chooses by their key."""
        check_function(partitioner, Partitioner, "partition", "partition_custom()")
        check_function(key_selector, KeySelector, "get_key", "partition_custom()")
        own_type = self.get_type()
        pair = Types.ROW([PickledBytesTypeInfo(), own_type])
        operator = op.PartitionCustomOperator(partitioner, key_selector)
        transformation = self._operator("_partition_custom_map_operator", operator, pair, cls=KeyByTransformation)
        partitioned = self._new_stream(transformation)._partition(EdgePartitioner("CUSTOM", partitioner))
        stream = self._new_stream(partitioned)
        return stream._take_values(own_type)

    def _take_values(self, output_type: TypeInformation) -> DataStream:
        transformation = self._operator(
            "_keyed_stream_values_operator", op.ValuesOperator(), output_type, cls=ValuesTransformation
        )
        return self._new_stream(transformation)

    def shuffle(self) -> DataStream:
        """Elements go to random subtasks."""
        return self._new_stream(self._partition(SHUFFLE))

    def rebalance(self) -> DataStream:
        """Elements go to all subtasks in turn."""
        return self._new_stream(self._partition(REBALANCE))

    def rescale(self) -> DataStream:
        """Elements go to some of the subtasks in turn: those near by."""
        return self._new_stream(self._partition(RESCALE))

    def forward(self) -> DataStream:
        """Elements stay in their subtask; the parallelism must not change."""
        return self._new_stream(self._partition(FORWARD))

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """The stream cut into windows over all elements, which meet in one subtask."""
        return AllWindowedStream(self, window_assigner)

    def cache(self) -> CachedDataStream:
        """Keeps the elements for later jobs of this environment (batch jobs only)."""
        if not isinstance(self._transformation, (OperatorTransformation, SideOutputTransformation)):
            raise InvalidProgramError(
                "Cache can only be called with physical transformation or side output transformation"
            )
        transformation = CacheTransformation(
            id=self._environment._ids.next(),
            name="CacheWrite",
            inputs=[self._transformation],
            parallelism=self._transformation.parallelism,
            output_type=self.get_type(),
            operator=op.CacheWriteOperator(),
            user_location=user_location(),
            data_set_id=uuid.uuid4().hex,
        )
        self._environment._transformations.append(transformation)
        return CachedDataStream(self._environment, transformation)


def _same(value: Any) -> Any:
    return value


class CachedDataStream(DataStream):
    """A stream whose elements are kept for later jobs."""

    def cache(self) -> CachedDataStream:
        """Itself: it is cached already."""
        return self

    def invalidate(self) -> None:
        """Lets the kept elements go: the next job computes them anew.

        Raises:
            NotImplementedError: always: there is no job yet that reads what another one kept.
        """
        raise NotImplementedError("CachedDataStream.invalidate: results kept by cache() are not read by later jobs yet")


class KeyedStream(DataStream):
    """A stream by key: the operators on it have state and timers per key."""

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
        original_data_type_info: TypeInformation,
        origin_stream: DataStream,
        key_type: TypeInformation,
    ) -> None:
        super().__init__(environment, transformation)
        self._original_data_type_info = original_data_type_info
        self._origin_stream = origin_stream
        self._key_type = key_type

    def get_type(self) -> TypeInformation:
        """Type of the elements, without the key."""
        return self._original_data_type_info

    def _values(self) -> DataStream:
        return self._take_values(self.get_type())

    def _keyed_operator(self, name: str, operator: Any, output_type: TypeInformation | None) -> DataStream:
        return self._new_stream(self._operator(name, operator, output_type, kind=PythonOperatorKind.KEYED_PROCESS))

    def map(
        self, func: Callable[[Any], Any] | MapFunction[Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """One result per element."""
        check_function(func, MapFunction, "map", "map()")
        return self._keyed_operator("Map", op.MapOperator(func, keyed=True), output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction[Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of results per element: an iterable, or None for nothing."""
        check_function(func, FlatMapFunction, "flat_map", "flat_map()")
        return self._keyed_operator("FlatMap", op.FlatMapOperator(func, keyed=True), output_type)

    def filter(self, func: Callable[[Any], Any] | FilterFunction[Any]) -> DataStream:
        """The elements for which the function gives something truthy."""
        check_function(func, FilterFunction, "filter", "filter()")
        return self._keyed_operator("Filter", op.FilterOperator(func, keyed=True), self.get_type())

    def process(  # type: ignore[override]  # another kind of function, as in Flink
        self, func: KeyedProcessFunction[Any, Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of results and side outputs per element, with state and timers of its key."""
        require(func, KeyedProcessFunction, "process() of a KeyedStream")
        return self._keyed_operator("KEYED PROCESS", op.KeyedProcessOperator(func, self._key_type), output_type)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction[Any]) -> DataStream:
        """The elements of each key so far, reduced to one: a value per element, in batch jobs the last one only."""
        check_function(func, ReduceFunction, "reduce", "reduce()")
        own_type = self.get_type()
        return self._keyed_operator("Reduce", op.ReduceOperator(func, own_type, self._key_type), own_type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of a field so far, per key."""
        return self.reduce(accumulator("sum", position_to_sum))

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The minimum of a field so far, per key; other fields are those of the first element."""
        return self.reduce(accumulator("min", position_to_min))

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The maximum of a field so far, per key; other fields are those of the first element."""
        return self.reduce(accumulator("max", position_to_max))

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The element with the minimum of a field so far, per key."""
        return self.reduce(accumulator("min_by", position_to_min_by))

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The element with the maximum of a field so far, per key."""
        return self.reduce(accumulator("max_by", position_to_max_by))

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """The stream cut into windows, per key."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of `size` elements per key, one after the other or a new one each `slide` elements."""
        if slide == 0:
            return WindowedStream(self, CountTumblingWindowAssigner(size))
        return WindowedStream(self, CountSlidingWindowAssigner(size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pairs of elements of both streams with the same key, whose event times are near each other.

        Flink: `KeyedStream.intervalJoin` (Java only). Both streams need keys of the same type.

        Example:
            >>> near = orders.interval_join(payments).between(Time.seconds(-5), Time.minutes(10))
            >>> near.process(OrderWithPayment()).print()

        Raises:
            TypeError: the other stream is not keyed, or by another type.
        """
        require(other_stream, KeyedStream, "interval_join()")
        return IntervalJoin(self, other_stream)

    def key_by(self, key_selector: _Key, key_type: TypeInformation | None = None) -> KeyedStream:
        """The stream by another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """The stream cut into windows over all elements."""
        return self._origin_stream.window_all(window_assigner)

    def union(self, *streams: DataStream) -> DataStream:
        """All elements of these streams."""
        return self._values().union(*streams)

    def project(self, *field_indexes: int) -> DataStream:
        """Some fields of a tuple, in that order."""
        return self._values().project(*field_indexes)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Gives elements their event time and emits watermarks."""
        return self._values().assign_timestamps_and_watermarks(watermark_strategy)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints each element."""
        return self._values().print(sink_identifier)

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Hands each element to a `SinkFunction`."""
        return self._values().add_sink(sink_func)

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Writes the elements to a sink."""
        return self._values().sink_to(sink)

    def _collected_type(self) -> TypeInformation:
        return Types.ROW([type_or_pickled(self._key_type), self.get_type()])


def _refuse(what: str, allowed: str) -> Callable[..., NoReturn]:
    def refused(self: KeyedStream, *args: Any, **kwargs: Any) -> NoReturn:
        raise InvalidProgramError(f"{what} is not supported on a KeyedStream, which is no operator; {allowed}")

    refused.__doc__ = f"""Refused: {allowed}.

    Raises:
        InvalidProgramError: always.
    """
    return refused


def _refusing(name: str, allowed: str) -> None:
    refused = _refuse(name + "()", allowed)
    refused.__name__ = name
    refused.__qualname__ = f"KeyedStream.{name}"
    refused.__signature__ = inspect.signature(getattr(DataStream, name))  # type: ignore[attr-defined]
    setattr(KeyedStream, name, refused)


for _setting in (
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
):
    _refusing(_setting, "call it on the stream before key_by() or on the operator behind")
for _partitioning in ("shuffle", "rebalance", "rescale", "forward", "broadcast", "partition_custom"):
    _refusing(_partitioning, "its elements are partitioned by key")
for _operator_method in ("get_side_output", "cache"):
    _refusing(_operator_method, "call it on the operator before key_by()")
