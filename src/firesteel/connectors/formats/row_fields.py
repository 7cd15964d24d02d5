"""The fields of a row that a schema writes, by position, as Flink's formats read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["all_fields", "first_fields"]


def first_fields(row: Any, names: Sequence[str]) -> list[Any]:
    """Return the fields that a schema has, which are the first ones of a row.

    Flink's JSON and Avro schemas ignore further fields, so the first ones of a record can serve as its Kafka key.

    Args:
        row: A Row, tuple or list.
        names: The fields of the schema.

    Raises:
        ValueError: the row has fewer fields.

    Example:
        >>> first_fields(Row("a", 1), ["key"])
        ['a']
    """
    fields = list(row)
    if len(fields) < len(names):
        raise _mismatch(row, names)
    return fields[: len(names)]


def all_fields(row: Any, names: Sequence[str]) -> list[Any]:
    """Return the fields of a row, which must be as many as those of the schema.

    Raises:
        ValueError: their number differs.
    """
    fields = list(row)
    if len(fields) != len(names):
        raise _mismatch(row, names)
    return fields


def _mismatch(row: object, names: Sequence[str]) -> ValueError:
    return ValueError(f"Row length mismatch: {len(names)} fields expected ({', '.join(names)}), found {row!r}")
