"""Aggregate functions whose results are checked against what they declare."""

from __future__ import annotations

from firesteel.columns.cells import Cell
from firesteel.columns.rows import Row
from firesteel.columns.user_results import checked_value, row_columns, row_tuples
from firesteel.table.functions.udf_base import FunctionContext, UserDefinedFunction
from firesteel.table.types import DataType, RowField, RowType


class CheckedAggregate(UserDefinedFunction):
    """An aggregate or table aggregate function that names itself where a result does not fit its type.

    Args:
        function: The user's function.
        name: Its name.
        result_type: The type of its results.
    """

    def __init__(self, function: Cell, name: str, result_type: DataType) -> None:
        self.function = function
        self._name = name
        self._result_type = result_type

    def open(self, function_context: FunctionContext) -> None:
        """Prepare the function."""
        self.function.open(function_context)

    def close(self) -> None:
        """Release the function's resources."""
        self.function.close()

    def get_value(self, accumulator: object) -> object:
        """Return the result of an accumulator."""
        return checked_value(self.function.get_value(accumulator), self._result_type, self._name)

    def emit_value(self, accumulator: object) -> list[Row]:
        """Return the rows of an accumulator."""
        kind = self._result_type
        row_type = kind if isinstance(kind, RowType) else RowType([RowField("f0", kind)])
        rows = row_tuples(self.function.emit_value(accumulator), row_type, self._name)
        row_columns(rows, row_type, self._name)
        return rows

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        found: object = getattr(self.function, name)
        return found
