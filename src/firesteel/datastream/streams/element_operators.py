"""The methods of `DataStream` that process elements one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from firesteel.common.checks import require
from firesteel.common.time import Time
from firesteel.common.typeinfo import BasicTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream.streams.batches import BatchSettings, with_batches
from firesteel.datastream.streams.stream_base import StreamBase, check_function
from firesteel.datastream.streams.user_location import user_location
from firesteel.errors import InvalidProgramError
from firesteel.functions import operator_descriptors as op
from firesteel.functions.operator_builder import (
    add_operator,
    next_id,
    stream_like_input,
    transformations_of,
    values_of,
    with_operator,
)
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.user_functions import (
    AsyncBatchFunction,
    AsyncRetryStrategy,
    FilterFunction,
    FlatMapFunction,
    MapBatchFunction,
    MapFunction,
)
from firesteel.graph.transformations import SideOutputTransformation, UnionTransformation

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
NT = TypeVar("NT", bound="NamedTupleLike")

RowLike = Row | tuple[Any, ...] | list[Any] | dict[str, Any]
"""Values that are converted to a `Row` where the declared type is `Types.ROW`."""


class NamedTupleLike(Protocol):
    """An object of a `NamedTuple` class."""

    def _asdict(self) -> dict[str, Any]: ...


class ElementOperators(StreamBase[T]):
    """The part of `DataStream` whose operators process elements one by one.

    Type checkers infer the output type of `map` from the first matching overload. Tuples of two and three fields have
    overloads of their own, because pyright infers a `Literal` for the 1 of `lambda word: (word, 1)` unless it can infer
    each field. For mypy a lambda with `Types.TUPLE` matches several overloads, so it infers `Any`.
    """

    @overload
    def map(
        self, func: MapFunction[T, RowLike] | Callable[[T], RowLike], output_type: RowTypeInfo
    ) -> DataStream[Row]: ...

    @overload
    def map(self, func: MapFunction[T, R] | Callable[[T], R], output_type: BasicTypeInfo[R]) -> DataStream[R]: ...

    @overload
    def map(
        self, func: MapFunction[T, NT] | Callable[[T], NT], output_type: TupleTypeInfo | None = None
    ) -> DataStream[NT]: ...

    @overload
    def map(
        self, func: MapFunction[T, tuple[A, B]] | Callable[[T], tuple[A, B]], output_type: TupleTypeInfo | None = None
    ) -> DataStream[tuple[A, B]]: ...

    @overload
    def map(
        self,
        func: MapFunction[T, tuple[A, B, C]] | Callable[[T], tuple[A, B, C]],
        output_type: TupleTypeInfo | None = None,
    ) -> DataStream[tuple[A, B, C]]: ...

    @overload
    def map(
        self, func: MapFunction[T, R] | Callable[[T], R], output_type: TypeInformation[R] | None = None
    ) -> DataStream[R]: ...

    def map(
        self, func: MapFunction[T, Any] | Callable[[T], Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Apply a function that returns one result per element.

        Args:
            func: A `MapFunction` or a function of one element.
            output_type: Type of the results; None pickles them.

        Example:
            >>> words = env.from_collection(["to", "be"], Types.STRING())
            >>> lengths = words.map(lambda word: (word, len(word)), Types.TUPLE([Types.STRING(), Types.INT()]))
            >>> _ = lengths.collect_async()
            >>> run_local(env).elements
            [('to', 2), ('be', 2)]
        """
        check_function(func, MapFunction, "map", "map()")
        operator = op.MapOperator(func, keyed=self._is_keyed)
        return self._new_stream(self._element_operator("Map", operator, output_type))

    def map_batches(
        self,
        func: MapBatchFunction[A, B] | AsyncBatchFunction[A, B] | Callable[[Any], B],
        batch_size: int,
        batch_wait: Time | None = None,
        output_type: TypeInformation[R] | None = None,
        format: Literal["rows", "arrow", "pandas", "polars"] = "rows",
        retry_strategy: AsyncRetryStrategy[C] | None = None,
        capacity: int = 1,
    ) -> DataStream[R]:
        """Apply a function that maps a batch of elements at once, such as a model.

        Results keep the order and the event times of their elements, and do not overtake watermarks. PyFlink has no
        such method; its name is that of Ray.

        Args:
            func: A `MapBatchFunction`, an `AsyncBatchFunction`, or a function of one batch. It returns one result for
                each element.
            batch_size: Maximum number of elements of a batch.
            batch_wait: Maximum time that elements wait for their batch to be full; they are part of checkpoints. By
                default a batch ends with the batch of Spark that brings its elements.
            output_type: Type of the results; None pickles them, and is refused with a format other than rows.
            format: What the function gets and returns: `rows` are lists of elements; `arrow`, `pandas` and `polars`
                tables with a column for each field of a row or tuple, else one column `value`.
            retry_strategy: Decides when the call for a batch is repeated.
            capacity: Maximum number of batches at a time, for an `AsyncBatchFunction`.

        Raises:
            TypeError: an argument is of another type.
            ValueError: a number is below 1, or the format needs an `output_type`.

        Example:
            >>> numbers = env.from_collection([1, 2, 3, 4, 5], Types.LONG())
            >>> doubled = numbers.map_batches(lambda frame: frame["value"] * 2, 2, None, Types.LONG(), "pandas")
            >>> _ = doubled.collect_async()
            >>> run_local(env).elements
            [2, 4, 6, 8, 10]
        """
        settings = BatchSettings(batch_size, batch_wait, format, retry_strategy, capacity)
        return with_batches(values_of(self), func, settings, output_type)

    @overload
    def flat_map(
        self, func: FlatMapFunction[T, RowLike] | Callable[[T], Iterable[RowLike] | None], output_type: RowTypeInfo
    ) -> DataStream[Row]: ...

    @overload
    def flat_map(
        self,
        func: FlatMapFunction[T, R] | Callable[[T], Iterable[R] | None],
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]: ...

    def flat_map(
        self,
        func: FlatMapFunction[T, Any] | Callable[[T], Iterable[Any] | None],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Apply a function that returns any number of results per element.

        Args:
            func: A `FlatMapFunction` or a function of one element; it returns an iterable, or None for no results.
            output_type: Type of the results; None pickles them.

        Example:
            >>> lines = env.from_collection(["to be", "or not"], Types.STRING())
            >>> _ = lines.flat_map(lambda line: line.split(), Types.STRING()).collect_async()
            >>> run_local(env).elements
            ['to', 'be', 'or', 'not']
        """
        check_function(func, FlatMapFunction, "flat_map", "flat_map()")
        operator = op.FlatMapOperator(func, keyed=self._is_keyed)
        return self._new_stream(self._element_operator("FlatMap", operator, output_type))

    def filter(self, func: FilterFunction[T] | Callable[[T], object]) -> DataStream[T]:
        """Keep the elements that satisfy a predicate; their type stays the same.

        Args:
            func: A `FilterFunction` or a function of one element; a truthy result keeps the element.

        Raises:
            TypeError: `func` is neither a `FilterFunction` nor callable.

        Example:
            >>> _ = env.from_collection([1, 2, 3, 4], Types.INT()).filter(lambda n: n % 2 == 0).collect_async()
            >>> run_local(env).elements
            [2, 4]
        """
        check_function(func, FilterFunction, "filter", "filter()")
        operator = op.FilterOperator(func, keyed=self._is_keyed)
        return self._new_stream(self._element_operator("Filter", operator, self.get_type()))

    def project(self, *field_indexes: int) -> DataStream[tuple[Any, ...]]:
        """Return a stream of tuples with the given fields, in the given order.

        Args:
            field_indexes: Indexes of the fields, from 0.

        Raises:
            TypeError: the type of the stream is not a `Types.TUPLE`.
            ValueError: no index is given, or there is no such field.
        """
        stream = self._values()
        own_type = self.get_type()
        if not isinstance(own_type, TupleTypeInfo):
            raise TypeError(f"Only streams of Types.TUPLE can be projected; the type is {own_type!r}")
        types = own_type.get_field_types()
        if not field_indexes or any(not 0 <= index < len(types) for index in field_indexes):
            raise ValueError(f"project() takes fields from 0 to {len(types) - 1}, found {field_indexes}")
        output_type = Types.TUPLE([types[index] for index in field_indexes])
        operator = op.ProjectOperator(tuple(field_indexes))
        return with_operator(stream, "Projection", operator, output_type, kind=None)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream[T]:
        """Assign timestamps to the elements and generate watermarks.

        Args:
            watermark_strategy: Its timestamp assigner replaces timestamps from the source; without one, elements keep
                theirs.

        Raises:
            TypeError: `watermark_strategy` is not a `WatermarkStrategy`.

        Example:
            >>> readings = env.from_collection([("a", 1000), ("b", 900)], Types.TUPLE([Types.STRING(), Types.LONG()]))
            >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500))
            >>> strategy = strategy.with_timestamp_assigner(lambda pair, _: pair[1])
            >>> timed = readings.assign_timestamps_and_watermarks(strategy)
        """
        require(watermark_strategy, WatermarkStrategy, "assign_timestamps_and_watermarks()")
        stream = self._values()
        own_type = self.get_type()
        name = "Timestamps/Watermarks"
        if watermark_strategy.timestamp_assigner is None:
            operator = op.TimestampsAndWatermarksOperator(watermark_strategy, extracted=False)
            return stream_like_input(stream, add_operator(stream, name, operator, own_type, kind=None))
        pair = Types.TUPLE([Types.LONG(), own_type])
        extract = op.ExtractTimestampOperator(watermark_strategy.timestamp_assigner)
        pairs = with_operator(stream, "Extract-Timestamp", extract, pair)
        assign = op.TimestampsAndWatermarksOperator(watermark_strategy, extracted=True)
        pairs = stream_like_input(pairs, add_operator(pairs, name, assign, pair, kind=None))
        return with_operator(pairs, "Remove-Timestamp", op.RemoveTimestampOperator(), own_type, kind=None)

    def get_side_output(self, output_tag: OutputTag[S]) -> DataStream[S]:
        """Return the stream of the elements that the operator writes to a side output.

        Args:
            output_tag: Tag of the side output, with the id and type of the tag that the function yields.

        Raises:
            TypeError: `output_tag` is not an `OutputTag`.
            InvalidProgramError: the stream is a union, or the side output was read with another type before.

        Example:
            >>> odd = OutputTag("odd", Types.INT())
            >>> class Split(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield value if value % 2 == 0 else (odd, value)
            >>> even = env.from_collection([1, 2, 3], Types.INT()).process(Split(), Types.INT())
            >>> _ = even.get_side_output(odd).collect_async()
            >>> run_local(env).elements
            [1, 3]
        """
        require(output_tag, OutputTag, "get_side_output()")
        self._check_side(output_tag)
        side = SideOutputTransformation(
            id=next_id(self._environment),
            name="SideOutput",
            inputs=[self._transformation],
            parallelism=self._transformation.parallelism,
            output_type=output_tag.type_info,
            output_tag=output_tag.tag_id,
            user_location=user_location(),
        )
        operator = op.MapOperator(unchanged)  # as in PyFlink: gives the side output an operator with settings
        return self._new_stream(add_operator(self._new_stream(side), "Map", operator, output_tag.type_info))

    def _check_side(self, tag: OutputTag[S]) -> None:
        if isinstance(self._transformation, UnionTransformation):
            raise InvalidProgramError("get_side_output() reads an operator, and a union is none: call it on its inputs")
        readers = [reader for each in transformations_of(self._environment) for reader in each.inputs]
        for side in readers:
            if not (isinstance(side, SideOutputTransformation) and side.inputs == [self._transformation]):
                continue
            if side.output_tag == tag.tag_id and side.output_type != tag.type_info:
                raise InvalidProgramError(
                    f"side output {tag.tag_id!r} was read as {side.output_type} before, found {tag.type_info}; the "
                    "side outputs of an operator need different ids"
                )
