"""Calls of user-defined scalar functions."""

from __future__ import annotations

import inspect

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import Column, as_array
from firesteel.columns.lazy_calls import Memo, Node
from firesteel.columns.rex import UserCall
from firesteel.columns.user_results import result_column, series_column
from firesteel.columns.values import arrow_type, to_python


class UserFunctionNode:
    """A call of a function made by `udf`, with `open`, `eval`, `close`, `func_type` and `deterministic`.

    A general function is called with the values of one row, a pandas function with one `pandas.Series` per argument, or
    a `pandas.DataFrame` for a row. A pandas function that gives rows may return a `pandas.DataFrame`.
    Exceptions of the function propagate unchanged. Calls do not share what a function keeps.
    An asynchronous function is called for several rows at a time.
    """

    def __init__(self, call: UserCall, operands: list[Node], context: EvaluationContext) -> None:
        self._function = call.function.for_call()
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
            return result_column(self._context.call_all(function, rows), self._type, self._function.name)
        return result_column([function(*row) for row in rows], self._type, self._function.name)

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
        return series_column(result, length, self._type, self._function.name)

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
