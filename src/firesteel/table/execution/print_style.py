"""Results as text, printed by `TableResult.print()`. Flink: `TableauStyle` and `RawContentStyle`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, TextIO

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import cast_formatter
from firesteel.columns.values import to_arrow
from firesteel.common.types import Row

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType

MOST_WIDTH = 30
NULL_TEXT = "<NULL>"
"""The text of NULL in tables."""
_FIXED_WIDTHS: dict[type[t.DataType], int] = {
    t.TinyIntType: 4,
    t.SmallIntType: 6,
    t.IntType: 11,
    t.BigIntType: 20,
    t.BooleanType: 5,
    t.DateType: 10,
}


class PrintStyle(Enum):
    """The style in which rows are printed.

    Widths of queries depend on the types; in streaming mode each row shows its kind (`CHANGES`). Widths of other
    statements depend on the data, up to a limit (`WIDTHS_OF_DATA`) or without one (`WIDE`).
    """

    CHANGES = 0
    WIDTHS_OF_TYPES = 1
    WIDTHS_OF_DATA = 2
    WIDE = 3
    RAW = 4


def type_texts(row_type: t.RowType) -> list[str]:
    """Return the types of the columns as Flink shows them."""
    return [type_text(kind) for kind in row_type.field_types()]


def rows_in_set(count: int) -> str:
    """Return the last line of a table."""
    return f"{count} {'row' if count == 1 else 'rows'} in set"


def print_rows(
    rows: Iterable[Row],
    row_type: t.RowType,
    style: PrintStyle,
    out: TextIO,
    last_line: Callable[[int], str] = rows_in_set,
    most_width: int = MOST_WIDTH,
) -> None:
    """Write rows as a table.

    Args:
        rows: The rows; those of an unbounded query are written as they arrive.
        row_type: Names and types of the columns.
        style: The style of the rows.
        out: The output stream.
        last_line: Returns the line after the table for the number of rows.
        most_width: Width of the columns of types without a width of their own, or limit of the widths of data.
    """
    if style is PrintStyle.RAW:
        for row in rows:
            print(", ".join(cell_texts(row, row_type, "")), file=out)
        return
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        print("Empty set", file=out)
        return
    shown = _shown(chain([first], iterator), row_type, style)
    names = row_type.field_names()
    lines: Iterable[list[str]] = shown
    if style in (PrintStyle.CHANGES, PrintStyle.WIDTHS_OF_TYPES):
        widths = [
            _width_of_type(name, kind, most_width) for name, kind in zip(names, row_type.field_types(), strict=True)
        ]
        if style is PrintStyle.CHANGES:
            names, widths = ["op", *names], [2, *widths]
    else:
        lines = list(shown)
        widths = _widths_of_data(names, lines, most_width if style is PrintStyle.WIDTHS_OF_DATA else None)
    _print_table(names, lines, widths, out, last_line)


def _print_table(
    names: list[str], lines: Iterable[list[str]], widths: list[int], out: TextIO, last_line: Callable[[int], str]
) -> None:
    border = "".join(f"+{'-' * (width + 2)}" for width in widths) + "+"
    print(border, _line(names, widths), border, sep="\n", file=out)
    count = 0
    for line in lines:
        print(_line(line, widths), file=out, flush=True)
        count += 1
    print(border, file=out)
    print(last_line(count), file=out, flush=True)


def _shown(rows: Iterable[Row], row_type: t.RowType, style: PrintStyle) -> Iterable[list[str]]:
    null = "" if style is PrintStyle.WIDE else NULL_TEXT
    for row in rows:
        cells = cell_texts(row, row_type, null)
        yield [str(row.get_row_kind()), *cells] if style is PrintStyle.CHANGES else cells


def cell_texts(row: Row, row_type: t.RowType, null: str = NULL_TEXT) -> list[str]:
    """Return the values of a row as text, and `null` for NULL."""
    pairs = zip(row, row_type.field_types(), strict=True)
    return [null if value is None else value_as_text(value, kind) for value, kind in pairs]


def value_as_text(value: object, kind: t.DataType) -> str:
    """Return the text of a value as a program gets it."""
    return cast_formatter(kind)(pylist(to_arrow([value], kind))[0])


def _width_of_type(name: str, kind: DataType, most: int) -> int:
    width = _FIXED_WIDTHS.get(type(kind), most)
    if isinstance(kind, t.DecimalType):
        width = kind.precision + 2
    elif isinstance(kind, t.TimeType):
        width = 8 if kind.precision == 0 else kind.precision + 9
    elif isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        width = 19 if kind.precision == 0 else kind.precision + 20
    return max(len(name), width, len(NULL_TEXT))


def _widths_of_data(names: list[str], lines: Iterable[list[str]], most: int | None) -> list[int]:
    widths = [_display_width(name) for name in names]
    for line in lines:
        widths = [max(width, _display_width(cell)) for width, cell in zip(widths, line, strict=True)]
    return widths if most is None else [min(width, most) for width in widths]


def _line(cells: Sequence[str], widths: list[int]) -> str:
    return "|" + "|".join(f" {_fitted(cell, width)} " for cell, width in zip(cells, widths, strict=True)) + "|"


def _fitted(cell: str, width: int) -> str:
    """Return a cell of exactly this width, cut with `...` or padded on the left."""
    length = _display_width(cell)
    if length > width:
        while _display_width(cell) > width - 3:
            cell = cell[:-1]
        cell += "..."
        length = _display_width(cell)
    return " " * (width - length) + cell


def _display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
