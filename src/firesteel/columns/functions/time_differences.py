"""`(a - b) DAY` and the like: differences of times as intervals. Flink: Calcite's operator MINUS_DATE."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.calendar import months_between
from firesteel.columns.functions.function import CallSite, Column, Function, Kernel, Operands, Resolved, Types, per_row
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply
from firesteel.columns.type_families import DATETIMES, DAY_TIME, YEAR_MONTH
from firesteel.columns.type_rules import any_nullable

_DIGITS = 3
"""Flink subtracts milliseconds."""


def _resolve(interval: t.DataType, kinds: tuple[type, ...]) -> Callable[[Types, Operands], Resolved]:
    def resolve(types: Types, operands: Operands) -> Resolved:
        if not all(isinstance(kind, kinds) for kind in types):
            raise cannot_apply("-", types, "(<DATETIME> - <DATETIME>) <INTERVAL QUALIFIER>")
        if type(types[0]) is not type(types[1]):
            raise FunctionError("Parameters must be of the same type")
        return [_milliseconds(kind) for kind in types], interval.with_nullable(any_nullable(types))

    return resolve


def _milliseconds(kind: t.DataType) -> t.DataType:
    match kind:
        case t.TimestampType() | t.LocalZonedTimestampType():
            return type(kind)(_DIGITS, kind.is_nullable)
        case t.DateType():
            return t.TimestampType(_DIGITS, kind.is_nullable)
        case _:
            return kind


def _bind_duration(call: CallSite) -> Kernel:
    unit = pa.int64() if isinstance(call.types[0], t.TimeType) else None

    def kernel(columns: list[Column], length: int) -> Column:
        left, right = (column if unit is None else column.cast(pa.time64("us")).cast(unit) for column in columns)
        return pc.subtract(left, right).cast(call.arrow_type)

    return kernel


_bind_months = per_row(lambda _: lambda left, right: months_between(right, left))

DAYS, MONTHS = "MINUS DAY TO SECOND", "MINUS YEAR TO MONTH"
FUNCTIONS = [
    Function(DAYS, _resolve(DAY_TIME, (*DATETIMES, t.TimeType)), _bind_duration),
    Function(MONTHS, _resolve(YEAR_MONTH, DATETIMES), _bind_months),
]
