"""Operators with two inputs: re-exported by `firesteel.datastream.data_stream`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.common.checks import require, require_one_result
from firesteel.common.java_objects import WithoutJava
from firesteel.common.typeinfo import TypeInformation
from firesteel.errors import InvalidProgramError
from firesteel.functions.operator_builder import add_operator, is_keyed, key_type_of, stream_of
from firesteel.functions.operator_descriptors import (
    BroadcastProcessOperator,
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
)
from firesteel.functions.state import MapStateDescriptor
from firesteel.functions.user_functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from firesteel.graph.transformations import PythonOperatorKind

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
R = TypeVar("R")


class ConnectedStreams(WithoutJava, Generic[A, B]):
    """Two streams that are the inputs of one operator; keyed if both streams are keyed.

    `DataStream.connect` returns it.

    Args:
        stream1: Input of methods with the suffix 1, such as `map1`.
        stream2: Input of methods with the suffix 2; its elements may have another type.

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

    def __init__(self, stream1: DataStream[A], stream2: DataStream[B]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2
        self._keyed = is_keyed(stream1) and is_keyed(stream2)

    def key_by(
        self,
        key_selector1: KeySelector[A, K] | Callable[[A], K],
        key_selector2: KeySelector[B, K] | Callable[[B], K],
        key_type: TypeInformation[K] | None = None,
    ) -> ConnectedStreams[A, B]:
        """Partition both streams by key, even if they are keyed already; equal keys go to the same subtask.

        Args:
            key_selector1: Returns the key of an element of the first stream.
            key_selector2: Returns the key of an element of the second stream.
            key_type: Type of the keys; None pickles them.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction[A, B, R], output_type: TypeInformation[R] | None = None) -> DataStream[R]:
        """Apply a function that returns one result per element of either stream.

        Args:
            func: The function of each stream.
            output_type: Type of the results; None pickles them.
        """
        call = "map() of connected streams"
        require(func, CoMapFunction, call)
        for method in (func.map1, func.map2):
            require_one_result(method, call, "flat_map()")
        return self._co("Co-Map", CoMapOperator(func, self._keyed), output_type)

    def flat_map(
        self, func: CoFlatMapFunction[A, B, R], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]:
        """Apply a function that returns any number of results per element of either stream.

        Args:
            func: The function of each stream.
            output_type: Type of the results; None pickles them.
        """
        require(func, CoFlatMapFunction, "flat_map() of connected streams")
        return self._co("Co-Flat Map", CoFlatMapOperator(func, self._keyed), output_type)

    def process(
        self,
        func: CoProcessFunction[A, B, R] | KeyedCoProcessFunction[Any, A, B, R],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function that returns any number of results per element of either stream.

        If both streams are keyed, the function has keyed state and timers.

        Args:
            func: The function of both streams: `process_element1` gets elements of the first, `process_element2` of the
                second.
            output_type: Type of the results; None pickles them.

        Raises:
            TypeError: `func` is neither a CoProcessFunction nor, for keyed streams, a KeyedCoProcessFunction.
            InvalidProgramError: only one of the streams is keyed, or their key types differ.
        """
        kinds: Any = (KeyedCoProcessFunction, CoProcessFunction) if self._keyed else CoProcessFunction
        require(func, kinds, f"process() of {'keyed ' if self._keyed else ''}connected streams")
        name = "Keyed Co-Process" if self._keyed else "Co-Process"
        return self._co(name, CoProcessOperator(func, self._keyed, key_type_of(self.stream1)), output_type)

    def _co(self, name: str, operator: object, output_type: TypeInformation[Any] | None) -> DataStream[Any]:
        if is_keyed(self.stream1) != is_keyed(self.stream2):
            raise InvalidProgramError(
                "connect(): either both streams must be keyed or neither; found one keyed and one non-keyed stream; "
                "key both by key_by(first, second) of the connected streams"
            )
        types = key_type_of(self.stream1), key_type_of(self.stream2)
        if self._keyed and types[0] != types[1]:
            raise InvalidProgramError(f"Key types of input KeyedStreams don't match: {types[0]} and {types[1]}")
        kind = PythonOperatorKind.KEYED_CO_PROCESS if self._keyed else PythonOperatorKind.CO_PROCESS
        transformation = add_operator(self.stream1, name, operator, output_type, kind=kind, other=self.stream2)
        return stream_of(self.stream1, transformation)


class BroadcastStream(WithoutJava, Generic[B]):
    """A stream that is sent in full to every subtask, with the descriptors of the broadcast state that stores it.

    `DataStream.broadcast` returns it if it is called with descriptors.

    Args:
        input_stream: The stream whose elements every subtask receives.
        broadcast_state_descriptors: States in which functions may store the elements.

    Example:
        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> broadcast = env.from_collection([10], Types.INT()).broadcast(limits)
    """

    def __init__(
        self, input_stream: DataStream[B], broadcast_state_descriptors: list[MapStateDescriptor[Any, Any]]
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors


class BroadcastConnectedStream(WithoutJava, Generic[A, B]):
    """A stream and a broadcast stream that are the inputs of one operator.

    `DataStream.connect` returns it if its argument is a `BroadcastStream`.

    Args:
        non_broadcast_stream: The stream whose elements each go to one subtask; it may be keyed.
        broadcast_stream: The stream whose elements go to all subtasks.
        broadcast_state_descriptors: States that functions may access by `ctx.get_broadcast_state`.

    Example:
        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> class AboveLimit(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value > (ctx.get_broadcast_state(limits).get("limit") or 0):
        ...             yield value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(limits).put("limit", value)
        >>> numbers, limit = env.from_collection([5, 20], Types.INT()), env.from_collection([10], Types.INT())
        >>> above = numbers.connect(limit.broadcast(limits)).process(AboveLimit(), Types.INT())
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream[A],
        broadcast_stream: BroadcastStream[B],
        broadcast_state_descriptors: list[MapStateDescriptor[Any, Any]],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction[A, B, R] | KeyedBroadcastProcessFunction[Any, A, B, R],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Apply a function that returns any number of results per element of either stream.

        Args:
            func: The function: `process_broadcast_element` gets the elements of the broadcast stream and may write its
                state.
            output_type: Type of the results; None pickles them.

        Raises:
            TypeError: `func` is not a KeyedBroadcastProcessFunction (if the first stream is keyed) or a
                BroadcastProcessFunction (if it is not).
        """
        stream = self.non_broadcast_stream
        keyed = is_keyed(stream)
        require(
            func,
            KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction,
            f"process() of a {'keyed ' if keyed else ''}stream connected with a broadcast stream",
        )
        operator = BroadcastProcessOperator(func, tuple(self.broadcast_state_descriptors), keyed, key_type_of(stream))
        transformation = add_operator(
            stream,
            "Keyed-Co-Process-Broadcast" if keyed else "Co-Process-Broadcast",
            operator,
            output_type,
            kind=PythonOperatorKind.BROADCAST,
            other=self.broadcast_stream.input_stream,
        )
        transformation.keyed = keyed
        transformation.parallelism_configured = True  # As in PyFlink's transformations of these operators.
        return stream_of(stream, transformation)
