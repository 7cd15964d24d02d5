"""Scans in ranges of a numeric column: the options `scan.partition.*` of databases."""

from __future__ import annotations

from typing import NamedTuple

from firesteel.columns.column_types import DataType, NumericType
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options

__all__ = ["RANGE_OPTIONS", "ScanRanges", "scan_ranges"]

RANGE_OPTIONS = tuple(f"scan.partition.{name}" for name in ("column", "num", "lower-bound", "upper-bound"))


class ScanRanges(NamedTuple):
    """The ranges, of which each is a split; rows outside of them are not read.

    Attributes:
        column: Name of the column.
        bounds: The first and the last number of each range.
    """

    column: str
    bounds: list[tuple[int, int]]


def scan_ranges(
    options: Options, columns: tuple[Column, ...], types: tuple[type[DataType], ...] = (NumericType,)
) -> ScanRanges | None:
    """Return the ranges in which a table is read, None if it is read as a whole.

    Args:
        options: The options of the table.
        columns: Its columns.
        types: The types of which the database compares values as numbers.

    Raises:
        ValidationException: some of the options are missing, the column has no numbers, or no number is in the bounds.
    """
    given = [key for key in RANGE_OPTIONS if key in options.values]
    if not given:
        return None
    if len(given) != len(RANGE_OPTIONS):
        raise ValidationException(f"{', '.join(RANGE_OPTIONS)} must be set together, found {', '.join(given)}")
    column, number, lower, upper = RANGE_OPTIONS
    name = options.text(column)
    if not any(one.name == name and isinstance(one.type, types) for one in columns):
        raise options.invalid(column, "a column of the table with numbers")
    low, high = options.number(lower), options.number(upper)
    if low > high:
        raise options.invalid(lower, f"at most {upper}, {high}")
    count = min(options.positive(number, 1), high - low + 1)
    starts = [low + (high - low + 1) * part // count for part in range(count)]
    return ScanRanges(name, list(zip(starts, [*(start - 1 for start in starts[1:]), high], strict=True)))
