"""Functions of the current time, watermark and database, and TYPEOF."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import (
    Bind,
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    always,
)
from firesteel.columns.functions.function_errors import cannot_apply
from firesteel.columns.functions.signatures import STRING, signature
from firesteel.columns.functions.time_zones import local_datetime
from firesteel.columns.rex import Literal
from firesteel.columns.type_families import TIMESTAMPS
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import UTC

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
INSTANT = t.LocalZonedTimestampType(3)


def _now(context: EvaluationContext) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=context.now_us())


def _clock(context: EvaluationContext) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=context.clock_us() // 1000 * 1000)


def _local(context: EvaluationContext) -> datetime.datetime:
    return local_datetime(_now(context), context.time_zone)


def _watermark(context: EvaluationContext) -> datetime.datetime | None:
    millis = context.watermark_ms()
    return None if millis is None else _EPOCH + datetime.timedelta(milliseconds=millis)


def _scalar(compute: Callable[[EvaluationContext], object]) -> Bind:
    """Return the kernel of a value that is constant within a batch."""

    def bind(call: CallSite) -> Kernel:
        return lambda columns, length: pa.scalar(compute(call.context), call.arrow_type)

    return bind


def _resolve_watermark(types: Types, operands: Operands) -> Resolved:
    if len(types) != 1 or not isinstance(types[0], TIMESTAMPS):
        raise cannot_apply("CURRENT_WATERMARK", types, "CURRENT_WATERMARK(<TIMESTAMP>)")
    return list(types), type(types[0])(3)


def _bind_watermark(call: CallSite) -> Kernel:
    zoned = isinstance(call.type, t.LocalZonedTimestampType)

    def kernel(columns: list[Column], length: int) -> pa.Scalar:
        moment = _watermark(call.context)
        if moment is not None and not zoned:
            moment = moment.replace(tzinfo=None)
        return pa.scalar(moment, call.arrow_type)

    return kernel


def _resolve_typeof(types: Types, operands: Operands) -> Resolved:
    if len(types) == 2 and not (isinstance(operands[1], Literal) and isinstance(operands[1].value, bool)):
        raise cannot_apply("TYPEOF", types, "TYPEOF(<ANY>)", "TYPEOF(<ANY>, <BOOLEAN LITERAL>)")
    return signature("TYPEOF", STRING, "ANY", "BOOLEAN", optional=1, nullable=True)(types, operands)


def _bind_typeof(call: CallSite) -> Kernel:

    text = type_text(call.types[0])
    return lambda columns, length: pa.scalar(text)


def _current(name: str, result: t.DataType, compute: Callable[[EvaluationContext], object]) -> Function:
    return Function(name, signature(name, result), _scalar(compute), momentary=always)


FUNCTIONS = [
    _current("CURRENT_TIMESTAMP", INSTANT, _now),
    _current("NOW", INSTANT, _now),
    _current("CURRENT_ROW_TIMESTAMP", INSTANT, _clock),
    _current("PROCTIME", INSTANT.with_kind(t.TimestampKind.PROCTIME), _clock),
    _current("LOCALTIMESTAMP", t.TimestampType(3), _local),
    _current("CURRENT_DATE", t.DateType(), lambda context: _local(context).date()),
    _current("CURRENT_TIME", t.TimeType(0), lambda context: _local(context).time().replace(microsecond=0)),
    _current("LOCALTIME", t.TimeType(0), lambda context: _local(context).time().replace(microsecond=0)),
    Function("CURRENT_DATABASE", signature("CURRENT_DATABASE", STRING), _scalar(lambda context: context.database)),
    Function("CURRENT_WATERMARK", _resolve_watermark, _bind_watermark, momentary=always),
    Function("TYPEOF", _resolve_typeof, _bind_typeof),
]
