"""Equations of columns in which NULL equals NULL, by which joins can still look rows up."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from types import UnionType

from firesteel.columns.column_types import (
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    TimestampType,
    TimeType,
    VarCharType,
)
from firesteel.columns.rex import Call, Literal, Rex
from firesteel.table.planner.rel.rex_tools import input_refs
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope

_RESOLVER = ExpressionResolver(Scope(()), None)

_SOME_VALUE: tuple[tuple[type[DataType] | UnionType, object], ...] = (
    (IntegralType, 0),
    (DecimalType, Decimal(0)),
    (DoubleType | FloatType, 0.0),
    (CharType | VarCharType, ""),
    (BooleanType, False),
    (DateType, datetime.date(1970, 1, 1)),
    (TimeType, datetime.time(0)),
    (TimestampType, datetime.datetime(1970, 1, 1)),
)
"""A value of each type that stands for NULL in a key; values of other types are put into arrays."""


def call(name: str, *operands: Rex) -> Rex:
    """Return the call of a library function."""
    return _RESOLVER.call(name, operands)


def may_be_true(conditions: Sequence[Rex]) -> Rex:
    """Return the condition that none of the conditions is false: a row of which NOT IN is not true."""
    result = conditions[0]
    for part in conditions[1:]:
        result = call("AND", result, part)
    return call("IS NOT FALSE", result)


def same_values(left: Sequence[Rex], right: Sequence[Rex]) -> list[Rex]:
    """Return the conditions that values on the left are those on the right; NULL is NULL."""
    return [part for pair in zip(left, right, strict=True) for part in _null_safe_equal(*pair)]


def equations(part: Rex, width: int) -> list[Rex]:
    """Return what a join compares keys by instead of IS NOT DISTINCT FROM; other conditions stay as they are."""
    if not (isinstance(part, Call) and part.function == "IS NOT DISTINCT FROM"):
        return [part]
    sides = [{index < width for index in input_refs(operand)} for operand in part.operands]
    return _null_safe_equal(*part.operands) if sides in ([{True}, {False}], [{False}, {True}]) else [part]


def _null_safe_equal(a: Rex, b: Rex) -> list[Rex]:
    if not (a.type.is_nullable or b.type.is_nullable):
        return [call("=", a, b)]
    # Without it, NULL would equal the value that stands for it.
    are_null = call("=", call("IS NULL", a), call("IS NULL", b))
    value = next((value for kinds, value in _SOME_VALUE if isinstance(b.type, kinds)), None)
    if value is None:
        return [call("=", call("ARRAY", a), call("ARRAY", b))]
    return [are_null, call("=", _filled(a, value), _filled(b, value))]


def _filled(rex: Rex, value: object) -> Rex:
    kind = rex.type.not_null()
    return Call("COALESCE", (rex, Literal(value, kind)), kind)
