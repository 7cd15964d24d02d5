"""What the result modes `table` and `changelog` show: pages of rows, their order, and what keys do to them.

Flink: `CliTableResultView`, `CliChangelogResultView`. Sorting by a column, and stopping a query without leaving its
rows, are firesteel's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from firesteel.common.types import Row
from firesteel.table.environment.materialized_rows import MaterializedRows
from firesteel.table.environment.print_style import cell_texts

if TYPE_CHECKING:
    from firesteel.table.types import RowType

CHANGES_KEPT = 1000
"""How many changes the result mode `changelog` keeps, as in Flink."""


class ResultView:
    """The rows of a query, one page of which is shown.

    Args:
        row_type: Names and types of the columns.
        most: Maximum number of rows of the table; None: show the changes themselves, the last ones of them.
    """

    def __init__(self, row_type: RowType, most: int | None) -> None:
        self.row_type = row_type
        self.is_changelog = most is None
        self.received = 0
        self.first_column = 0
        self.sorted_by: int | None = None
        self.descends = False
        self.selected: int | None = None
        self.is_open = False
        self.page_rows = 1
        self._changes: deque[Row] = deque(maxlen=CHANGES_KEPT)
        self._left = MaterializedRows(most)
        self._page: int | None = None
        self._ordered: list[Row] | None = None

    # --- rows --------------------------------------------------------------------------------------------------------

    def add(self, rows: Iterable[Row]) -> None:
        """Apply the changes that arrived."""
        keep = self._changes.append if self.is_changelog else self._left.add
        for row in rows:
            keep(row)
            self.received += 1
            self._ordered = None

    def rows(self) -> list[Row]:
        """Return all rows in the order in which they are shown."""
        if self._ordered is None:
            self._ordered = self._in_order(list(self._changes) if self.is_changelog else self._left.rows())
        return self._ordered

    def _in_order(self, rows: list[Row]) -> list[Row]:
        if self.sorted_by is None:
            return rows
        column = self.sorted_by
        known = [row for row in rows if row[column] is not None]
        try:
            known.sort(key=lambda row: row[column], reverse=self.descends)
        except TypeError:  # Maps have no order: their texts have.
            known.sort(key=lambda row: str(row[column]), reverse=self.descends)
        return known + [row for row in rows if row[column] is None]

    # --- pages -------------------------------------------------------------------------------------------------------

    @property
    def pages(self) -> int:
        """Return the number of pages, at least one."""
        return max(1, -(-len(self.rows()) // self.page_rows))

    @property
    def page(self) -> int:
        """Return the number of the page that is shown, from 1; by default it is the last one."""
        return self.pages if self._page is None else min(self._page, self.pages)

    @property
    def follows(self) -> bool:
        """Return whether the last page is shown, whatever its number is."""
        return self._page is None

    def shown(self) -> list[Row]:
        """Return the rows of the page."""
        begin = (self.page - 1) * self.page_rows
        return self.rows()[begin : begin + self.page_rows]

    def selected_cells(self) -> list[str]:
        """Return the values of the selected row in full, none if there is no such row."""
        shown = self.shown()
        has_row = self.selected is not None and self.selected < len(shown)
        return cell_texts(shown[self.selected], self.row_type) if has_row and self.selected is not None else []

    # --- keys --------------------------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """Do what a key means; others have no effect."""
        if self.is_open:
            self.is_open = False
        elif key.isdigit():
            self._sort_by(int(key) - 1)
        elif key in self._actions:
            self._actions[key](self)

    def _sort_by(self, column: int) -> None:
        """Sort by a column, in the other direction if it is sorted by it; column -1 is the order of arrival."""
        if column < len(self.row_type.fields):
            self.descends = column == self.sorted_by and not self.descends
            self.sorted_by = None if column < 0 else column
            self._ordered, self._page, self.selected = None, 1 if column >= 0 else None, None

    def _go_to(self, page: int) -> None:
        self._page, self.selected = max(1, min(page, self.pages)), None

    def _follow(self) -> None:
        self._page, self.selected = None, None

    def _select(self, step: int) -> None:
        if self.shown():
            self._page = self.page
            self.selected = 0 if self.selected is None else (self.selected + step) % len(self.shown())

    def _move(self, step: int) -> None:
        self.first_column = max(0, min(self.first_column + step, len(self.row_type.fields) - 1))

    def _open(self) -> None:
        self.is_open = bool(self.selected_cells())

    _actions: ClassVar[dict[str, Callable[[ResultView], None]]] = {
        "n": lambda self: self._go_to(self.page + 1),
        "page down": lambda self: self._go_to(self.page + 1),
        " ": lambda self: self._go_to(self.page + 1),
        "p": lambda self: self._go_to(self.page - 1),
        "page up": lambda self: self._go_to(self.page - 1),
        "home": lambda self: self._go_to(1),
        "l": lambda self: self._follow(),
        "end": lambda self: self._follow(),
        "w": lambda self: self._select(-1),
        "up": lambda self: self._select(-1),
        "s": lambda self: self._select(1),
        "down": lambda self: self._select(1),
        "a": lambda self: self._move(-1),
        "left": lambda self: self._move(-1),
        "d": lambda self: self._move(1),
        "right": lambda self: self._move(1),
        "o": lambda self: self._open(),
        "enter": lambda self: self._open(),
    }
