"""Streams and what can be done with them (module as `pyflink.datastream.data_stream`)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, Self, TypeVar, overload

from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.datastream import operator_descriptors as op
from firesteel.datastream.closeable_iterator import CloseableIterator
from firesteel.datastream.connected_streams import BroadcastConnectedStream, BroadcastStream, ConnectedStreams
from firesteel.datastream.element_operators import ElementOperators
from firesteel.datastream.functions import KeyedProcessFunction, KeySelector, NullByteKeySelector, ProcessFunction
from firesteel.datastream.interval_join import IntervalJoin
from firesteel.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream.keyed_operators import KeyedOperators
from firesteel.datastream.refused_methods import refuse
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.stream_base import DataStreamSink, check_function, require, type_or_pickled
from firesteel.datastream.stream_partitioning import StreamPartitioning
from firesteel.datastream.stream_sinks import StreamSinks
from firesteel.datastream.user_location import user_location
from firesteel.datastream.window import Window, WindowAssigner
from firesteel.datastream.windowed_streams import AllWindowedStream, WindowedStream
from firesteel.errors import InvalidProgramError
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


class DataStream(ElementOperators[T], StreamPartitioning[T], StreamSinks[T]):
    """A stream of elements of one type.

    Example:
        >>> numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
        >>> numbers.map(lambda n: n * n, output_type=Types.INT()).filter(lambda n: n > 1).print()
    """

    def _new_stream(self, transformation: Transformation) -> DataStream[Any]:
        return DataStream(self._environment, transformation)

    def _values(self) -> DataStream[T]:
        return self

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

    def process(self, func: ProcessFunction[T, R], output_type: TypeInformation[R] | None = None) -> DataStream[R]:
        """Return a stream with any number of results per element, which may have side outputs."""
        require(func, ProcessFunction, "process()")
        return self._new_stream(self._operator("PROCESS", op.ProcessOperator(func), output_type))

    # --- several streams ---------------------------------------------------------------------------------------------

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Return all elements of these streams; their types must be the same.

        Raises:
            InvalidProgramError: a type differs.
        """
        inputs = [stream._values() for stream in (self, *streams)]
        for stream in inputs[1:]:
            if stream.get_type() != self.get_type():
                raise InvalidProgramError(
                    f"Cannot union streams of different types: {self.get_type()!r} and {stream.get_type()!r}"
                )
        union = UnionTransformation(
            id=self._environment._ids.next(),
            name="Union",
            inputs=[stream._transformation for stream in inputs],
            parallelism=inputs[0]._transformation.parallelism,
            output_type=self.get_type(),
            user_location=user_location(),
        )
        return inputs[0]._new_stream(union)

    def join(self, other_stream: DataStream[S]) -> JoinedStreams[T, S]:
        """Pairs of elements of both streams with the same key and window.

        Flink: `DataStream.join` (Java only).

        Example:
            >>> paid = orders.join(payments).where(lambda o: o.id).equal_to(lambda p: p.order_id)
            >>> paid.window(TumblingEventTimeWindows.of(Time.minutes(5))).apply(lambda o, p: (o.id, p.amount)).print()
        """
        require(other_stream, DataStream, "join()")
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[S]) -> CoGroupedStreams[T, S]:
        """All elements of both streams with the same key and window, as two lists.

        Flink: `DataStream.coGroup` (Java only).

        Example:
            >>> sides = orders.co_group(payments).where(lambda o: o.id).equal_to(lambda p: p.order_id)
            >>> windows = sides.window(TumblingEventTimeWindows.of(Time.minutes(5)))
            >>> windows.apply(lambda orders, payments: orders if not payments else ()).print()
        """
        require(other_stream, DataStream, "co_group()")
        return CoGroupedStreams(self, other_stream)

    @overload
    def connect(self, ds: BroadcastStream[S]) -> BroadcastConnectedStream[T, S]: ...

    @overload
    def connect(self, ds: DataStream[S]) -> ConnectedStreams[T, S]: ...

    def connect(self, ds: Any) -> Any:
        """Return this stream with another or a broadcast one, as the inputs of one operator."""
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
        """Send every element to every subtask; with descriptors return a `BroadcastStream` to be connected."""
        stream = self._new_stream(self._partition(BROADCAST))
        if broadcast_state_descriptor is None:
            return stream
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        for descriptor in descriptors:
            require(descriptor, MapStateDescriptor, "broadcast()")
        return BroadcastStream(stream, descriptors)

    # --- keys and windows --------------------------------------------------------------------------------------------

    def key_by(
        self, key_selector: KeySelector[T, K] | Callable[[T], K], key_type: TypeInformation[K] | None = None
    ) -> KeyedStream[T, K]:
        """Return the stream by key: equal keys meet in one subtask and share state."""
        check_function(key_selector, KeySelector, "get_key", "key_by()")
        checked_type = type_or_pickled(key_type)
        transformation = self._operator(
            "_stream_key_by_map_operator",
            op.KeyByOperator(key_selector, checked_type),
            Types.ROW([checked_type, self.get_type()]),
            cls=KeyByTransformation,
        )
        hidden = self._new_stream(transformation)
        return KeyedStream(self._environment, hidden._partition(HASH), self.get_type(), self, checked_type)

    def _keyed_by_elements(self, key_type: TypeInformation[Any]) -> KeyedStream[T, Any]:
        """Return the keyed stream of one whose elements are `(key, value)` already."""
        return KeyedStream(self._environment, self._partition(HASH), self.get_type(), self, key_type)

    def _key_by_nothing(self) -> KeyedStream[T, int]:
        return self.key_by(NullByteKeySelector(), Types.BYTE())

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Return the stream cut into windows over all elements, which meet in one subtask."""
        return AllWindowedStream(self, window_assigner)

    def cache(self) -> CachedDataStream[T]:
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


class CachedDataStream(DataStream[T]):
    """A stream whose elements are kept for later jobs."""

    def cache(self) -> CachedDataStream[T]:
        """Itself: it is cached already."""
        return self

    def invalidate(self) -> None:
        """Lets the kept elements go: the next job computes them anew.

        Raises:
            NotImplementedError: always: there is no job yet that reads what another one kept.
        """
        raise NotImplementedError("CachedDataStream.invalidate: results kept by cache() are not read by later jobs yet")


class KeyedStream(DataStream[T], KeyedOperators[T, K], Generic[T, K]):
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
        original_data_type_info: TypeInformation[T],
        origin_stream: DataStream[T],
        key_type: TypeInformation[K],
    ) -> None:
        super().__init__(environment, transformation)
        self._original_data_type_info = original_data_type_info
        self._origin_stream = origin_stream
        self._key_type = key_type

    def get_type(self) -> TypeInformation[T]:
        """Type of the elements, without the key."""
        return self._original_data_type_info

    def _values(self) -> DataStream[T]:
        return self._take_values(self.get_type())

    def _element_operator(
        self, name: str, operator: Any, output_type: TypeInformation[Any] | None
    ) -> OperatorTransformation:
        return self._operator(name, operator, output_type, kind=PythonOperatorKind.KEYED_PROCESS)

    def process(  # type: ignore[override]  # another kind of function, as in Flink
        self, func: KeyedProcessFunction[K, T, R], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Return a stream with any number of results per element, by a function with state and timers of its key."""
        require(func, KeyedProcessFunction, "process() of a KeyedStream")
        operator = op.KeyedProcessOperator(func, self._key_type)
        return self._new_stream(self._element_operator("KEYED PROCESS", operator, output_type))

    def interval_join(self, other_stream: KeyedStream[S, K]) -> IntervalJoin[T, S]:
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

    def key_by(
        self, key_selector: KeySelector[T, S] | Callable[[T], S], key_type: TypeInformation[S] | None = None
    ) -> KeyedStream[T, S]:
        """Return the stream by another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Return the stream cut into windows over all elements."""
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
refuse(KeyedStream, _SETTINGS, "call it on the stream before key_by() or on the operator behind")
refuse(KeyedStream, _PARTITIONING, "its elements are partitioned by key")
refuse(KeyedStream, ("get_side_output", "cache"), "call it on the operator before key_by()")
