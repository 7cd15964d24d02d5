"""Rows of connectors that are no column batches themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from firesteel.columns.column_type_information import type_info_of
from firesteel.columns.column_types import RowField, RowType
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.functions.operator_builder import with_operator
from firesteel.functions.operator_descriptors import RowsToColumnsOperator

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches, Column
    from firesteel.datastream.data_stream import DataStream

T = TypeVar("T")


def row_type_of(columns: Sequence[Column]) -> RowTypeInfo:
    """Return the type of rows with some columns."""
    found = type_info_of(RowType([RowField(column.name, column.type) for column in columns]))
    assert isinstance(found, RowTypeInfo)
    return found


def batches_of(rows: DataStream[T], columns: Sequence[Column], places: Sequence[int] | None = None) -> Batches:
    """Return a stream of column batches, given one of rows.

    Args:
        rows: The stream.
        columns: The columns of the batches.
        places: Where the rows have them; None if they have just these.
    """
    found = range(len(columns)) if places is None else places
    fields = tuple((place, column.type) for place, column in zip(found, columns, strict=True))
    return with_operator(rows, "RowsToColumns", RowsToColumnsOperator(fields), None)
