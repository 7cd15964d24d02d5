"""The methods of `DataStream` that add sinks."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

from firesteel.common.checks import require
from firesteel.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation, Types
from firesteel.common.values.java_text import to_java_string
from firesteel.datastream.streams.collected_values import collected
from firesteel.datastream.streams.spark_dataframes import spark_value
from firesteel.datastream.streams.stream_base import DataStreamSink, StreamBase, check_function
from firesteel.datastream.streams.user_location import user_location
from firesteel.functions import operator_descriptors as op
from firesteel.functions.carried_functions import as_text
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.connector_base import Sink, SupportsPreprocessing
from firesteel.functions.operator_builder import (
    collect,
    legacy_sink,
    next_id,
    sink_of,
    transformation_of,
    transformations_of,
    with_operator,
)
from firesteel.functions.user_functions import SinkFunction
from firesteel.graph.transformations import SinkTransformation

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")


class StreamSinks(StreamBase[T]):
    """The part of `DataStream` that adds sinks."""

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each element to standard output, formatted as Java does: `2> value`.

        Args:
            sink_identifier: Prefix of each line, as in `id:2> value`.

        Example:
            >>> _ = env.from_collection(["to", "be"], Types.STRING()).print("words")
            >>> run_local(env).lines
            ['words> to', 'words> be']
        """
        require(sink_identifier, (str, type(None)), "print()")
        stream = _printable(self._values())
        operator = op.PrintSinkOperator(sink_identifier, stream.get_type())
        return legacy_sink(stream, "Print to Std. Out", operator)

    def add_sink(self, sink_func: SinkFunction[T]) -> DataStreamSink:
        """Add a sink that passes each element to a function; for a `Sink`, use `sink_to`.

        A function with a method `as_sink()` is replaced by the sink that this method returns.

        Args:
            sink_func: A `SinkFunction`, an object with a method `invoke`, a function of one value, or a
                `StreamingFileSink`.

        Raises:
            TypeError: `sink_func` is none of these.
        """
        check_function(sink_func, SinkFunction, "invoke", "add_sink()")
        if hasattr(sink_func, "as_sink"):
            return self.sink_to(sink_func.as_sink())
        operator = op.SinkFunctionOperator(sink_func, self.get_type())
        return legacy_sink(self._values(), "Unnamed", operator)

    def sink_to(self, sink: Sink[T]) -> DataStreamSink:
        """Add a sink, such as a `FileSink` or a `KafkaSink`.

        A sink that is a `SupportsPreprocessing` may transform the stream first.

        Args:
            sink: A `FileSink`, `KafkaSink` or other `Sink`; each subtask of the job has one of its writers.

        Raises:
            TypeError: `sink` is not a `Sink`; pass a `SinkFunction` to `add_sink`.

        Example:
            >>> from pathlib import Path
            >>> sink = FileSink.for_row_format("words", Encoder.simple_string_encoder()).build()
            >>> _ = env.from_collection(["to", "be"], Types.STRING()).sink_to(sink)
            >>> Path(run_local(env).files[0]).read_text().splitlines()
            ['to', 'be']
        """
        require(sink, Sink, "sink_to()")
        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        stream = self if transformer is None else transformer.apply(self)
        return sink_of(stream, sink)

    def _sink(self, sink: Sink[Any]) -> DataStreamSink:
        transformation = SinkTransformation(
            id=next_id(self._environment),
            name="Sink",
            inputs=[transformation_of(self._values())],
            parallelism=self._environment.get_parallelism(),
            output_type=self.get_type(),
            writer=op.SinkWriterOperator(sink, self.get_type()),
            committer=op.CommitterOperator(sink) if sink.is_two_phase() else None,
            pre_commit=sink.pre_commit_topology(),
            user_location=user_location(),
        )
        transformations_of(self._environment).append(transformation)
        return DataStreamSink(self._environment, transformation)

    def _legacy_sink(self, name: str, operator: object) -> DataStreamSink:
        transformation = self._operator(name, operator, self.get_type(), kind=None, is_sink=True)
        return DataStreamSink(self._environment, transformation)

    def _collected_type(self) -> TypeInformation[Any]:
        return self.get_type()

    def collect_async(self) -> str:
        """Add the sink that sends the elements to the client, without executing the program, and return its id."""
        collect_id = uuid.uuid4().hex
        operator = op.CollectSinkOperator(collect_id, self._is_keyed, self.get_type())
        sink = self._legacy_sink("Data stream collect sink", operator)
        sink.set_parallelism(1).uid(op.collect_uid(transformation_of(sink).id))
        return collect_id

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the program and return the elements of the stream.

        The elements are those that PyFlink returns: `Types.FLOAT()` gives the shortest number, `Types.SQL_TIME()` whole
        seconds, `Types.PRIMITIVE_ARRAY(Types.BYTE())` a list of numbers, and a keyed stream `Row(key, value)`.

        Args:
            job_execution_name: Name of the job; None uses `DataStream Collect`.
            limit: Maximum number of elements, greater than 0; None returns all of them.

        Returns:
            An iterator that has to be closed; with `limit`, a list.

        Raises:
            ValueError: `limit` is not greater than 0.

        Example:
            >>> numbers = env.from_collection([1, 2, 3], Types.INT())
            >>> with numbers.execute_and_collect() as results:
            ...     print(sum(results))
            6
        """
        return self._collect(job_execution_name, limit)

    def _collect(self, job_execution_name: str | None, limit: int | None) -> CloseableIterator[Any] | list[Any]:
        if limit is not None and limit <= 0:
            raise ValueError(f"limit must be greater than 0, found {limit}")
        collect_id = self.collect_async()
        results: CloseableIterator[Any] = collect(
            self._environment, collect_id, job_execution_name or "DataStream Collect", limit
        )
        results.convert(collected(self._collected_type()))
        if limit is None:
            return results
        with results:
            return list(islice(results, limit))

    def to_spark(self, spark_session: Any, schema: object) -> Any:
        """Run the program and return the elements of the stream as a Spark DataFrame.

        The stream must be bounded. Its elements pass through this process and must fit into its memory.

        Args:
            spark_session: The `pyspark.sql.SparkSession` that creates the DataFrame.
            schema: The columns, such as `"word STRING, n INT"` or a `StructType`. Rows and tuples have one value per
                column, other elements fill a single column.

        Returns:
            A `pyspark.sql.DataFrame`.
        """
        with self.execute_and_collect() as results:
            rows = [value if isinstance(value, tuple) else (value,) for value in map(spark_value, results)]
        return spark_session.createDataFrame(rows, schema)


def _printable(stream: DataStream[Any]) -> DataStream[Any]:
    """Return the stream to print: as PyFlink's `_align_output_type`, convert some types to text first.

    PyFlink formats a Row with Python's text of its fields (`+I[a,None]`). Here it has Java's text (`+I[a, null]`), as
    everywhere else.
    """
    type_info = stream.get_type()
    if isinstance(type_info, PickledBytesTypeInfo):
        to_text: Callable[[Any], str] = as_text
    elif isinstance(type_info, RowTypeInfo):
        to_text = partial(to_java_string, type_info=type_info)
    else:
        return stream
    return with_operator(stream, "Map", op.MapOperator(to_text), Types.STRING())
