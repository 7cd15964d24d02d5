"""The screen of the result modes `table` and `changelog`, as something that rich prints."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from firesteel.cli.page_dialog import Dialog
from firesteel.cli.result_view import ResultView
from firesteel.common.terminal_text import in_one_line
from firesteel.common.types import Row
from firesteel.table.execution.print_style import cell_texts, type_texts

_WIDEST_CELL = 30
_KEYS: tuple[str, ...] = (
    "q quit   x stop the query   r refresh   +, - longer and shorter interval",
    "n, p next and previous page   l last page   g go to a page   /, ? search",
    "1-9 sort, again: descending   0 order of arrival   arrows select   Enter open",
)
_ROW_KEYS: tuple[str, ...] = ("q back to the rows   arrows scroll",)
_DIALOG_KEYS: tuple[str, ...] = ("Enter submit   Esc, or submit nothing: cancel",)
_HEIGHT_WITHOUT_ROWS = 4 + len(_KEYS)
"""Lines of a screen that show no rows: two of status, names of the columns, keys, and one that stays empty."""


def frame_of(view: ResultView, status: str, updated: str, width: int, height: int) -> RenderableType:
    """Return the screen of a view.

    Args:
        view: The rows. Its pages get as long as fits.
        status: How the query is doing.
        updated: When rows were added last.
        width: Columns of the terminal.
        height: Lines of the terminal.
    """
    view.page_rows = max(1, height - _HEIGHT_WITHOUT_ROWS)
    body: RenderableType
    if view.dialog is not None:
        body, lines, shown_keys = _question(view.dialog), 5, _DIALOG_KEYS
    elif view.is_open:
        body, lines, shown_keys = _selected_row(view), len(view.row_type.fields) - view.first_line, _ROW_KEYS
    else:
        body, lines, shown_keys = _table(view, status == "running"), 1 + len(view.shown()), _KEYS
    gap = Text("\n" * max(0, height - lines - len(shown_keys) - 3))
    keys = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in shown_keys]
    refresh = Text(f" Refresh: {view.refreshes}   Updated: {updated}", style="dim", no_wrap=True)
    return Group(_status(view, status, width), refresh, body, gap, *keys)


def _status(view: ResultView, status: str, width: int) -> Text:
    title = f" SQL Query Result ({'Changelog' if view.is_changelog else 'Table'})"
    page = f"Page {'last' if view.follows else view.page} of {view.pages}, {len(view.rows()):,} rows"
    text = f"{title}   {page}   {status} "
    return Text(text.ljust(width)[:width], style="reverse", no_wrap=True)


def _question(dialog: Dialog) -> RenderableType:
    wrong = dialog.wrong if dialog.is_wrong else ""
    answer = Text(f" > {in_one_line(dialog.text)}").append(" ", style="reverse")
    return Group(Text(), Text(f" {dialog.title}"), answer, Text(), Text(f" {wrong}", style="red"))


def _table(view: ResultView, is_running: bool) -> Table:
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
        is_selected = number == view.selected
        cells = _cells(view, row, number if is_running and not is_selected else None)
        table.add_row(*cells, style="reverse" if is_selected else "")
    return table


def _are_numbers(values: Iterable[object]) -> bool:
    return all(value is None or (isinstance(value, Number) and not isinstance(value, bool)) for value in values)


def _cells(view: ResultView, row: Row, number: int | None) -> list[Text]:
    """Return the cells of a row; in that of a number, those that have changed are bold."""
    found = [Text(str(row.get_row_kind()))] if view.is_changelog else []
    for column, text in list(enumerate(cell_texts(row, view.row_type)))[view.first_column :]:
        is_new = number is not None and view.is_new(number, column, text)
        found.append(Text(in_one_line(text), style="bold" if is_new else ""))
    return found


def _selected_row(view: ResultView) -> Table:
    """Return the selected row, a line for each column, from the first line on that is shown."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    columns = zip(view.row_type.field_names(), type_texts(view.row_type), view.opened, strict=True)
    for name, kind, text in list(columns)[view.first_line :]:
        table.add_row(Text(f"{in_one_line(name)} ({kind})"), Text(in_one_line(text)))
    return table
