"""CAST between arrays, maps, multisets and rows, by casting their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.value_text import map_types
from firesteel.columns.values import arrow_type

Cast = Callable[[pa.Array], pa.Array]


def nested_cast(source: Any, target: Any, part_cast: Callable[[t.DataType, t.DataType], Cast]) -> Cast:
    """Return a function that converts a column of arrays, maps or rows.

    Args:
        source: The type of the column.
        target: A type of the same class.
        part_cast: Returns the conversion of elements, keys, values or fields.
    """
    if isinstance(source, t.ArrayType):
        rebuild = _array_cast(_values(source.element_type, target.element_type, part_cast))
    elif isinstance(source, t.RowType):
        fields = [_values(a, b, part_cast) for a, b in zip(source.field_types(), target.field_types(), strict=True)]
        rebuild = _row_cast(fields, target.field_names())
    else:
        (key, item), (new_key, new_item) = map_types(source), map_types(target)
        rebuild = _map_cast(_values(key, new_key, part_cast), _values(item, new_item, part_cast))
    wanted = arrow_type(target)
    return lambda array: pa.array(rebuild(pylist(array)), wanted)


def _values(
    source: t.DataType, target: t.DataType, part_cast: Callable[[t.DataType, t.DataType], Cast]
) -> Callable[[list[Any]], list[Any]]:
    cast, kind = part_cast(source, target), arrow_type(source)
    return lambda values: pylist(cast(pa.array(values, kind)))


def _array_cast(elements: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    def rebuild(values: list[Any]) -> list[Any]:
        flat = iter(elements([item for value in values if value is not None for item in value]))
        return [None if value is None else [next(flat) for _ in value] for value in values]

    return rebuild


def _map_cast(
    keys: Callable[[list[Any]], list[Any]], items: Callable[[list[Any]], list[Any]]
) -> Callable[[list[Any]], list[Any]]:
    def rebuild(values: list[Any]) -> list[Any]:
        pairs = [pair for value in values if value is not None for pair in value]
        flat = iter(zip(keys([k for k, _ in pairs]), items([v for _, v in pairs]), strict=True))
        return [None if value is None else [next(flat) for _ in value] for value in values]

    return rebuild


def _row_cast(fields: Sequence[Callable[[list[Any]], list[Any]]], names: list[str]) -> Callable[[list[Any]], list[Any]]:
    def rebuild(values: list[Any]) -> list[Any]:
        present = [list(value.values()) for value in values if value is not None]
        columns = [field([row[index] for row in present]) for index, field in enumerate(fields)]
        rows = iter(zip(*columns, strict=True) if columns else [()] * len(present))
        return [None if value is None else dict(zip(names, next(rows), strict=True)) for value in values]

    return rebuild
