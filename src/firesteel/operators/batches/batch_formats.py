"""Conversion of batches of elements to the tables of other libraries, and of results to elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from firesteel.columns.column_types import DataType, RowType
from firesteel.columns.type_information import data_type_of
from firesteel.columns.values import to_arrow, to_python
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.functions.batch_functions import BatchFormat

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation

__all__ = ["ColumnFormat"]

_ONE_COLUMN = "value"
"""The name of the column of elements that are no rows."""


class ColumnFormat:
    """Converts between elements and tables.

    Args:
        library: The library of the tables.
        input_type: Type of the elements.
        output_type: Type of the results.
    """

    def __init__(
        self, library: BatchFormat, input_type: TypeInformation[object], output_type: TypeInformation[object]
    ) -> None:
        self._library = library
        self._inputs = _columns(input_type)
        is_row = _is_row(input_type)
        self._getters: list[Callable[[object], object]] = [
            cast("Callable[[object], object]", itemgetter(place)) if is_row else unchanged
            for place in range(len(self._inputs))
        ]
        self._outputs = _columns(output_type)
        self._make = _maker(output_type)

    def batch(self, elements: Sequence[object]) -> object:
        """Return the elements as a table of the library."""
        columns = [list(map(get, elements)) for get in self._getters]
        arrays = [to_arrow(column, kind) for column, (_, kind) in zip(columns, self._inputs, strict=True)]
        table = pa.table(arrays, names=[name for name, _ in self._inputs])
        if self._library is BatchFormat.PANDAS:
            return table.to_pandas()
        if self._library is BatchFormat.POLARS:
            import polars  # an extra of users

            return polars.from_arrow(table)
        return table

    def elements(self, result: object) -> list[object]:
        """Return the rows of a result as elements of the output type.

        Raises:
            ValueError: the columns of the result are not those of the output type.
            TypeError: the result is no table.
        """
        columns = self._ordered(_arrow_columns(result))
        values = [to_python(column, kind) for column, (_, kind) in zip(columns, self._outputs, strict=True)]
        return [self._make(row) for row in zip(*values, strict=True)]

    def _ordered(self, columns: dict[str, pa.ChunkedArray]) -> list[pa.Array]:
        """Return the columns in the order of the output type: by their names if these are its, else by position."""
        names = [name for name, _ in self._outputs]
        if len(columns) != len(names):
            raise ValueError(f"the result has the columns {', '.join(columns)}; the output type has {', '.join(names)}")
        found = [columns[name] for name in names] if set(names) == set(columns) else list(columns.values())
        return [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in found]


def _columns(kind: TypeInformation[object]) -> list[tuple[str, DataType]]:
    data_type = data_type_of(kind)
    if _is_row(kind) and isinstance(data_type, RowType):
        return [(field.name, field.data_type) for field in data_type.fields]
    return [(_ONE_COLUMN, data_type)]


def _is_row(kind: TypeInformation[object]) -> bool:
    return isinstance(kind, RowTypeInfo | TupleTypeInfo)


def _maker(kind: TypeInformation[object]) -> Callable[[tuple[object, ...]], object]:
    if isinstance(kind, RowTypeInfo):
        names = kind.get_field_names()

        def row(values: tuple[object, ...]) -> Row:
            made = Row(*values)
            made.set_field_names(names)
            return made

        return row
    return tuple if isinstance(kind, TupleTypeInfo) else _first


def _first(values: tuple[object, ...]) -> object:
    return values[0]


def _arrow_columns(result: object) -> dict[str, pa.ChunkedArray]:
    """Return the columns of a table, or the one of a series or array, by name."""
    if isinstance(result, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        pass
    elif hasattr(result, "to_arrow"):  # of polars
        result = result.to_arrow()
    elif hasattr(result, "to_numpy") and hasattr(result, "columns"):  # of pandas, for which Arrow keeps the index
        result = pa.Table.from_pandas(result, preserve_index=False)
    elif hasattr(result, "__array__"):  # a series of pandas, or an array of numpy
        result = pa.array(result)
    if isinstance(result, pa.Array | pa.ChunkedArray):
        return {_ONE_COLUMN: result}
    if isinstance(result, pa.Table | pa.RecordBatch):
        return dict(zip(result.schema.names, result.columns, strict=True))
    raise TypeError(
        f"a function of batches returns a table or column of Arrow, pandas or polars; found {type(result).__name__}"
    )
