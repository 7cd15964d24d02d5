"""Rows for other programs, as CSV or JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any, TextIO

from firesteel.columns import column_types as t
from firesteel.common.types import Row
from firesteel.table.execution.print_style import value_as_text

__all__ = ["write_csv", "write_json"]

_KIND = "op"


def write_csv(rows: Iterable[Row], row_type: t.RowType, out: TextIO, has_kinds: bool) -> None:
    """Write a line of names, then a line per row as it arrives; NULL is empty.

    Args:
        rows: The rows.
        row_type: Names and types of the columns.
        out: The output stream.
        has_kinds: Whether the first column is the row kind.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_KIND, *row_type.field_names()] if has_kinds else row_type.field_names())
    for row in rows:
        cells = zip(row, row_type.field_types(), strict=True)
        texts = ["" if value is None else value_as_text(value, kind) for value, kind in cells]
        writer.writerow([str(row.get_row_kind()), *texts] if has_kinds else texts)
        out.flush()


def write_json(rows: Iterable[Row], row_type: t.RowType, out: TextIO, has_kinds: bool) -> None:
    """Write an object per row and line, as the rows arrive.

    Args:
        rows: The rows.
        row_type: Names and types of the columns.
        out: The output stream.
        has_kinds: Whether the first field is the row kind.
    """
    for row in rows:
        kind = {_KIND: str(row.get_row_kind())} if has_kinds else {}
        json.dump(kind | _fields(row, row_type), out, ensure_ascii=False)
        print(file=out, flush=True)


def _fields(row: Iterable[object], row_type: t.RowType) -> dict[str, object]:
    cells = zip(row_type.field_names(), row, row_type.field_types(), strict=True)
    return {name: _json(value, kind) for name, value, kind in cells}


def _json(value: Any, kind: t.DataType) -> object:
    """Return a value as JSON has it; times, decimals and other values without a counterpart become texts, as in CSV."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(kind, t.MapType):
        return {str(_json(key, kind.key_type)): _json(one, kind.value_type) for key, one in value.items()}
    if isinstance(kind, t.RowType):
        return _fields(value, kind)
    if isinstance(kind, t.ArrayType):
        return [_json(one, kind.element_type) for one in value]
    return value_as_text(value, kind)
