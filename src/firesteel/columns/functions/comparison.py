"""Comparisons and logical predicates."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.calendar import shifted
from firesteel.columns.cells import Cell
from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    all_scalars,
    as_array,
    per_row,
    vector,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.nested_equality import comparable
from firesteel.columns.functions.signatures import BOOLEAN, signature
from firesteel.columns.row_keys import are_same
from firesteel.columns.type_families import INTERVALS, STRINGS, TIMESTAMPS
from firesteel.columns.type_rules import any_nullable, common_type
from firesteel.columns.type_text import type_text
from firesteel.columns.years import within_years

_NESTED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType)
_PYTHON: dict[str, Callable[[Cell, Cell], bool]] = {
    "=": lambda a, b: comparable(a) == comparable(b),
    "<>": lambda a, b: comparable(a) != comparable(b),
}
_ARROW: dict[str, Callable[[object, object], object]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

_EQUATIONS = ("=", "<>", "IN", "NOT IN", "NULLIF")
"""Calcite casts their operands to the type of `common_type`; for others Flink's code chooses the wider type."""


def comparable_types(name: str, types: Types) -> list[t.DataType]:
    """Return the types to which operands are cast before they are compared.

    A string operand is cast to the type of the other operand.

    Raises:
        FunctionError: The types cannot be compared.
    """
    others = [data_type for data_type in types if not isinstance(data_type, (*STRINGS, t.NullType))]
    texts = any(isinstance(data_type, STRINGS) for data_type in types)
    common = common_type(others if texts and others else types)
    if isinstance(common, t.NullType):
        return [t.BooleanType() for _ in types]
    if common is None or (texts and isinstance(common, (*_NESTED, *INTERVALS, t.VarBinaryType, t.BinaryType))):
        raise cannot_apply(name, types, f"<COMPARABLE_TYPE> {name} <COMPARABLE_TYPE>")
    if name not in _EQUATIONS:
        common = _wider(common, others)
    if isinstance(common, STRINGS):
        return [common.with_nullable(True) if isinstance(x, t.NullType) else x for x in types]
    return [common.with_nullable(data_type.is_nullable) for data_type in types]


def _wider(common: t.DataType, types: Types) -> t.DataType:
    """Return DOUBLE for FLOAT and DOUBLE; TIMESTAMP for it and a TIMESTAMP_LTZ of less precision, else the latter."""
    if isinstance(common, t.FloatType) and any(isinstance(x, t.DoubleType) for x in types):
        return t.DoubleType()
    zoned = [x.precision for x in types if isinstance(x, t.LocalZonedTimestampType)]
    local = [x.precision for x in types if isinstance(x, t.TimestampType)]
    if not zoned or not local or not isinstance(common, TIMESTAMPS):
        return common
    kind = t.LocalZonedTimestampType if max(zoned) >= max(local) else t.TimestampType
    return kind(max(zoned + local), kind=common.kind)


def _root(data_type: t.DataType) -> str:
    """Return the name of a type without its length, as Calcite calls it."""
    if isinstance(data_type, STRINGS):
        return "CHAR" if isinstance(data_type, t.CharType) else "VARCHAR"
    return "INTEGER" if isinstance(data_type, t.IntType) else type_text(data_type.not_null()).split("(")[0].split()[0]


def refuse_texts_and_numbers(types: Types) -> None:
    """Check that a text is not compared with a number, for which Flink has no code.

    Raises:
        FunctionError: it is.
    """
    if any(isinstance(x, STRINGS) for x in types) and any(isinstance(x, t.NumericType) for x in types):
        first, second = map(_root, types)
        raise FunctionError(
            f"implicit type conversion between {first} and {second} is not supported now; cast one of them"
        )


def _resolve_comparison(name: str) -> Callable[[Types, Operands], Resolved]:
    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) != 2:
            raise wrong_count(name, len(types), "2")
        if name in ("=", "<>"):
            refuse_texts_and_numbers(types)
        casts = comparable_types(name, types)
        if name not in _PYTHON and isinstance(casts[0], (*_NESTED, t.VariantType)):
            raise cannot_apply(name, types, f"<COMPARABLE_TYPE> {name} <COMPARABLE_TYPE>")
        return casts, t.BooleanType(any_nullable(types))

    return resolve


def _bind_comparison(name: str) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        if isinstance(call.types[0], _NESTED):
            return per_row(lambda _: _PYTHON[name])(call)
        return lambda columns, length: _ARROW[name](*columns)

    return bind


def _distinct(negated: bool) -> Callable[[CallSite], Kernel]:
    """Compare values as rows do, so that a condition gives what a join gives that has them as keys."""

    def bind(call: CallSite) -> Kernel:
        def kernel(columns: list[Column], length: int) -> Column:
            constant = all_scalars(columns)
            same = are_same(*(as_array(column, 1 if constant else length) for column in columns)) == negated
            return pa.scalar(bool(same[0])) if constant else pa.array(same)

        return kernel

    return bind


def _resolve_distinct(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("IS DISTINCT FROM", len(types), "2")
    refuse_texts_and_numbers(types)
    return comparable_types("IS DISTINCT FROM", types), t.BooleanType(False)


def _resolve_list(name: str) -> Callable[[Types, Operands], Resolved]:
    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) < 2:
            raise wrong_count(name, len(types), "2 or more")
        return comparable_types(name, types), t.BooleanType(any_nullable(types))

    return resolve


def _in(negated: bool) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        equal = _bind_comparison("=")(call)

        def kernel(columns: list[Column], length: int) -> Column:
            found = reduce(pc.or_kleene, (equal([columns[0], item], length) for item in columns[1:]))
            return pc.invert(found) if negated else found

        return kernel

    return bind


def _between(negated: bool) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        def kernel(columns: list[Column], length: int) -> Column:
            value, low, high = columns
            found = pc.and_kleene(pc.greater_equal(value, low), pc.less_equal(value, high))
            return pc.invert(found) if negated else found

        return kernel

    return bind


def _resolve_between(name: str) -> Callable[[Types, Operands], Resolved]:
    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) != 3:
            raise wrong_count(name, len(types), "3")
        casts = comparable_types(name, types)
        if isinstance(casts[0], _NESTED):
            raise cannot_apply(name, types, f"<COMPARABLE_TYPE> {name} <COMPARABLE_TYPE> AND <COMPARABLE_TYPE>")
        return casts, t.BooleanType(any_nullable(types))

    return resolve


def _truth(test: Callable[[Column], Column]) -> Callable[[CallSite], Kernel]:
    return vector(test)


def _overlaps(start1: Any, end1: Any, start2: Any, end2: Any) -> bool:
    """Return whether two periods overlap; the end of each is a point in time or an interval."""
    spans = []
    for start, end in ((start1, end1), (start2, end2)):
        moment = end if type(end) is type(start) else shifted(start, end)
        spans.append((min(start, moment), max(start, moment)))
    (low1, high1), (low2, high2) = spans
    return bool(low1 <= high2 and low2 <= high1)


_LOGIC = "BOOLEAN"
_TRUTH: dict[str, Callable[[Column], Column]] = {
    "IS TRUE": lambda x: pc.fill_null(x, False),
    "IS NOT TRUE": lambda x: pc.invert(pc.fill_null(x, False)),
    "IS FALSE": lambda x: pc.invert(pc.fill_null(x, True)),
    "IS NOT FALSE": lambda x: pc.fill_null(x, True),
    "IS UNKNOWN": pc.is_null,
    "IS NOT UNKNOWN": pc.is_valid,
}


FUNCTIONS = [
    *(Function(name, _resolve_comparison(name), _bind_comparison(name)) for name in _ARROW),
    Function("IS NULL", signature("IS NULL", BOOLEAN, "ANY", nullable=False), vector(pc.is_null)),
    Function("IS NOT NULL", signature("IS NOT NULL", BOOLEAN, "ANY", nullable=False), vector(pc.is_valid)),
    *(Function(name, signature(name, BOOLEAN, _LOGIC, nullable=False), _truth(test)) for name, test in _TRUTH.items()),
    Function("IS DISTINCT FROM", _resolve_distinct, _distinct(False)),
    Function("IS NOT DISTINCT FROM", _resolve_distinct, _distinct(True)),
    Function("IN", _resolve_list("IN"), _in(False)),
    Function("NOT IN", _resolve_list("NOT IN"), _in(True)),
    Function("BETWEEN", _resolve_between("BETWEEN"), _between(False)),
    Function("NOT BETWEEN", _resolve_between("NOT BETWEEN"), _between(True)),
    Function("NOT", signature("NOT", BOOLEAN, _LOGIC), vector(pc.invert)),
    Function("AND", signature("AND", BOOLEAN, _LOGIC, _LOGIC, variadic=True), vector(pc.and_kleene)),
    Function("OR", signature("OR", BOOLEAN, _LOGIC, _LOGIC, variadic=True), vector(pc.or_kleene)),
    Function(
        "OVERLAPS",
        signature("OVERLAPS", BOOLEAN, "DATETIME", "DATETIME_INTERVAL", "DATETIME", "DATETIME_INTERVAL"),
        per_row(lambda call: within_years(_overlaps)),
    ),
]
