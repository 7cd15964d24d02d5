"""The columns of a table as another system stores them, and how declared ones fit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.values import arrow_type
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column


@dataclass(frozen=True)
class StoredTable:
    """The columns of a table in another system.

    Attributes:
        name: The table with the name of the system, such as `Iceberg table lake.db.t`, for messages.
        types: The SQL types of its columns, by name.
        required: The columns that cannot be NULL.
        fits: Returns whether values of a declared type and those of a stored one have the same type in the system.
    """

    name: str
    types: Mapping[str, Callable[[], t.DataType]]
    required: Sequence[str]
    fits: Callable[[t.DataType, t.DataType], bool]

    def check(self, columns: Sequence[Column], writes: bool) -> None:
        """Check that declared columns fit the stored ones.

        Args:
            columns: The declared columns.
            writes: Whether rows are written, so that required columns must be there and NOT NULL.

        Raises:
            ValidationException: a column is missing or has another type.
        """
        for column in columns:
            if column.name not in self.types:
                raise ValidationException(
                    f"Column '{column.name}' does not exist in the {self.name}; its columns are {', '.join(self.types)}"
                )
            expected = self.types[column.name]()
            if not self.fits(column.type, expected):
                raise ValidationException(
                    f"Column '{column.name}' is declared as {type_text(column.type.nullable())}, but is "
                    f"{type_text(expected)} in the {self.name}"
                )
        if writes:
            self._check_required(columns)

    def _check_required(self, columns: Sequence[Column]) -> None:
        given = {column.name for column in columns if not column.type.is_nullable}
        missing = [name for name in self.required if name not in given]
        if missing:
            raise ValidationException(
                f"Column '{missing[0]}' is required in the {self.name}; declare it as NOT NULL to write the table"
            )


def to_sql_array(array: pa.Array, kind: t.DataType) -> pa.Array:
    """Return a column as read from a data file with the Arrow type of its SQL type."""
    wanted = arrow_type(kind)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):  # UUID
        array = array.storage
    if array.type == wanted:
        return array
    # Only times may lose digits: an integer that does not fit a TINYINT is an error.
    return array.cast(wanted, safe=not (pa.types.is_temporal(wanted) or pa.types.is_nested(wanted)))


def to_stored_array(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return a column with the Arrow type that it has in data files."""
    if array.type == wanted:
        return array
    if isinstance(wanted, pa.BaseExtensionType):  # UUID
        return pa.ExtensionArray.from_storage(wanted, array.cast(wanted.storage_type))
    return array.cast(wanted, safe=False)  # nanoseconds are cut to microseconds, as in Flink
