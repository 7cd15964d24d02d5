"""The result modes `table` and `changelog` without a query: pages, order, keys and what is on the screen."""

from __future__ import annotations

import gc
import os
import weakref

import pytest
from rich.console import Console

from firesteel.cli.arrived_rows import CHANGES_KEPT, ArrivedRows
from firesteel.cli.result_frame import frame_of
from firesteel.cli.result_view import ResultView
from firesteel.cli.terminal_keys import keys_of, pressed
from firesteel.common.types import Row, RowKind
from firesteel.table import DataTypes

ROW_TYPE = DataTypes.ROW(
    [
        DataTypes.FIELD("word", DataTypes.STRING()),
        DataTypes.FIELD("n", DataTypes.INT()),
        DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
    ]
)
WIDTH, HEIGHT = 80, 12


def change(kind: RowKind, *values: object) -> Row:
    row = Row(*values, {"k": 1})
    row.set_row_kind(kind)
    return row


def view_of(*rows: Row, arrived: ArrivedRows | None = None, most: int | None = 1000) -> ResultView:
    arrived = ArrivedRows(most) if arrived is None else arrived
    view = ResultView(ROW_TYPE, arrived.is_changelog)
    refresh(view, arrived, *rows)
    return view


def refresh(view: ResultView, arrived: ArrivedRows, *rows: Row) -> None:
    for row in rows:
        arrived.add(row)
    view.show(*arrived.take())


def inserted(count: int) -> list[Row]:
    return [change(RowKind.INSERT, f"w{number}", number) for number in range(count)]


def screen(view: ResultView, status: str = "running") -> list[str]:
    console = Console(width=WIDTH, height=HEIGHT)
    with console.capture() as captured:
        console.print(frame_of(view, status, "10:11:12", WIDTH, HEIGHT))
    return [line.rstrip() for line in captured.get().splitlines()]


def words(view: ResultView) -> list[object]:
    return [row[0] for row in view.shown()]


def test_a_table_has_the_rows_that_are_left() -> None:
    view = view_of(
        change(RowKind.INSERT, "a", 1),
        change(RowKind.INSERT, "b", 1),
        change(RowKind.UPDATE_BEFORE, "a", 1),
        change(RowKind.UPDATE_AFTER, "a", 2),
        change(RowKind.DELETE, "b", 1),
        change(RowKind.DELETE, "never there", 1),
    )
    assert [list(row)[:2] for row in view.rows()] == [["a", 2]]
    assert view.received == 6


def test_a_table_drops_the_first_of_too_many_rows() -> None:
    view = view_of(*inserted(5), change(RowKind.DELETE, "w0", 0), most=3)
    assert words(view_of(*inserted(5), most=3)) == ["w4"]
    assert [row[0] for row in view.rows()] == ["w2", "w3", "w4"]


def test_a_changelog_keeps_the_last_changes() -> None:
    view = view_of(*inserted(CHANGES_KEPT + 2), most=None)
    assert [row[0] for row in (view.rows()[0], view.rows()[-1])] == ["w2", f"w{CHANGES_KEPT + 1}"]
    assert screen(view)[2:4] == ["op  word      n  m", "+I  w997    997  {k=1}"]


class WatchedRow(Row):
    """A row that can be referred to weakly, which `Row` cannot."""


@pytest.mark.parametrize(("most", "kept"), [(10, 10), (None, CHANGES_KEPT)])
def test_rows_are_bounded_while_the_screen_is_not_refreshed(most: int | None, kept: int) -> None:
    arrived, alive = ArrivedRows(most), weakref.WeakValueDictionary[int, Row]()
    for number in range(3 * CHANGES_KEPT):
        alive[number] = row = WatchedRow(number)
        arrived.add(row)
    del row
    gc.collect()
    assert len(alive) == kept
    assert arrived.has_news
    shown, received = arrived.take()
    assert (len(shown), received) == (kept, 3 * CHANGES_KEPT)
    assert not arrived.has_news


def test_the_screen_is_as_high_as_the_terminal_and_follows_the_last_page() -> None:
    view = view_of(*inserted(12), arrived=(arrived := ArrivedRows(1000)))
    lines = screen(view)
    assert len(lines) == HEIGHT
    assert lines[0] == " SQL Query Result (Table)   Page last of 3, 12 rows   running"[:WIDTH].rstrip()
    assert lines[1] == " Refresh: 1 s   Updated: 10:11:12"
    assert lines[2:5] == ["word   n  m", "w10   10  {k=1}", "w11   11  {k=1}"]
    assert lines[-3].startswith("q quit   x stop the query   r refresh")
    assert not [line for line in lines if "…" in line], "all keys fit into a usual terminal"
    refresh(view, arrived, *inserted(10))
    assert screen(view)[3].startswith("w8")


@pytest.mark.parametrize(
    ("keys", "first"),
    [("p", "w5"), ("pp", "w0"), ("ppp", "w0"), ("ppn", "w5"), ("\x1b[H", "w0"), ("ppl", "w10"), ("\x1b[5~", "w5")],
)
def test_pages(keys: str, first: str) -> None:
    view = view_of(*inserted(12))
    screen(view)
    for key in keys_of(keys):
        view.press(key)
    assert words(view)[0] == first


def test_a_column_sorts_both_ways_with_null_last() -> None:
    rows = [change(RowKind.INSERT, word, n) for word, n in (("b", 2), ("c", None), ("a", 10))]
    view = view_of(*rows)
    found = []
    for key in "2213390":
        view.page_rows = 3
        view.press(key)
        found.append("".join(map(str, words(view))))
    assert found == ["bac", "abc", "abc", "bca", "bca", "bca", "bca"]
    view.press("2")
    assert screen(view)[2].split() == ["word", "n", "▲", "m"]


def test_a_row_opens_in_full() -> None:
    view = view_of(change(RowKind.INSERT, "long " * 20, 1))
    view.press("enter")
    assert not view.is_open
    view.press("down")
    assert "…" in screen(view)[3]
    view.press("enter")
    assert " ".join(screen(view)[2:6]).count("long") == 20
    assert screen(view)[2].startswith("word (STRING)")
    view.press("s")
    assert screen(view)[2].split() == ["n", "(INT)", "1"]
    view.press("x")
    assert view.is_open
    view.press("q")
    assert not view.is_open


def test_a_row_stays_open_while_the_rows_change() -> None:
    view = view_of(*inserted(2), arrived=(arrived := ArrivedRows(1000)))
    for key in ("up", "enter"):
        view.press(key)
    refresh(view, arrived, change(RowKind.DELETE, "w1", 1))
    assert words(view) == ["w0"]
    assert screen(view)[2].split() == ["word", "(STRING)", "w1"]


def test_keys_that_are_no_digits_do_not_sort() -> None:
    view = view_of(*inserted(2))
    view.press("²")  # a key of French keyboards
    assert view.sorted_by is None


def test_only_a_closed_terminal_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader) as file, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", file)
        os.write(writer, b"\xe9")  # in Latin-1, or the half of a character
        assert pressed(1) == []
        os.close(writer)
        assert pressed(1) == ["interrupt"]


def test_the_selection_begins_at_the_edge_it_comes_from_and_stops_at_the_other() -> None:
    view = view_of(*inserted(2))
    selected = []
    for key in ("up", "up", "up", "down", "down"):
        screen(view)
        view.press(key)
        selected.append(view.selected)
    assert selected == [1, 0, 0, 1, 1]


@pytest.mark.parametrize(("keys", "page"), [("1\r", 1), ("2x\x7f\r", 2), ("\r", 3), ("1\x1b", 3), ("4\r\x7f2\r", 2)])
def test_a_page_is_asked_for(keys: str, page: int) -> None:
    view = view_of(*inserted(12))
    screen(view)
    view.press("g")
    assert screen(view)[3] == " Enter page number: [1 to 3]"
    for key in keys_of(keys):
        view.press(key)
    assert view.dialog is None
    assert view.page == page


def test_a_wrong_page_is_refused() -> None:
    view = view_of(*inserted(1))
    for key in keys_of("g0q\r"):
        view.press(key)
    assert screen(view)[4:7] == [" > 0q", "", " The input is invalid please check it again."]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("/W7\r", "w7"),
        ("/w1\r", "w10"),  # from the page that is shown
        ("/w1\r/\r", "w11"),
        ("/w1\r/\r/\r", "w1"),  # after the last row the first one
        ("/w1\r?\r", "w1"),
        ("?w1\r", "w1"),
        ("?5\r?\r", "w5"),
        ("/nowhere\r\x1b/7\r", "w7"),
        ("/\r", None),
    ],
)
def test_a_row_is_searched_for(keys: str, found: str | None) -> None:
    view = view_of(*inserted(12))
    screen(view)
    for key in keys_of(keys):
        view.press(key)
    assert view.dialog is None
    selected = None if view.selected is None else view.shown()[view.selected][0]
    assert selected == found


def test_a_text_that_no_row_has_is_told() -> None:
    view = view_of(*inserted(2))
    for key in keys_of("/k=2\r"):
        view.press(key)
    assert screen(view)[3:7] == [
        " Search forward, in any case of letters:", " > k=2", "", " No row has this text.",
    ]  # fmt: skip
    empty = view_of()
    for key in keys_of("/a\r"):
        empty.press(key)
    assert empty.dialog is not None


def test_the_interval_of_refreshes_changes_as_in_flink() -> None:
    table, changes = view_of(), view_of(most=None)
    names = []
    for view, keys in ((table, "---+"), (table, "+++++++"), (changes, "-")):
        for key in keys:
            view.press(key)
        names.append(str(view.refreshes))
    assert names == ["500 ms", "-", "Fastest"]
    assert table.refreshes.is_due(0)
    assert not table.refreshes.is_due(1e9)
    table.press("r")
    assert table.refreshes.is_due(1e9)


def test_a_refresh_is_due_after_its_interval() -> None:
    refreshes = view_of().refreshes
    assert [refreshes.is_due(now) for now in (5, 5.5, 6.1, 6.2, 7.2)] == [True, False, True, False, True]


def test_values_that_have_changed_are_bold_until_the_next_refresh() -> None:
    arrived = ArrivedRows(1000)
    view = view_of(change(RowKind.INSERT, "a", 1), change(RowKind.INSERT, "b", 1), arrived=arrived)
    screen(view)
    refresh(view, arrived, change(RowKind.UPDATE_BEFORE, "b", 1), change(RowKind.UPDATE_AFTER, "b", 2))
    assert [view.is_new(row, column, text) for row, column, text in ((0, 1, "1"), (1, 0, "b"), (1, 1, "2"))] == [
        False,
        False,
        True,
    ]
    refresh(view, arrived)
    assert not view.is_new(1, 1, "2")


def test_columns_move_to_the_left() -> None:
    view = view_of(*inserted(1))
    for _ in range(5):
        view.press("right")
    assert screen(view)[2:4] == ["m", "{k=1}"]


def test_values_send_nothing_to_the_terminal() -> None:
    assert screen(view_of(change(RowKind.INSERT, "\x1b[2J[bold]x\n", 1)))[3].startswith(r"\x1b[2J[bold]x\n  1")


def test_keys_have_names() -> None:
    assert keys_of("Qé\x1b[A\x1bOB\x1b[6~\x1b[1;5C\r\x1b\x03\x1b[15~\x7f\x1b[17~") == [
        "q", "é", "up", "down", "page down", "right", "enter", "escape", "interrupt", "f5", "backspace", "",
    ]  # fmt: skip
