"""Grouping of the rows of a batch, and running values within each group, in numpy and Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array
from firesteel.columns.orders import paired, stable_order
from firesteel.columns.row_keys import integers_of

_SMALL = 32
"""Groups with more rows are accumulated one at a time; smaller ones are accumulated together, row by row."""


def can_factorize(kind: pa.DataType) -> bool:
    """Return whether Arrow and Python agree on the equality of values of a type."""
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind) or pa.types.is_null(kind))


class RowGroups:
    """The groups of the rows of a batch.

    Args:
        columns: The grouping columns (see `can_factorize`); NULL is a value. Without columns there is one group.
        length: The number of rows.

    Attributes:
        codes: The group number of each row; groups are numbered in the order of their first rows.
        count: The number of groups.
        sizes: The number of rows of each group.
    """

    def __init__(self, columns: Sequence[pa.Array], length: int) -> None:
        self.length = length
        self.codes = np.zeros(length, np.int64)
        self.count = min(length, 1)
        if length and columns:
            numbers, count = _numbers(columns[0])
            for column in columns[1:]:
                numbers, count = paired(numbers, _numbers(column)[0]), None
            self.codes, self.count = _by_first_row(numbers) if count is None else (numbers.astype(np.int64), count)
        self.sizes = np.bincount(self.codes, minlength=self.count)

    @classmethod
    def numbered(cls, codes: Array, count: int) -> RowGroups:
        """Return the groups of rows whose numbers are known. Some may have no row; `first_rows` is not for these."""
        groups = cls((), len(codes))
        groups.codes, groups.count = codes, count
        groups.sizes = np.bincount(codes, minlength=count)
        return groups

    def first_rows(self) -> Array:
        """Return the index of the first row of each group."""
        rows = np.empty(self.count, np.int64)
        # Backwards: of several assignments to one place numpy keeps the last one, which is the first row.
        rows[self.codes[::-1]] = np.arange(self.length)[::-1]
        return rows

    def fold(self, function: np.ufunc, before: Array, values: Array) -> Array:
        """Return `function` folded over the initial value and the row values of each group, in row order."""
        result = before.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is NaN
            # `at` applies the function once per row, also where rows share a group; `result[codes] += values` would
            # not.
            function.at(result, self.codes, values)
        return result


class Timeline:
    """A layout of running values: one place for each group's initial value, followed by one for each of its rows.

    Attributes:
        starts: The place of each group's initial value.
        after: The place of the value after each row. The value before the row is one place ahead.
    """

    def __init__(self, groups: RowGroups) -> None:
        sizes = groups.sizes + 1
        self.starts = np.cumsum(sizes) - sizes
        self._sizes = sizes
        order = stable_order(groups.codes)
        self.after = np.empty(groups.length, np.int64)
        self.after[order] = np.arange(groups.length) + groups.codes[order] + 1

    def accumulate(self, function: np.ufunc, before: Array, values: Array) -> Array:
        """Return the running values of `function`, from the initial value through each row of a group."""
        result = np.empty(len(before) + len(values), before.dtype)
        result[self.starts] = before
        result[self.after] = values
        with np.errstate(over="ignore", invalid="ignore"):
            self._accumulate(function, result)
        return result

    def _accumulate(self, function: np.ufunc, result: Array) -> None:
        large = self._sizes > _SMALL
        for start, size in zip(self.starts[large].tolist(), self._sizes[large].tolist(), strict=True):
            part = result[start : start + size]
            function.accumulate(part, out=part)
        starts, sizes = self.starts[~large], self._sizes[~large]
        for place in range(1, int(sizes.max(initial=0))):
            longer = sizes > place
            starts, sizes = starts[longer], sizes[longer]
            places = starts + place
            result[places] = function(result[places - 1], result[places])


def _numbers(column: pa.Array) -> tuple[Array, int | None]:
    """Return a number for each value, and how many there are if they are numbered in the order of their first rows."""
    kind = column.type
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        return integers_of(column).to_numpy(), None
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary)


def _by_first_row(numbers: Array) -> tuple[Array, int]:
    """Return numbers in the order in which they come first, and how many there are."""
    order = stable_order(numbers)
    starts = np.flatnonzero(np.append(True, np.diff(numbers[order]) != 0))
    firsts = order[starts]
    is_first = np.zeros(len(order), bool)
    is_first[firsts] = True
    places, codes = np.cumsum(is_first) - 1, np.empty(len(order), np.int64)
    codes[order] = np.repeat(places[firsts], np.diff(starts, append=len(order)))
    return codes, len(starts)
