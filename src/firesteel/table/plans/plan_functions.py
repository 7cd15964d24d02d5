"""Functions that compiled plans name: still of the kind and type with which the plan was compiled."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.columns.column_types import DataType, RowType
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.functions.udf_wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)

_KINDS: dict[str, tuple[type, str]] = {
    "UserCall": (UserDefinedScalarFunctionWrapper, "type"),
    "AggregateCall": (UserDefinedAggregateFunctionWrapper, "type"),
    "Correlate": (UserDefinedTableFunctionWrapper, "function_type"),
}
"""The kind of function that each class of a plan calls, and its attribute with the type of the results."""


def check_function(name: str, made: Mapping[str, object]) -> None:
    """Check the function that a part of a plan calls, if it is one of a user.

    Args:
        name: The class of the part.
        made: Its attributes.

    Raises:
        ValidationException: it is another kind of function by now, or has other results.
    """
    function = made.get("function")
    if not isinstance(function, UserDefinedFunctionWrapper):
        return
    kind, attribute = _KINDS[name]
    planned = made[attribute]
    assert isinstance(planned, DataType)
    if not isinstance(function, kind) or _values(function.result_type) != _values(planned):
        raise ValidationException(
            f"The function '{function.name}' has changed since the plan was compiled: it has results of "
            f"{type_text(function.result_type.nullable())} instead of {type_text(planned.nullable())}, or is another "
            "kind of function"
        )


def _values(kind: DataType) -> list[DataType]:
    """Return the types of the columns of results, whose names and whether they may be NULL a query may change."""
    fields = kind.field_types() if isinstance(kind, RowType) else [kind]
    return [field.nullable() for field in fields]
