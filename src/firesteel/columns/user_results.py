"""Results of users' functions as columns and rows.

One that does not fit what the function declares is a `TypeMismatchError`, which names the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.rows import Row
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.common.values.bounded_results import all_of
from firesteel.errors import TypeMismatchError

if TYPE_CHECKING:
    import pandas

__all__ = ["result_column", "row_columns", "row_tuples", "series_column"]


def result_column(results: Sequence[Cell], data_type: t.DataType, name: str) -> pa.Array:
    """Return a column of the results of a scalar function.

    Raises:
        TypeMismatchError: A result does not fit the type.
    """
    try:
        return _column(results, data_type)
    except TypeMismatchError as error:
        raise error.of(_subject(name)) from None


def row_tuples(results: Cell, row_type: t.RowType, name: str) -> list[Row]:
    """Return the rows of one call of a table function, or of a table aggregate function.

    As in PyFlink, lists, ranges and generators are rows; anything else is a single one. Other iterators are rows, too.

    Raises:
        TypeMismatchError: A row has another number of fields than the type.
    """
    if results is None:
        return []
    rows = all_of(results) if isinstance(results, list | range | Iterator) else [results]
    try:
        return [_fields(row, row_type) for row in rows]
    except TypeMismatchError as error:
        raise error.of(_subject(name)) from None


def row_columns(rows: Sequence[Row], row_type: t.RowType, name: str) -> list[pa.Array]:
    """Return the columns of such rows.

    Raises:
        TypeMismatchError: A value does not fit the type of its field.
    """
    columns = []
    for index, field in enumerate(row_type.fields):
        try:
            columns.append(_column([row[index] for row in rows], field.data_type))
        except TypeMismatchError as error:
            raise error.below(f".{field.name}").of(_subject(name)) from None
    return columns


def series_column(result: Cell, length: int, data_type: t.DataType, name: str) -> pa.Array:
    """Return what a pandas function gives for a number of rows.

    Raises:
        TypeMismatchError: It is no `pandas.Series` of the type, or `pandas.DataFrame` of a row type, or of another
            length.
    """
    _check_shape(result, length, data_type, name)
    if result.ndim == 2:
        return result_column(_frame_rows(result), data_type, name)
    if isinstance(data_type, (t.RowType, t.MapType, t.LocalZonedTimestampType, t.DecimalType)):
        return result_column([None if _missing(value) else value for value in result], data_type, name)
    try:
        return pa.Array.from_pandas(result, type=arrow_type(data_type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _unfit_item(result, data_type).of(_subject(name)) from error


def _subject(name: str) -> str:
    return f"result of function {name!r}"


def _column(values: Sequence[Cell], data_type: t.DataType) -> pa.Array:
    if isinstance(data_type, t.RowType):
        for value in values:
            _check_fields(value, data_type)
    elif not isinstance(data_type, t.ArrayType):
        _check_singles(values, data_type)
    return to_arrow(values, data_type)


def _check_fields(value: Cell, row_type: t.RowType) -> None:
    """Refuse a dict with names that are no fields, whose values would be lost."""
    if isinstance(value, dict) and not value.keys() <= set(row_type.names):
        raise TypeMismatchError(type_text(row_type), value)


def _check_singles(values: Sequence[Cell], data_type: t.DataType) -> None:
    """Refuse a series, which Arrow takes for its value if it has just one."""
    of_pandas = {kind for kind in set(map(type, values)) if hasattr(kind, "iloc")}
    if of_pandas:
        raise TypeMismatchError(type_text(data_type), next(value for value in values if type(value) in of_pandas))


def _fields(row: Cell, row_type: t.RowType) -> tuple[Cell, ...]:
    width = len(row_type)
    is_row = isinstance(row, tuple) or hasattr(row, "get_row_kind") or (isinstance(row, list) and width > 1)
    values = tuple(row) if is_row else (row,)
    if len(values) != width:
        raise TypeMismatchError(type_text(row_type), row)
    return values


def _check_shape(result: Cell, length: int, data_type: t.DataType, name: str) -> None:
    form = "pandas.Series"
    shapes: list[tuple[int, ...]] = [(length,)]
    if isinstance(data_type, t.RowType):
        form = "pandas.DataFrame"
        shapes.append((length, len(data_type)))
    if not hasattr(result, "iloc") or result.shape not in shapes:
        raise TypeMismatchError(f"{type_text(data_type)} as a {form} of length {length}", result).of(_subject(name))


def _unfit_item(series: pandas.Series, data_type: t.DataType) -> TypeMismatchError:
    """Return the error for the first value of a series that Arrow refuses."""
    for place in range(len(series)):
        try:
            pa.Array.from_pandas(series.iloc[place : place + 1], type=arrow_type(data_type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return TypeMismatchError(type_text(data_type), series.iloc[place])
    return TypeMismatchError(type_text(data_type), series)


def _frame_rows(frame: pandas.DataFrame) -> list[tuple[Cell, ...]]:
    columns = [frame.iloc[:, index].tolist() for index in range(frame.shape[1])]
    return list(zip(*([None if _missing(value) else value for value in column] for column in columns), strict=True))


def _missing(value: Cell) -> bool:
    """Return whether a value is None, NaN or NaT."""
    return value is None or (not hasattr(value, "__len__") and value != value)
