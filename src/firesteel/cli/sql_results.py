"""Output of query results (Flink: `CliTableauResultView`)."""

from __future__ import annotations

import csv
import json
import sys
import time
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import cast_formatter
from firesteel.columns.values import to_arrow
from firesteel.table.environment.pandas_conversion import materialized
from firesteel.table.environment.print_style import PrintStyle, print_rows, rows_in_set
from firesteel.table.table_parts import row_type_of
from firesteel.table.table_result import TableResult


def show_query(result: TableResult, mode: str, is_streaming: bool) -> None:
    """Print the rows of a query; an interrupt cancels its job.

    Args:
        result: The running query.
        mode: `tableau` prints changes as they arrive, or in batch mode the whole result at its end. `changelog` always
            prints changes as they arrive. `table` prints the rows that remain when the query ends.
        is_streaming: Whether the query runs in streaming mode.
    """
    row_type = row_type_of(result)
    started = time.monotonic()
    with result.collect() as rows:
        if mode == "changelog" or (mode == "tableau" and is_streaming):
            print_rows(rows, row_type, PrintStyle.WIDTHS_OF_TYPES, sys.stdout, _received)
        elif mode == "table":
            print_rows(materialized(rows), row_type, PrintStyle.WIDTHS_OF_DATA, sys.stdout)
        else:
            print_rows(
                rows,
                row_type,
                PrintStyle.WIDTHS_OF_DATA,
                sys.stdout,
                lambda count: f"{rows_in_set(count)} ({time.monotonic() - started:.2f} seconds)",
            )


def write_rows(result: TableResult, output: str, has_kinds: bool) -> None:
    """Write rows for a program, as they arrive.

    Args:
        result: The result; its job is cancelled if it is interrupted.
        output: `csv` with a line of names, or `json` with an object per line.
        has_kinds: Whether each row has a column `op` with its row kind.
    """
    row_type = row_type_of(result)
    names = (["op"] if has_kinds else []) + row_type.field_names()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if output == "csv":
        writer.writerow(names)
    formatters = [cast_formatter(kind) for kind in row_type.field_types()]
    with result.collect() as rows:
        for row in rows:
            kind = [str(row.get_row_kind())] if has_kinds else []
            if output == "csv":
                cells = zip(row, row_type.field_types(), formatters, strict=True)
                texts = [
                    "" if value is None else text(to_arrow([value], of).to_pylist()[0]) for value, of, text in cells
                ]
                writer.writerow(kind + texts)
            else:
                values = [_json(value, of) for value, of in zip(row, row_type.field_types(), strict=True)]
                print(json.dumps(dict(zip(names, [*kind, *values], strict=True)), ensure_ascii=False))
            sys.stdout.flush()


def _json(value: Any, kind: t.DataType) -> object:
    """Return a value as JSON has it; times, decimals and other values without a counterpart become texts, as in CSV."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(kind, t.MapType):
        return {str(_json(key, kind.key_type)): _json(one, kind.value_type) for key, one in value.items()}
    if isinstance(kind, t.RowType):
        fields = zip(kind.field_names(), value, kind.field_types(), strict=True)
        return {name: _json(one, of) for name, one, of in fields}
    if isinstance(kind, t.ArrayType):
        return [_json(one, kind.element_type) for one in value]
    return cast_formatter(kind)(to_arrow([value], kind).to_pylist()[0])


def _received(count: int) -> str:
    return f"Received a total of {count} {'row' if count == 1 else 'rows'}"
