"""The door by which streams, tables and connectors add operators to a program.

Streams and environments show PyFlink's methods alone, as editors list them. What other modules need of them beyond
these is here: the transformation behind a stream, the operator that reads it, and the program that they belong to.
Connectors, which do not import `datastream`, use it too, for the streams that they are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.graph.partitioner import Partitioner
from firesteel.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    PythonOperatorKind,
    Transformation,
)

if TYPE_CHECKING:
    from firesteel.common.configuration import Configuration
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.datastream.data_stream import DataStream, KeyedStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink, OperatorSettings, StreamBase
    from firesteel.datastream.streams.stream_sinks import StreamSinks
    from firesteel.functions.closeable_iterator import CloseableIterator
    from firesteel.functions.connector_base import Sink


def transformation_of(stream: OperatorSettings) -> Transformation:
    """Return the transformation of a stream or sink."""
    return stream._transformation


def is_keyed(stream: StreamBase[Any]) -> bool:
    """Return whether the elements of a stream are pairs with a key."""
    return stream._is_keyed


def key_type_of(stream: StreamBase[Any]) -> TypeInformation[Any] | None:
    """Return the type of the keys of a stream; None if none is declared."""
    return stream._key_type


def values_of(stream: StreamBase[Any]) -> DataStream[Any]:
    """Return the stream of the plain elements."""
    return stream._values()


def add_operator(
    stream: StreamBase[Any],
    name: str,
    operator: object,
    output_type: TypeInformation[Any] | None,
    *,
    kind: PythonOperatorKind | None = PythonOperatorKind.PROCESS,
    cls: type[OperatorTransformation] = OperatorTransformation,
    other: StreamBase[Any] | None = None,
    **settings: Any,
) -> OperatorTransformation:
    """Add an operator that reads a stream, and `other` as its second input."""
    return stream._operator(name, operator, output_type, kind=kind, cls=cls, other=other, **settings)


def stream_of(stream: StreamBase[Any], transformation: Transformation) -> DataStream[Any]:
    """Return the output of a transformation of the same program as a stream."""
    return stream._new_stream(transformation)


def stream_like_input(stream: StreamBase[Any], transformation: Transformation) -> DataStream[Any]:
    """Return the output of a transformation, which gets the parallelism of its input."""
    return stream._like_input(transformation)


def with_operator(
    stream: StreamBase[Any],
    name: str,
    operator: object,
    output_type: TypeInformation[Any] | None,
    *,
    kind: PythonOperatorKind | None = PythonOperatorKind.PROCESS,
    other: StreamBase[Any] | None = None,
) -> DataStream[Any]:
    """Return the output of an operator that reads a stream, and `other` as its second input."""
    return stream_of(stream, add_operator(stream, name, operator, output_type, kind=kind, other=other))


def add_partitioner(stream: StreamBase[Any], partitioner: Partitioner) -> PartitionTransformation:
    """Add a partitioner that reads a stream."""
    return stream._partition(partitioner)


def with_partitioner(stream: StreamBase[Any], partitioner: Partitioner) -> DataStream[Any]:
    """Return a stream whose elements a partitioner distributes among the subtasks of its consumers."""
    return stream_of(stream, add_partitioner(stream, partitioner))


def taken_values_of(stream: DataStream[Any], output_type: TypeInformation[Any]) -> DataStream[Any]:
    """Return the second elements of pairs as a stream."""
    return stream._take_values(output_type)


def keyed_by_elements(stream: DataStream[Any], key_type: TypeInformation[Any]) -> KeyedStream[Any, Any]:
    """Return a stream of pairs with a key as a keyed stream."""
    return stream._keyed_by_elements(key_type)


def keyed_by_nothing(stream: DataStream[Any]) -> KeyedStream[Any, int]:
    """Return a stream whose elements all have the same key."""
    return stream._key_by_nothing()


def legacy_sink(stream: DataStream[Any], name: str, operator: object) -> DataStreamSink:
    """Add a sink that is an operator, and return it."""
    return stream._legacy_sink(name, operator)


def sink_of(stream: StreamSinks[Any], sink: Sink[Any]) -> DataStreamSink:
    """Add a sink and return it."""
    return stream._sink(sink)


def transformations_of(environment: StreamExecutionEnvironment) -> list[Transformation]:
    """Return the transformations of the program so far: the list itself, which may be changed."""
    return environment._transformations


def is_unexecuted(environment: StreamExecutionEnvironment) -> bool:
    """Return whether there are operators that were neither executed nor part of a plan that was asked for."""
    return environment._is_unexecuted()


def next_id(environment: StreamExecutionEnvironment) -> int:
    """Return the id of the next transformation."""
    return environment._ids.next()


def configuration_of(environment: StreamExecutionEnvironment) -> Configuration:
    """Return the options of the environment itself, not a copy."""
    return environment._configuration


def collect(
    environment: StreamExecutionEnvironment, collect_id: str, job_name: str | None, limit: int | None
) -> CloseableIterator[Any]:
    """Run the program and return the elements that arrive at a collecting sink."""
    return environment._collect(collect_id, job_name, limit)


def check(environment: StreamExecutionEnvironment, job_name: str | None) -> None:
    """Raise the error with which a submission of the program so far would be rejected."""
    environment._check(job_name)
