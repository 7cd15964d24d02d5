"""Functions that compiled plans call: still of the kind and types with which the plan was compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from firesteel.columns.column_types import DataType, RowType, regular
from firesteel.columns.rex import UserCall
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.functions.udf_wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from firesteel.table.planner.rel import rel


def check_calls(part: object) -> None:
    """Check the functions of users that a node or expression of a plan calls itself.

    Raises:
        ValidationException: one is of another kind by now, takes other arguments or has other results.
    """
    match part:
        case UserCall(function, operands, kind):
            _check(function, UserDefinedScalarFunctionWrapper, kind, [operand.type for operand in operands])
        case rel.Correlate():
            arguments = [operand.type for operand in part.operands]
            _check(part.function, UserDefinedTableFunctionWrapper, part.function_type, arguments)
        case rel.Aggregate() | rel.WindowAggregate():
            _check_aggregates(part.calls, part.input.row_type, part.flat)
        case rel.Over():
            for group in part.groups:
                _check_aggregates(group.calls, part.input.row_type, False)


def _check_aggregates(calls: Iterable[rel.AggregateCall], source: RowType, is_flat: bool) -> None:
    types = source.field_types()
    for call in calls:
        function = call.function
        _check(function, UserDefinedAggregateFunctionWrapper, call.type, [types[index] for index in call.arguments])
        if isinstance(function, UserDefinedAggregateFunctionWrapper) and function.is_table_aggregate != is_flat:
            raise _changed(function, "it is another kind of function")


def _check(function: object, kind: type, result: DataType, arguments: Sequence[DataType]) -> None:
    if not isinstance(function, UserDefinedFunctionWrapper):
        return
    if not isinstance(function, kind):
        raise _changed(function, "it is another kind of function")
    taken = function.input_types
    if taken is not None and _plain(taken) != _plain(arguments):
        raise _changed(function, f"it takes ({_texts(taken)}) instead of ({_texts(arguments)})")
    if _values(function.result_type) != _values(result):
        raise _changed(function, f"it has results of {_texts([function.result_type])} instead of {_texts([result])}")


def _changed(function: UserDefinedFunctionWrapper, how: str) -> ValidationException:
    return ValidationException(f"The function '{function.name}' has changed since the plan was compiled: {how}")


def _texts(kinds: Iterable[DataType]) -> str:
    return ", ".join(type_text(kind) for kind in _plain(kinds))


def _values(kind: DataType) -> list[DataType]:
    """Return the types of the columns of results, whose names a query may change."""
    return _plain(kind.field_types() if isinstance(kind, RowType) else [kind])


def _plain(kinds: Iterable[DataType]) -> list[DataType]:
    """Return types as declarations have them: any value may be NULL there, and none is a time attribute."""
    return [regular(kind).nullable() for kind in kinds]
