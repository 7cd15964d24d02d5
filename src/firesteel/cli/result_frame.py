"""The screen of the result modes `table` and `changelog`, as something that rich prints."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from firesteel.cli.result_view import ResultView
from firesteel.common.terminal_text import in_one_line
from firesteel.common.types import Row
from firesteel.table.environment.print_style import cell_texts

_HEIGHT_WITHOUT_ROWS = 5
"""Lines of a screen that show no rows: status, names of the columns, and keys."""
_WIDEST_CELL = 30
_KEYS = (
    "q quit   x stop the query   n, p next and previous page   l last page   arrows row and columns",
    "1-9 sort by this column, again: descending   0 order of arrival   Enter show the whole row",
)


def frame_of(view: ResultView, status: str, width: int, height: int) -> RenderableType:
    """Return the screen of a view.

    Args:
        view: The rows. Its pages get as long as fits.
        status: How the query is doing.
        width: Columns of the terminal.
        height: Lines of the terminal.
    """
    view.page_rows = max(1, height - _HEIGHT_WITHOUT_ROWS)
    body = _row(view) if view.is_open else _table(view)
    lines = 1 + (len(view.row_type.fields) if view.is_open else len(view.shown()))
    gap = Text("\n" * max(0, height - lines - 4))
    keys = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in _KEYS]
    return Group(_status(view, status, width), body, gap, *keys)


def _status(view: ResultView, status: str, width: int) -> Text:
    title = f" SQL Query Result ({'Changelog' if view.is_changelog else 'Table'})"
    page = f"Page {'last' if view.follows else view.page} of {view.pages}, {len(view.rows()):,} rows"
    text = f"{title}   {page}   {status} "
    return Text(text.ljust(width)[:width], style="reverse", no_wrap=True)


def _table(view: ResultView) -> Table:
    table = Table(box=None, pad_edge=False, header_style="underline", padding=(0, 2, 0, 0))
    if view.is_changelog:
        table.add_column("op")
    for index, name in list(enumerate(view.row_type.field_names()))[view.first_column :]:
        arrow = "" if view.sorted_by != index else " ▼" if view.descends else " ▲"
        table.add_column(
            Text(in_one_line(name) + arrow),
            justify="right" if _are_numbers(row[index] for row in view.shown()) else "left",
            no_wrap=True,
            max_width=_WIDEST_CELL,
            overflow="ellipsis",
        )
    for number, row in enumerate(view.shown()):
        table.add_row(*_cells(view, row), style="reverse" if number == view.selected else "")
    return table


def _are_numbers(values: Iterable[object]) -> bool:
    return all(value is None or (isinstance(value, Number) and not isinstance(value, bool)) for value in values)


def _cells(view: ResultView, row: Row) -> list[Text]:
    texts = cell_texts(row, view.row_type)[view.first_column :]
    kind = [str(row.get_row_kind())] if view.is_changelog else []
    return [Text(in_one_line(text)) for text in (*kind, *texts)]


def _row(view: ResultView) -> Table:
    """Return the selected row, a line for each column."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in zip(view.row_type.field_names(), view.selected_cells(), strict=True):
        table.add_row(Text(in_one_line(name)), Text(in_one_line(text)))
    return table
