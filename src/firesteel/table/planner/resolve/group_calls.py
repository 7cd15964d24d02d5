"""Calls of aggregate functions in a SELECT with groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from firesteel.columns.column_types import (
    BooleanType,
    DataType,
    NullType,
)
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.rex import Literal, Rex, UserFunction
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.constants import folded
from firesteel.table.planner.resolve.arguments import declared_arguments
from firesteel.table.planner.resolve.group_projection import GroupProjection
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import illegal_null
from firesteel.table.planner.resolve.unresolved_tools import (
    user_function,
)
from firesteel.table.syntax.unresolved import Apply, Position, Star, constant, where


@dataclass(frozen=True, slots=True)
class GroupCall:
    """An aggregate call with its arguments over the source."""

    function: str | UserFunction
    arguments: tuple[Rex, ...]
    type: DataType
    distinct: bool
    condition: Rex | None
    order_by: tuple[tuple[Rex, bool, bool], ...]

    def over(self, source: GroupProjection) -> rel.AggregateCall:
        """Return the call over the columns that a projection has, or gets, for its inputs."""
        return rel.AggregateCall(
            self.function,
            tuple(source.column(argument) for argument in self.arguments),
            self.type,
            self.distinct,
            None if self.condition is None else source.column(self.condition),
            tuple((source.column(rex), descending, first) for rex, descending, first in self.order_by),
        )


def group_call(inputs: ExpressionResolver, call: Apply, has_groups: bool) -> GroupCall:
    """Return an aggregate call.

    Args:
        inputs: Resolves arguments over the source.
        call: The call.
        has_groups: Whether there are keys or windows: without them there is a result for no rows, too.

    Raises:
        ValidationException: it does not fit its arguments.
    """
    function: str | UserFunction = call.function
    if isinstance(function, str):
        function = user_function(call, inputs.catalogs) or function.upper()
    stars = any(isinstance(operand, Star) for operand in call.operands)
    if stars and not isinstance(function, str):
        arguments = tuple(rex for _, rex in inputs.scope.star())
    elif stars:
        arguments = ()
    elif function == "COUNT" and not call.operands:
        raise ValidationException(
            f"SQL validation failed. {where(call.position)}Invalid number of arguments to function 'COUNT'. Was "
            "expecting 1 arguments"
        )
    else:
        arguments = tuple(inputs.resolve(o) for o in call.operands if not _is_option(o))
    if not isinstance(function, str):
        arguments = declared_arguments(function, arguments, call.position)
    condition = None if call.condition is None else inputs.resolve(call.condition)
    if condition is not None and not isinstance(condition.type, BooleanType):
        raise ValidationException("SQL validation failed. FILTER clause must be a condition")
    kind = _call_type(function, arguments, condition, call, has_groups)
    order_by = tuple(
        (
            inputs.resolve(o.expression),
            o.descending,
            not o.descending if o.nulls_first is None else o.nulls_first,
        )
        for o in call.order_by
    )
    options = [constant(o.operands[1]) for o in call.operands if isinstance(o, Apply) and _is_option(o)]
    if options and isinstance(function, str):
        function = f"{function} {options[0]} ON NULL"
    return GroupCall(function, arguments, kind, call.distinct, condition, order_by)


def _call_type(
    function: str | UserFunction, arguments: tuple[Rex, ...], condition: Rex | None, call: Apply, has_groups: bool
) -> DataType:
    if not isinstance(function, str):
        return function.result_type
    aggregate = find_aggregate(function)
    assert aggregate is not None
    check_arguments(function, arguments, call.position)
    try:
        return aggregate.resolve([argument.type for argument in arguments], has_groups, condition is not None)
    except FunctionError as error:
        raise ValidationException(f"SQL validation failed. {where(call.position)}{error}") from error


def check_arguments(function: str, arguments: Sequence[Rex], position: Position | None) -> None:
    """Check what Flink does not take as arguments of an aggregate function.

    Raises:
        ValidationException: COUNT has more than one, the delimiter of LISTAGG is no literal, a percentage is not
            between 0 and 1, or an argument in SQL is a NULL without a type.
    """
    name = function.upper()
    if name == "COUNT" and len(arguments) > 1:
        raise ValidationException(
            f"SQL validation failed. {where(position)}We now only support the count of one field; count a CASE that is "
            "NULL where one of them is"
        )
    # The Table API has no position, and Flink takes a NULL there.
    if position is not None and any(isinstance(argument.type, NullType) for argument in arguments):
        raise illegal_null(where(position))
    if name == "LISTAGG":
        _check_delimiters(arguments[1:], where(position))
    if name == "PERCENTILE":
        _check_percentages(arguments[1:2], where(position))


def _check_delimiters(delimiters: Sequence[Rex], place: str) -> None:
    for delimiter in delimiters:
        found = folded(delimiter)
        is_null = isinstance(found, Literal) and found.value is None
        if is_null or not isinstance(delimiter, Literal):
            needed = "not be NULL" if is_null else "be a literal"
            raise ValidationException(f"SQL validation failed. {place}Argument to function 'LISTAGG' must {needed}")


def _check_percentages(percentages: Sequence[Rex], place: str) -> None:
    for percentage in map(folded, percentages):
        value = percentage.value if isinstance(percentage, Literal) else None
        if isinstance(value, int | float | Decimal) and not 0 <= value <= 1:
            raise ValidationException(
                f"SQL validation failed. {place}Invalid function call: a percentage of PERCENTILE is between 0 and 1, "
                f"found {value}"
            )


def _is_option(operand: object) -> bool:
    return isinstance(operand, Apply) and operand.function == "JSON OPTION"
