"""Functions of batches on streams: `DataStream.map_batches` and the methods of `AsyncDataStream`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from firesteel.common.checks import require, with_class
from firesteel.common.time import Time
from firesteel.common.typeinfo import PickledBytesTypeInfo
from firesteel.functions.async_retry_strategies import AsyncRetryStrategy
from firesteel.functions.batch_functions import AsyncBatchFunction, BatchFormat, MapBatchFunction
from firesteel.functions.operator_builder import with_operator
from firesteel.functions.operator_descriptors import BatchOperator

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.datastream.data_stream import DataStream

__all__ = ["BatchSettings", "with_batches"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class BatchSettings:
    """The settings of `map_batches`, see there; `timeout` and `ordered` are those of `AsyncDataStream`."""

    batch_size: int
    batch_wait: Time | None = None
    format: str = "rows"
    retry_strategy: object = None
    capacity: int = 1
    timeout: Time | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        """Check the types and numbers."""
        for name, number in (("batch_size", self.batch_size), ("capacity", self.capacity)):
            require(number, int, name)
            if number < 1:
                raise ValueError(f"{name} must be 1 or more, found {number}")
        for name, time in (("batch_wait", self.batch_wait), ("timeout", self.timeout)):
            require(time, (Time, type(None)), name)
            if time is not None and time.to_milliseconds() < 0:
                raise ValueError(f"{name} must be 0 ms or more, found {time}")
        require(self.retry_strategy, (AsyncRetryStrategy, type(None)), "retry_strategy")


def with_batches(
    stream: DataStream[T],
    function: object,
    settings: BatchSettings,
    output_type: TypeInformation[R] | None,
) -> DataStream[R]:
    """Return the results of a function of batches over a stream without keys."""
    if not isinstance(function, MapBatchFunction | AsyncBatchFunction) and not callable(function):
        raise TypeError(
            "a function of batches is a MapBatchFunction, an AsyncBatchFunction or a callable; found "
            f"{with_class(function)}"
        )
    if settings.capacity > 1 and not isinstance(function, AsyncBatchFunction):
        raise ValueError(f"a capacity of {settings.capacity} batches needs an AsyncBatchFunction")
    operator = BatchOperator(
        function,
        settings.batch_size,
        _millis(settings.batch_wait),
        _format(settings.format, stream, output_type),
        cast("TypeInformation[object]", stream.get_type()),
        cast("TypeInformation[object] | None", output_type),
        settings.capacity,
        settings.ordered,
        _millis(settings.timeout),
        cast("AsyncRetryStrategy[object] | None", settings.retry_strategy),
    )
    return with_operator(stream, "Map Batches", operator, output_type)


def _millis(time: Time | None) -> int:
    return 0 if time is None else time.to_milliseconds()


def _format(name: str, stream: DataStream[T], output_type: TypeInformation[R] | None) -> BatchFormat:
    names = [known.value for known in BatchFormat]
    if name not in names:
        raise ValueError(f"format must be one of {', '.join(names)}; found {name!r}")
    if name != "rows":
        for what, kind in (("input", stream.get_type()), ("results", output_type)):
            if kind is None or isinstance(kind, PickledBytesTypeInfo):
                raise ValueError(
                    f"format {name!r} needs the type of the {what}, which has none; declare it by the output_type of "
                    "the operator"
                )
    return BatchFormat(name)
