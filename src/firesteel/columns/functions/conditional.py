"""CASE, IF, COALESCE, NULLIF, GREATEST and related functions.

`firesteel.columns.lazy_calls` computes those that evaluate operands lazily.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.functions.comparison import comparable_types, refuse_texts_and_numbers
from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    per_row,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.signatures import BOOLEAN, signature
from firesteel.columns.type_families import APPROXIMATE, TIMESTAMPS
from firesteel.columns.type_rules import any_nullable, common_argument_type, common_type


def _common(name: str, types: Types, common: t.DataType | None) -> t.DataType:
    if common is None:
        raise cannot_apply(name, types, f"{name}(<COMMON>...)")
    return common


def _resolve_case(types: Types, operands: Operands) -> Resolved:
    if len(types) < 2:
        raise wrong_count("CASE", len(types), "2 or more")
    conditions, values = types[: len(types) // 2 * 2 : 2], list(types[1::2])
    if not all(isinstance(condition, (t.BooleanType, t.NullType)) for condition in conditions):
        raise FunctionError(f"Expected a boolean type in CASE, found {cannot_apply('CASE', conditions)}")
    values += [types[-1]] if len(types) % 2 else [t.NullType()]
    result = common_type(values)
    if result is None:
        raise FunctionError("Illegal mixing of types in CASE or COALESCE statement")
    if isinstance(result, t.NullType):
        raise FunctionError("ELSE clause or at least one THEN clause must be non-NULL")
    casts = [
        BOOLEAN.with_nullable(x.is_nullable)
        if index % 2 == 0 and index != len(types) - len(types) % 2
        else result.with_nullable(x.is_nullable)
        for index, x in enumerate(types)
    ]
    return casts, result


def _resolve_if(types: Types, operands: Operands) -> Resolved:
    if len(types) != 3:
        raise wrong_count("IF", len(types), "3")
    if not isinstance(types[0], (t.BooleanType, t.NullType)):
        raise cannot_apply("IF", types, "IF(<BOOLEAN>, <COMMON>, <COMMON>)")
    # Calcite takes the first of two timestamps as it is.
    deciding = types[1:2] if all(isinstance(x, TIMESTAMPS) for x in types[1:]) else types[1:]
    result = _common("IF", types[1:], common_type(deciding)).with_nullable(any_nullable(types))
    branches = [result.with_nullable(data_type.is_nullable) for data_type in types[1:]]
    return [BOOLEAN.with_nullable(types[0].is_nullable), *branches], result


def _resolve_coalesce(types: Types, operands: Operands) -> Resolved:
    if not types:
        raise wrong_count("COALESCE", 0, "1 or more")
    result = _common("COALESCE", types, common_argument_type(types))
    result = result.with_nullable(all(data_type.is_nullable for data_type in types))
    return [result.with_nullable(data_type.is_nullable) for data_type in types], result


def _resolve_ifnull(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("IFNULL", len(types), "2")
    return _resolve_coalesce(types, operands)


def _resolve_nullif(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("NULLIF", len(types), "2")
    refuse_texts_and_numbers(types)
    comparable_types("NULLIF", types)
    return list(types), types[0].nullable()


def _lazy(call: CallSite) -> Kernel:
    raise AssertionError("`lazy_calls` computes this function")


def _planned(call: CallSite) -> Kernel:
    raise AssertionError("the planner makes CASE of this function")


def _extreme(compute: Callable[..., Any]) -> Callable[[CallSite], Kernel]:
    """Return GREATEST or LEAST; the result is NULL if an operand is NULL."""
    is_greatest = compute is pc.max_element_wise
    choose = max if is_greatest else min

    def bind(call: CallSite) -> Kernel:
        if is_greatest and isinstance(call.type, APPROXIMATE):
            return _greatest_or_nan
        if isinstance(call.type, (t.NumericType, t.DateType, t.TimestampType)) and not isinstance(
            call.type, t.DecimalType
        ):
            return lambda columns, length: compute(*columns, skip_nulls=False)
        return per_row(lambda _: lambda *values: choose(values))(call)

    return bind


def _greatest_or_nan(columns: list[Column], length: int) -> Column:
    """Return the greatest numbers, of which NaN is one; Arrow leaves it out."""
    has_nan = reduce(pc.or_, map(pc.is_nan, columns))
    greatest = pc.max_element_wise(*columns, skip_nulls=False)
    return pc.if_else(has_nan, pa.scalar(math.nan, greatest.type), greatest)


def _first(types: Types, operands: Operands) -> t.DataType | None:
    return None if isinstance(types[0], (t.ArrayType, t.MapType, t.MultisetType, t.RowType)) else types[0]


FUNCTIONS = [
    Function("CASE", _resolve_case, _lazy),
    Function("IF", _resolve_if, _lazy),
    Function("COALESCE", _resolve_coalesce, _lazy),
    Function("IFNULL", _resolve_ifnull, _lazy),
    Function("NULLIF", _resolve_nullif, _planned),
    Function(
        "GREATEST",
        signature("GREATEST", _first, "ANY", variadic=True, common=True),
        _extreme(pc.max_element_wise),
    ),
    Function("LEAST", signature("LEAST", _first, "ANY", variadic=True, common=True), _extreme(pc.min_element_wise)),
]
