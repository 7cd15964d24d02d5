"""What the result modes `table` and `changelog` show: pages of rows, their order, and what keys do to them.

Flink: `CliTableResultView`, `CliChangelogResultView`, `CliRowView`, all of whose keys are here. Sorting by a column,
searching, stopping a query without leaving its rows, and the pages of a changelog are firesteel's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from firesteel.cli.page_dialog import Dialog, PageDialog, SearchDialog
from firesteel.cli.refresh_interval import RefreshInterval
from firesteel.common.types import Row
from firesteel.table.execution.print_style import cell_texts

if TYPE_CHECKING:
    from firesteel.table.types import RowType

_CLOSE_ROW = frozenset({"q", "escape", "interrupt", "o", "enter"})
_LINES = {"w": -1, "up": -1, "s": 1, "down": 1}


class ResultView:
    """The rows of a query, one page of which is shown.

    Args:
        row_type: Names and types of the columns.
        is_changelog: Whether the rows are changes.

    Attributes:
        refreshes: How often the rows are replaced.
        received: Number of changes that have made the rows.
        selected: The number of the selected row of the page; None if there is none.
        opened: The values of the row that is shown in full, as they were when it was opened; empty if none is.
        first_line: The first line of that row that is shown.
        dialog: The question that is open; None if none is.
    """

    def __init__(self, row_type: RowType, is_changelog: bool) -> None:
        self.row_type = row_type
        self.is_changelog = is_changelog
        self.refreshes = RefreshInterval(self.is_changelog)
        self.received = 0
        self.first_column = 0
        self.sorted_by: int | None = None
        self.descends = False
        self.selected: int | None = None
        self.opened: list[str] = []
        self.first_line = 0
        self.dialog: Dialog | None = None
        self._sought = ""
        self.page_rows = 1
        self._before: tuple[int, list[list[str]]] = (1, [])
        self._arrived: list[Row] = []
        self._page: int | None = None
        self._ordered: list[Row] | None = None

    # --- rows --------------------------------------------------------------------------------------------------------

    def show(self, rows: list[Row], received: int) -> None:
        """Replace the rows by those that `received` changes have made."""
        if not self.is_changelog:
            self._before = self.page, self._texts()
        if received != self.received:
            self._arrived, self._ordered, self.received = rows, None, received

    def rows(self) -> list[Row]:
        """Return all rows in the order in which they are shown."""
        if self._ordered is None:
            self._ordered = self._in_order(self._arrived)
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

    @property
    def is_open(self) -> bool:
        """Return whether a row is shown in full."""
        return bool(self.opened)

    def _selected_cells(self) -> list[str]:
        """Return the values of the selected row in full, none if there is no such row."""
        shown = self.shown()
        has_row = self.selected is not None and self.selected < len(shown)
        return cell_texts(shown[self.selected], self.row_type) if has_row and self.selected is not None else []

    def is_new(self, row: int, column: int, text: str) -> bool:
        """Return whether a text of the page, also one left of the first column that is shown, is other than before."""
        page, before = self._before
        return not self.is_changelog and page == self.page and (row >= len(before) or before[row][column] != text)

    def _texts(self) -> list[list[str]]:
        return [cell_texts(row, self.row_type) for row in self.shown()]

    # --- keys --------------------------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """Do what a key means; others have no effect."""
        if self.dialog is not None:
            self._answer(self.dialog, key)
        elif self.is_open:
            self._press_in_row(key)
        elif key.isdecimal():
            self._sort_by(int(key) - 1)
        elif key in self._actions:
            self._actions[key](self)

    def _answer(self, dialog: Dialog, key: str) -> None:
        dialog.press(key)
        if dialog.is_over:
            self.dialog = None

    def _press_in_row(self, key: str) -> None:
        if key in _CLOSE_ROW:
            self.opened = []
        elif key in _LINES:
            self.first_line = max(0, min(self.first_line + _LINES[key], len(self.row_type.fields) - 1))

    def _ask_for_page(self) -> None:
        self.dialog = PageDialog(self.pages, self._go_to)

    def _ask_for_text(self, is_backward: bool) -> None:
        self.dialog = SearchDialog(self._sought, is_backward, self._find)

    def _find(self, text: str, is_backward: bool) -> bool:
        """Select the next row that has a text in a column, after the last row the first one; False if there is none."""
        self._sought, rows, step = text, self.rows(), -1 if is_backward else 1
        begin = (self.page - 1) * self.page_rows + (self.selected if self.selected is not None else -(step > 0))
        for distance in range(1, len(rows) + 1):
            number = (begin + step * distance) % len(rows)
            if any(text.casefold() in cell.casefold() for cell in cell_texts(rows[number], self.row_type)):
                self._page, self.selected = number // self.page_rows + 1, number % self.page_rows
                return True
        return False

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
        last = len(self.shown()) - 1
        if last >= 0:
            self._page = self.page
            if self.selected is None:
                self.selected = 0 if step > 0 else last
            else:
                self.selected = max(0, min(self.selected + step, last))

    def _move(self, step: int) -> None:
        self.first_column = max(0, min(self.first_column + step, len(self.row_type.fields) - 1))

    def _open(self) -> None:
        self.opened, self.first_line = self._selected_cells(), 0

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
        "g": lambda self: self._ask_for_page(),
        "/": lambda self: self._ask_for_text(is_backward=False),
        "?": lambda self: self._ask_for_text(is_backward=True),
        "r": lambda self: self.refreshes.demand(),
        "f5": lambda self: self.refreshes.demand(),
        "+": lambda self: self.refreshes.change(1),
        "-": lambda self: self.refreshes.change(-1),
    }
