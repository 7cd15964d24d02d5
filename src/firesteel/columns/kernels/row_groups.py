"""Rows of a batch by group: numbers of groups, and running values within each group, by numpy and Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]

_SMALL = 32
"""Groups with more rows are accumulated one by one, smaller ones side by side."""


def can_factorize(kind: pa.DataType) -> bool:
    """Return whether Arrow and Python agree on which values of a type are equal."""
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind) or pa.types.is_null(kind))


class RowGroups:
    """Which rows of a batch belong together.

    Args:
        columns: The columns whose values tell groups apart (see `can_factorize`); NULL is a value. None: one group.
        length: The number of rows.

    Attributes:
        codes: The number of each row's group; groups are numbered in the order of their first rows.
        count: The number of groups.
        sizes: The number of rows of each group.
    """

    def __init__(self, columns: Sequence[pa.Array], length: int) -> None:
        self.length = length
        self.codes = np.zeros(length, np.int64)
        self.count = min(length, 1)
        for place, column in enumerate(columns):
            codes, count = _encode(column)
            if place == 0:
                self.codes, self.count = codes, count
            else:
                self.codes, self.count = _encode(pa.array(self.codes * count + codes))
        self.sizes = np.bincount(self.codes, minlength=self.count)

    def first_rows(self) -> Array:
        """Return the first row of each group."""
        rows = np.empty(self.count, np.int64)
        rows[self.codes[::-1]] = np.arange(self.length)[::-1]
        return rows

    def fold(self, function: np.ufunc, before: Array, values: Array) -> Array:
        """Return for each group `function` over what was before and its rows' values, in the order of the rows."""
        result = before.copy()
        with np.errstate(over="ignore"):
            function.at(result, self.codes, values)
        return result


class Timeline:
    """A place for each group as it was before, followed by one for each of its rows.

    Attributes:
        starts: The place of each group as it was before.
        after: The place of each row; what was before the row is one place ahead of it.
    """

    def __init__(self, groups: RowGroups) -> None:
        sizes = groups.sizes + 1
        self.starts = np.cumsum(sizes) - sizes
        self._sizes = sizes
        order = np.argsort(groups.codes, kind="stable")
        self.after = np.empty(groups.length, np.int64)
        self.after[order] = np.arange(groups.length) + groups.codes[order] + 1

    def accumulate(self, function: np.ufunc, before: Array, values: Array) -> Array:
        """Return `function` over what was before and the values of the rows up to each place."""
        result = np.empty(len(before) + len(values), before.dtype)
        result[self.starts] = before
        result[self.after] = values
        with np.errstate(over="ignore"):
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


def _encode(column: pa.Array) -> tuple[Array, int]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)
