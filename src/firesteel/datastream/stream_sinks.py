"""How streams end: the methods of `DataStream` that add sinks."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

from firesteel.common.java_text import to_java_string
from firesteel.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation, Types
from firesteel.datastream import operator_descriptors as op
from firesteel.datastream.closeable_iterator import CloseableIterator
from firesteel.datastream.collected_values import collected
from firesteel.datastream.connectors.base import Sink
from firesteel.datastream.functions import SinkFunction
from firesteel.datastream.spark_dataframes import spark_value
from firesteel.datastream.stream_base import DataStreamSink, StreamBase, check_function, require
from firesteel.datastream.user_location import user_location
from firesteel.graph.transformations import SinkTransformation

if TYPE_CHECKING:
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")


class StreamSinks(StreamBase[T]):
    """The part of `DataStream` that ends streams."""

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints each element in Java's text: `2> value`, or `id:2> value` with `sink_identifier`."""
        stream = _printable(self._values())
        operator = op.PrintSinkOperator(sink_identifier, stream.get_type())
        return stream._legacy_sink("Print to Std. Out", operator)

    def add_sink(self, sink_func: SinkFunction[T]) -> DataStreamSink:
        """Hands each element to a `SinkFunction` or a `StreamingFileSink`.

        One that has a method `as_sink()` is replaced by the sink that it returns.
        """
        check_function(sink_func, SinkFunction, "invoke", "add_sink()")
        if hasattr(sink_func, "as_sink"):
            return self.sink_to(sink_func.as_sink())
        operator = op.SinkFunctionOperator(sink_func, self.get_type())
        return self._values()._legacy_sink("Unnamed", operator)

    def sink_to(self, sink: Sink[T]) -> DataStreamSink:
        """Writes the elements to a sink, e.g. a `FileSink`."""
        require(sink, Sink, "sink_to()")
        transformation = SinkTransformation(
            id=self._environment._ids.next(),
            name="Sink",
            inputs=[self._values()._transformation],
            parallelism=self._environment.get_parallelism(),
            output_type=self.get_type(),
            writer=op.SinkWriterOperator(sink, self.get_type()),
            committer=op.CommitterOperator(sink) if sink.is_two_phase() else None,
            pre_commit=sink.pre_commit_topology(),
            user_location=user_location(),
        )
        self._environment._transformations.append(transformation)
        return DataStreamSink(self._environment, transformation)

    def _legacy_sink(self, name: str, operator: Any) -> DataStreamSink:
        transformation = self._operator(name, operator, self.get_type(), kind=None, is_sink=True)
        return DataStreamSink(self._environment, transformation)

    def _collected_type(self) -> TypeInformation[Any]:
        return self.get_type()

    def collect_async(self) -> str:
        """Registers the sink that collects the elements for the client, without executing; gives its id."""
        collect_id = uuid.uuid4().hex
        operator = op.CollectSinkOperator(collect_id, self._is_keyed, self.get_type())
        sink = self._legacy_sink("Data stream collect sink", operator)
        sink.set_parallelism(1).uid(op.collect_uid(sink._transformation.id))
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
        """Runs the program and gives the stream's elements: an iterator, or with `limit` a list of the first ones.

        They are what PyFlink makes of Java's objects: of `Types.FLOAT()` the shortest number, of `Types.SQL_TIME()`
        whole seconds, of `Types.PRIMITIVE_ARRAY(Types.BYTE())` a list of numbers; of a keyed stream `Row(key, value)`.

        Example:
            >>> with stream.execute_and_collect() as results:
            ...     print(list(results))
        """
        return self._collect(job_execution_name, limit)

    def _collect(self, job_execution_name: str | None, limit: int | None) -> CloseableIterator[Any] | list[Any]:
        if limit is not None and limit <= 0:
            raise ValueError(f"limit must be greater than 0, found {limit}")
        collect_id = self.collect_async()
        results: CloseableIterator[Any] = self._environment._collect(
            collect_id, job_execution_name or "DataStream Collect", limit
        )
        results.convert(collected(self._collected_type()))
        if limit is None:
            return results
        with results:
            return list(islice(results, limit))

    def to_spark(self, spark_session: Any, schema: Any) -> Any:
        """Run the program and return the stream's elements as a DataFrame of Spark.

        The stream must end. Its elements pass through this process and must fit into its memory.

        Args:
            spark_session: The `pyspark.sql.SparkSession` that makes the DataFrame.
            schema: The columns, such as `"word STRING, n INT"` or a `StructType`; rows and tuples give a value per
                column, other elements one column.

        Returns:
            A `pyspark.sql.DataFrame`.
        """
        with self.execute_and_collect() as results:
            rows = [value if isinstance(value, tuple) else (value,) for value in map(spark_value, results)]
        return spark_session.createDataFrame(rows, schema)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _printable(stream: DataStream[Any]) -> DataStream[Any]:
    """Return the stream that the sink prints: PyFlink (`_align_output_type`) makes text of some types before it.

    There a Row has Python's text of its fields (`+I[a,None]`), here it has Java's (`+I[a, null]`), as elsewhere.
    """
    type_info = stream.get_type()
    if isinstance(type_info, PickledBytesTypeInfo):
        to_text: Callable[[Any], str] = _to_text
    elif isinstance(type_info, RowTypeInfo):
        to_text = partial(to_java_string, type_info=type_info)
    else:
        return stream
    return stream._new_stream(stream._operator("Map", op.MapOperator(to_text), Types.STRING()))
