"""The rows of a changelog that are left."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from firesteel.common.types import Row, RowKind


class MaterializedRows:
    """The rows that the changes so far leave, in order of arrival; a change takes back the last of equal rows.

    Flink: `MaterializedCollectStreamResult`.

    Args:
        most: Maximum number of rows, beyond which the first ones are dropped; None keeps all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._rows: dict[int, tuple[str, Row]] = {}
        self._numbers: dict[str, list[int]] = {}
        self._next = itertools.count()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Row) -> None:
        """Apply a change. One that takes back a row that is not there has no effect."""
        key = repr(list(row))
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            number = next(self._next)
            self._numbers.setdefault(key, []).append(number)
            self._rows[number] = key, row
            self._drop_first()
        elif key in self._numbers:
            self._remove(key, -1)

    def _drop_first(self) -> None:
        if self._most is not None and len(self._rows) > self._most:
            key, _ = next(iter(self._rows.values()))
            self._remove(key, 0)

    def _remove(self, key: str, position: int) -> None:
        numbers = self._numbers[key]
        del self._rows[numbers.pop(position)]
        if not numbers:
            del self._numbers[key]

    def rows(self) -> list[Row]:
        """Return the rows that are left."""
        return [row for _, row in self._rows.values()]


def materialized(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that a whole changelog leaves."""
    left = MaterializedRows()
    for row in rows:
        left.add(row)
    return left.rows()
