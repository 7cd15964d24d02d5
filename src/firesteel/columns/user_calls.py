"""Calls of user-defined scalar functions."""

from __future__ import annotations

import inspect
from collections.abc import Sized
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import Column, as_array
from firesteel.columns.lazy_calls import Memo, Node
from firesteel.columns.rex import UserCall
from firesteel.columns.values import arrow_type, to_arrow, to_python
from firesteel.errors import JobExecutionError

if TYPE_CHECKING:
    import pandas


class UserFunctionNode:
    """A call of a function made by `udf`, with `open`, `eval`, `close`, `func_type` and `deterministic`.

    A general function is called with the values of one row, a pandas function with one `pandas.Series` per argument, or
    a `pandas.DataFrame` for a row. A pandas function that gives rows may return a `pandas.DataFrame`.
    Exceptions of the function propagate unchanged.
    An asynchronous function is called for several rows at a time.
    """

    def __init__(self, call: UserCall, operands: list[Node], context: EvaluationContext) -> None:
        self._function = call.function
        self._operands = operands
        self._types = [operand.type for operand in call.operands]
        self._type = call.type
        self._context = context
        self._compute = self._pandas if getattr(call.function, "func_type", "general") == "pandas" else self._general

    def open(self) -> None:
        """Open the function."""
        self._function.open(self._context.function_context)

    def close(self) -> None:
        """Close the function."""
        self._function.close()

    def __call__(self, batch: ColumnBatch, memo: Memo) -> Column:
        """Return the results for the rows of a batch."""
        length = len(batch)
        return self._compute([as_array(operand(batch, memo), length) for operand in self._operands], length)

    def _general(self, columns: list[pa.Array], length: int) -> Column:
        function = self._function.eval
        rows = self._rows(columns) if columns else [()] * length
        if inspect.iscoroutinefunction(function):
            return to_arrow(self._context.call_all(function, rows), self._type)
        return to_arrow([function(*row) for row in rows], self._type)

    def _rows(self, columns: list[pa.Array]) -> list[tuple[object, ...]]:
        zone = self._context.time_zone
        lists = (to_python(column, kind, zone=zone) for column, kind in zip(columns, self._types, strict=True))
        return list(zip(*lists, strict=True))

    def _pandas(self, columns: list[pa.Array], length: int) -> Column:
        most = self._context.pandas_rows or length
        starts = range(0, length, most or 1)
        parts = [
            self._pandas_call([column.slice(start, most) for column in columns], min(most, length - start))
            for start in starts
        ]
        return pa.concat_arrays(parts) if parts else pa.array([], arrow_type(self._type))

    def _pandas_call(self, columns: list[pa.Array], length: int) -> pa.Array:
        result = self._function.eval(*map(self._argument, columns, self._types))
        self._check(result, length)
        if isinstance(self._type, t.RowType) and getattr(result, "ndim", 1) == 2:
            return to_arrow(_frame_rows(result), self._type)
        if isinstance(self._type, (t.RowType, t.MapType, t.LocalZonedTimestampType, t.DecimalType)):
            return to_arrow([None if _missing(value) else value for value in result], self._type)
        return pa.Array.from_pandas(result, type=arrow_type(self._type))

    def _check(self, result: object, length: int) -> None:
        if not (hasattr(result, "iloc") and isinstance(result, Sized)):
            raise JobExecutionError(
                f"The result type of Pandas UDF '{self._function.name}' must be pandas.Series or pandas.DataFrame, got "
                f"{type(result)}"
            )
        if len(result) != length:
            raise JobExecutionError(
                f"The result length '{len(result)}' of Pandas UDF '{self._function.name}' is not equal to the input "
                f"length '{length}'"
            )

    def _argument(self, column: pa.Array, data_type: t.DataType) -> object:
        if not isinstance(data_type, t.RowType):
            return self._series(column, data_type)
        import pandas

        fields = zip(data_type.fields, column.flatten(), strict=True)
        return pandas.DataFrame({field.name: self._series(part, field.data_type) for field, part in fields})

    def _series(self, column: pa.Array, data_type: t.DataType) -> object:
        series = column.to_pandas()
        if isinstance(data_type, t.LocalZonedTimestampType):
            return series.dt.tz_convert(self._context.time_zone)
        if isinstance(data_type, (t.CharType, t.VarCharType)):
            # pandas 3 strings use NaN for NULL, but PyFlink passes None to functions.
            return type(series)(column.to_numpy(zero_copy_only=False), dtype=object)
        return series


def _frame_rows(frame: pandas.DataFrame) -> list[tuple[Cell, ...]]:
    """Return the rows of a `pandas.DataFrame`."""
    columns = [frame.iloc[:, index].tolist() for index in range(frame.shape[1])]
    return list(zip(*([None if _missing(value) else value for value in column] for column in columns), strict=True))


def _missing(value: object) -> bool:
    """Return whether a value is None, NaN or NaT."""
    return value is None or (not isinstance(value, Sized) and value != value)
