"""The choice of vectorized calls."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.ranked_values import VectorRanked
from firesteel.columns.kernels.calls.vector_arrays import VectorArrayAgg
from firesteel.columns.kernels.calls.vector_calls import (
    NUMBERS,
    TIMES,
    VectorCall,
    VectorCount,
    VectorEnd,
    VectorExtreme,
    VectorSum,
)
from firesteel.columns.kernels.calls.vector_collect import VectorCollect
from firesteel.columns.kernels.calls.vector_decimals import NARROW, VectorDecimalExtreme, VectorDecimalSum
from firesteel.columns.kernels.calls.vector_lists import VectorListAgg
from firesteel.columns.kernels.calls.vector_values import VectorStates, VectorValue
from firesteel.columns.values import arrow_type

_NUMERIC: dict[str, type[VectorCall]] = {
    "SUM": VectorSum,
    "$SUM0": VectorSum,
    "AVG": VectorSum,
    "MIN": VectorExtreme,
    "MAX": VectorExtreme,
}
_ARRAYS = ("ARRAY_AGG", "ARRAY_AGG_IGNORE_NULLS")


def vector_calls(
    plans: Sequence[CallPlan], input_types: Sequence[t.DataType], retracts: bool = False
) -> list[VectorCall] | None:
    """Return the calls of numeric functions on numbers, or None if there are others.

    Their accumulators are numbers, which operators keep as columns in their state.

    Args:
        plans: The calls.
        input_types: The types of the input's columns.
        retracts: Whether rows may be retracted.
    """
    return _all([_numeric(plan, [input_types[i] for i in plan.arguments]) for plan in plans], retracts)


def mergeable_calls(plans: Sequence[CallPlan], input_types: Sequence[t.DataType]) -> list[VectorCall] | None:
    """Return the calls of functions whose states are columns that may be merged; None if there are others.

    As in Flink, FIRST_VALUE and LAST_VALUE are not among them: the first row of a part need not be the first of all.
    """
    found = []
    for plan in plans:
        arguments, name = [input_types[i] for i in plan.arguments], _name(plan)
        call = _numeric(plan, arguments) or _decimal(plan, arguments)
        if call is None and name == "LISTAGG":
            call = VectorListAgg(plan)
        elif call is None and name in ("MIN", "MAX") and plan.type == arguments[0]:
            call = VectorValue(plan)
        found.append(call)
    return _all(found, False)


def group_calls(
    plans: Sequence[CallPlan], input_types: Sequence[t.DataType], retracts: bool = False
) -> list[VectorCall] | None:
    """Return the calls of built-in functions; None if there are others."""
    return _all([_of_groups(plan, [input_types[i] for i in plan.arguments], retracts) for plan in plans], retracts)


def window_calls(
    plans: Sequence[CallPlan], input_types: Sequence[t.DataType], retracts: bool
) -> list[VectorCall] | None:
    """Return the calls of built-in functions; None if there are others.

    The state of a call is an object that changes in place: windows have no tables for values of ranked calls, and add
    to those of collections without a look at them.
    """
    found = []
    for plan in plans:
        arguments = [input_types[i] for i in plan.arguments]
        call = _of_groups(plan, arguments, retracts)
        is_of_groups = isinstance(call, VectorRanked | VectorArrayAgg | VectorCollect)
        found.append(_states(plan, arguments, retracts) if is_of_groups else call)
    return _all(found, retracts)


def _of_groups(plan: CallPlan, arguments: list[t.DataType], retracts: bool) -> VectorCall | None:
    fastest = _numeric(plan, arguments) or _decimal(plan, arguments) or _value(plan, arguments) or _list(plan)
    choices = (fastest, _ranked(plan, arguments), _states(plan, arguments, retracts))
    return next((call for call in choices if call and (call.is_retractable or not retracts)), None)


def _all(found: list[VectorCall | None], retracts: bool) -> list[VectorCall] | None:
    calls = [call for call in found if call is not None and (call.is_retractable or not retracts)]
    return calls if len(calls) == len(found) else None


def _name(plan: CallPlan) -> str | None:
    """Return the name of a built-in function whose calls see each row once, in the order of arrival."""
    return None if not isinstance(plan.function, str) or plan.distinct or plan.order_by else plan.function.upper()


def _numeric(plan: CallPlan, arguments: list[t.DataType]) -> VectorCall | None:
    name = _name(plan)
    if name == "COUNT":
        return VectorCount(plan)
    make = _NUMERIC.get(name or "")
    if make is None or not isinstance(plan.type, NUMBERS):
        return None
    # An argument of another type than the result is converted in ways that arrays do not follow.
    return make(plan) if isinstance(arguments[0], type(plan.type)) else None


def _decimal(plan: CallPlan, arguments: list[t.DataType]) -> VectorCall | None:
    name = _name(plan)
    if name not in _NUMERIC or not isinstance(plan.type, t.DecimalType) or not isinstance(arguments[0], t.DecimalType):
        return None
    if name in ("MIN", "MAX"):
        return VectorDecimalExtreme(plan) if plan.type.precision <= NARROW else None
    # The type of sums and averages, unless the planner has cast them.
    is_sum = plan.type.precision == 38 and plan.type.scale >= arguments[0].scale
    is_exact = name == "AVG" or plan.type.scale == arguments[0].scale
    return VectorDecimalSum(plan, arguments[0]) if is_sum and is_exact else None


def _value(plan: CallPlan, arguments: list[t.DataType]) -> VectorCall | None:
    if _name(plan) is None or not VectorValue.is_known(plan):
        return None
    if not isinstance(plan.type, (*NUMBERS, *TIMES)) or arrow_type(plan.type) != arrow_type(arguments[0]):
        return VectorValue(plan)
    return VectorExtreme(plan) if _name(plan) in ("MIN", "MAX") else VectorEnd(plan)


def _ranked(plan: CallPlan, arguments: list[t.DataType]) -> VectorCall | None:
    is_ranked = _name(plan) is not None and VectorRanked.is_known(plan, arguments)
    return VectorRanked(plan, arguments[0]) if is_ranked else None


def _states(plan: CallPlan, arguments: list[t.DataType], retracts: bool) -> VectorCall | None:
    name = _name(plan) or ""
    aggregate = find_aggregate(name)
    if aggregate is None:
        return None
    return VectorStates(plan, aggregate.create(arguments, plan.type, retracts))


def _list(plan: CallPlan) -> VectorCall | None:
    name = _name(plan)
    if name == "LISTAGG":
        return VectorListAgg(plan)
    if name == "COLLECT" and not _has_parts(arrow_type(plan.type).key_type):
        return VectorCollect(plan)
    is_array = name in _ARRAYS and not _has_parts(arrow_type(plan.type).value_type)
    return VectorArrayAgg(plan, name != "ARRAY_AGG") if is_array else None


def _has_parts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_null(kind))
