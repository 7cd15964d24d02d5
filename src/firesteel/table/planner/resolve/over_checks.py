"""Checks of windows, frames and arguments of OVER, which Flink's validator makes before it plans."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from firesteel.columns.column_types import DataType, IntegralType, NullType, NumericType
from firesteel.columns.functions.function_errors import cannot_apply, wrong_count
from firesteel.columns.interval_types import YearMonthIntervalType
from firesteel.columns.rex import Literal, Rex
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table.planner.rel.changelog import is_proctime, is_rowtime
from firesteel.table.planner.resolve.scope import illegal_null
from firesteel.table.syntax.unresolved import UNBOUNDED, Apply, Bound, Lit, Star, WindowSpec, where

NAVIGATION = frozenset({"LAG", "LEAD"})
RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE"})
ARGUMENTS = {
    **dict.fromkeys(RANKINGS, range(1)),
    "NTILE": range(1, 2),
    **dict.fromkeys(NAVIGATION, range(1, 4)),
}
"""How many arguments each function takes that is no aggregate function."""


def check_reference(window: WindowSpec, base: WindowSpec) -> None:
    """Check a window that is made out of a named one.

    Raises:
        ValidationException: It has a partition of its own, or both have an order.
    """
    if window.partition_by:
        raise _invalid("PARTITION BY not allowed with existing window reference")
    if window.order_by and base.order_by:
        raise _invalid("ORDER BY not allowed in both base and referenced windows")


def check_time_order(spec: WindowSpec, order: Sequence[Rex]) -> None:
    """Check the order and the bounds of a window of the Table API. Flink: `OverTypeStrategy`.

    Raises:
        ValidationException: It is not ordered by a time attribute, or a bound is negative, or of no rows.
    """
    if not spec.by_time:
        return
    for rex in order:
        if not (is_rowtime(rex.type) or is_proctime(rex.type)):
            raise ValidationException(
                f"Second argument in OVER window must be a TIME ATTRIBUTE, but is: {type_text(rex.type)}"
            )
    for name, bound in (("Preceding", spec.preceding), ("Following", spec.following)):
        amount = None if bound is None else _number(bound)
        if amount is not None and amount <= 0:
            raise ValidationException(f"{name} row interval must be larger than 0.")


def check_frame(function: object, spec: WindowSpec, order: Sequence[Rex]) -> None:
    """Check the frame of a window.

    Args:
        function: The function, None in the Table API, where each window has a frame.
        spec: The window.
        order: What its rows are ordered by.

    Raises:
        ValidationException: The function takes no frame, or the bounds are not those of a frame over this order.
        TableException: Flink has no plan for the frame.
    """
    if spec.frame is None:
        return
    if function in RANKINGS or function in NAVIGATION:
        raise _invalid("ROW/RANGE not allowed with RANK, DENSE_RANK or ROW_NUMBER functions")
    lower, upper = spec.preceding, spec.following
    assert lower is not None
    assert upper is not None
    if lower == ("FOLLOWING", UNBOUNDED):
        raise _invalid("UNBOUNDED FOLLOWING cannot be specified for the lower frame boundary")
    if upper == ("PRECEDING", UNBOUNDED):
        raise _invalid("UNBOUNDED PRECEDING cannot be specified for the upper frame boundary")
    for bound in (lower, upper):
        if spec.frame == "ROWS":
            _check_rows(bound)
        else:
            _check_range(bound, [rex.type for rex in order])


def _check_rows(bound: Bound) -> None:
    value = _number(bound)
    if value is not None and (value < 0 or value != int(value)):
        raise _invalid("ROWS value must be a non-negative integral constant")


def _check_range(bound: Bound, order: Sequence[DataType]) -> None:
    if _number(bound) is not None and not (order and isinstance(order[0], NumericType)):
        raise _invalid("Data Type mismatch between ORDER BY and RANGE clause")
    amount = bound[1]
    if isinstance(amount, Lit | Literal) and isinstance(amount.type, YearMonthIntervalType):
        raise TableException("Cannot generate a valid execution plan: RANGE by months; give a number of days")


def _number(bound: Bound) -> int | float | Decimal | None:
    amount = bound[1]
    value = amount.value if isinstance(amount, Lit | Literal) else None
    return value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def check_call(name: str, call: Apply, arguments: Sequence[Rex]) -> None:
    """Check the arguments of a ranking, LAG or LEAD.

    Raises:
        ValidationException: There are more or fewer, the offset of LAG is no integer, the number of tiles no literal
            above zero, one of them is a NULL without a type, or they are DISTINCT.
    """
    counts = ARGUMENTS.get(name)
    if counts is None:
        return
    place = where(call.position)
    if any(isinstance(operand, Star) for operand in call.operands):
        raise _invalid(f"{place}Unknown identifier '*'")
    if len(arguments) not in counts:
        raise _invalid(f"{place}{wrong_count(name, len(arguments), str(counts[0]))}")
    if call.distinct:
        raise _invalid(f"{place}DISTINCT/ALL not allowed with {name} function")
    if any(isinstance(argument.type, NullType) for argument in arguments):
        raise illegal_null(place)
    number = arguments[0] if name == "NTILE" else arguments[1] if len(arguments) > 1 else None
    if number is not None and not isinstance(number.type, IntegralType):
        form = "NTILE(<INTEGER>)" if name == "NTILE" else f"{name}(<ANY>, <INTEGER>)"
        raise _invalid(f"{place}{cannot_apply(name, [argument.type for argument in arguments], form)}")
    if name == "NTILE":
        _check_tiles(arguments[0], place)


def _check_tiles(tiles: Rex, place: str) -> None:
    if not isinstance(tiles, Literal):
        raise _invalid(f"{place}Argument to function 'NTILE' must be a literal")
    if not isinstance(tiles.value, int) or tiles.value < 1:
        raise _invalid(f"{place}Argument to function 'NTILE' must be a positive integer literal")


def _invalid(text: str) -> ValidationException:
    return ValidationException(f"SQL validation failed. {text}")
