"""Data files of Iceberg tables, and the files with the keys of replaced rows."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue, And, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files

from firesteel.connectors.stored_columns import to_stored_array

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table


def data_files_of(table: Table, rows: pa.Table) -> list[Any]:
    """Write rows to new data files of a pyiceberg table, one or more per partition, and return them."""
    return list(_dataframe_to_data_files(table.metadata, rows, table.io, uuid.uuid4())) if len(rows) else []


# --- keys of rows that are replaced ----------------------------------------------------------------------------------


def write_keys(table: Table, keys: pa.Table) -> str:
    """Write keys to a new file next to the data files, and return its location."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, keys.schema) as writer:
        writer.write_table(keys)
    location: str = table.location_provider().new_data_location(f"{uuid.uuid4()}-keys.arrow")
    with table.io.new_output(location).create() as file:
        file.write(sink.getvalue().to_pybytes())
    return location


def read_keys(table: Table, locations: Iterable[str]) -> pa.Table:
    """Return the keys in files.

    Raises:
        FileNotFoundError: a file does not exist.
    """
    found = []
    for location in locations:
        with table.io.new_input(location).open() as file:
            found.append(pa.ipc.open_stream(file.read()).read_all())
    return pa.concat_tables(found)


def remove_keys(table: Table, locations: Iterable[str]) -> None:
    """Remove files with keys, those that still exist."""
    for location in locations:
        with suppress(OSError):
            table.io.delete(location)


def files_with_keys(table: Table, keys: pa.Table, condition: object) -> Iterator[tuple[Any, pa.Table]]:
    """Yield each data file that has rows with one of the keys, and its rows without these.

    Args:
        table: A pyiceberg table.
        keys: The keys.
        condition: An Iceberg expression that is true for all of them.
    """
    for task in table.scan(row_filter=condition).plan_files():
        rows = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table([task])
        others = without_keys(rows, keys)
        if len(others) < len(rows):
            yield task.file, others


def range_of(keys: pa.Table) -> object:
    """Return an Iceberg expression that is true for all keys: the range of each column of integers, text or dates."""
    condition: BooleanExpression = AlwaysTrue()
    for name in keys.column_names:
        kind = keys.schema.field(name).type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if is_text or pa.types.is_integer(kind) or pa.types.is_date(kind):
            bounds = pc.min_max(keys[name]).as_py()
            low, high = (_literal(bounds[side]) for side in ("min", "max"))
            condition = And(condition, GreaterThanOrEqual(name, low), LessThanOrEqual(name, high))
    return condition


def _literal(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value


def without_keys(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """Return the rows whose key is none of these."""
    mine, others = (_comparable(table.select(keys.column_names), keys.schema) for table in (rows, keys))
    numbered = mine.append_column("row", pa.array(np.arange(len(rows))))
    # Only keys take part in the join, as it does not support columns of lists or rows.
    left = numbered.join(others, others.column_names, join_type="left anti")
    return rows.take(pa.array(np.sort(left["row"].to_numpy())))


def _comparable(keys: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return key columns with the types of a schema; those of UUIDs as bytes, as a join compares no UUIDs."""
    columns: dict[str, Any] = {}
    for index, field in enumerate(schema):
        array = to_stored_array(keys[field.name].combine_chunks(), field.type)
        columns[f"key{index}"] = array.storage if isinstance(array, pa.ExtensionArray) else array
    return pa.table(columns)
