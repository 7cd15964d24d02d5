"""The equality of arrays, maps and rows in expressions, as of Java: NaN equals nothing, and entries have no order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from firesteel.columns.cells import Cell


def comparable(value: Cell) -> Hashable:
    """Return a hashable form of a value of any SQL type; forms are equal if `=` is true for the values.

    `row_keys.freeze` does the same for groups and keys, in which NaN equals NaN.
    """
    found: Hashable = value
    if isinstance(value, dict):
        found = tuple(map(comparable, value.values()))
    elif isinstance(value, list | tuple):
        # The entries of a map are tuples, which no array has.
        is_map = isinstance(value, list) and bool(value) and isinstance(value[0], tuple)
        found = (frozenset if is_map else tuple)(map(comparable, value))
    return found


def comparables(values: list[Cell]) -> Iterable[Hashable]:
    """Return the forms of the elements of an array, which are the elements themselves unless they are nested."""
    first = next((value for value in values if value is not None), None)
    return map(comparable, values) if isinstance(first, dict | list | tuple) else values
