"""The door by which the packages above add operators to a program, and streams to each other.

Streams and environments show PyFlink's methods alone, as editors list them. What other modules need of them beyond
these is here: the transformation behind a stream, the operator that reads it, and the program that they belong to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.graph.partitioner import Partitioner
from firesteel.graph.transformations import OperatorTransformation, PythonOperatorKind, Transformation

if TYPE_CHECKING:
    from firesteel.common.configuration import Configuration
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.datastream.data_stream import DataStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import OperatorSettings, StreamBase


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


def with_partitioner(stream: StreamBase[Any], partitioner: Partitioner) -> DataStream[Any]:
    """Return a stream whose elements a partitioner distributes among the subtasks of its consumers."""
    return stream_of(stream, stream._partition(partitioner))


def transformations_of(environment: StreamExecutionEnvironment) -> list[Transformation]:
    """Return the transformations of the program so far: the list itself, which may be changed."""
    return environment._transformations


def next_id(environment: StreamExecutionEnvironment) -> int:
    """Return the id of the next transformation."""
    return environment._ids.next()


def configuration_of(environment: StreamExecutionEnvironment) -> Configuration:
    """Return the options of the environment itself, not a copy."""
    return environment._configuration
