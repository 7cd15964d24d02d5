"""Texts of keys: ids of documents, partition keys, keys of rows in stores. Flink: `toString()` of the fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import Formatter, print_formatter
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column

_WITHOUT_TEXT = (t.BinaryType, t.VarBinaryType, t.ArrayType, t.MapType, t.MultisetType, t.RowType)


@dataclass(frozen=True)
class KeyTexts:
    """The texts of the keys of rows.

    Attributes:
        places: Positions of the key's columns.
        types: Their types.
        delimiter: The text between the values of a key.
    """

    places: tuple[int, ...]
    types: tuple[t.DataType, ...]
    delimiter: str

    @classmethod
    def of(cls, columns: Sequence[Column], key: Sequence[str], delimiter: str) -> KeyTexts:
        """Return the texts of some columns.

        Raises:
            ValidationException: a column has a type without a text that could be part of a key.
        """
        names = [column.name for column in columns]
        places = tuple(map(names.index, key))
        for place in places:
            if isinstance(columns[place].type, _WITHOUT_TEXT):
                raise ValidationException(
                    f"The table has a primary key on columns of illegal types: '{names[place]}' is "
                    f"{type_text(columns[place].type)}"
                )
        return cls(places, tuple(columns[place].type for place in places), delimiter)

    def texts(self, batch: ColumnBatch) -> list[str]:
        """Return the text of each row."""
        parts = [
            list(map(key_formatter(kind), pylist(batch.columns[place])))
            for place, kind in zip(self.places, self.types, strict=True)
        ]
        return [self.delimiter.join(values) for values in zip(*parts, strict=True)]


def key_formatter(kind: t.DataType) -> Formatter:
    """Return what writes a value of a key; instants are written in UTC and without time zone, and -0.0 as 0.0."""
    if isinstance(kind, t.LocalZonedTimestampType):
        write = print_formatter(t.TimestampType(kind.precision))
        return lambda value: write(None if value is None else value.replace(tzinfo=None))
    if isinstance(kind, t.DoubleType | t.FloatType):
        text = print_formatter(kind)
        return lambda value: text(None if value is None else value + 0.0)  # both zeros are one key
    return print_formatter(kind)
