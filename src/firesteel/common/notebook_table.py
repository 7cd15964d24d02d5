"""Tables for notebooks, in HTML, and as text for front ends that show none, such as IPython in a terminal."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from firesteel.common.terminal_text import in_one_line
from firesteel.common.text_table import text_table

__all__ = ["NotebookTable", "ShownAsTable"]


@dataclass(frozen=True, slots=True, repr=False)
class NotebookTable:
    """A table that IPython shows in HTML or as text.

    Attributes:
        names: The heads of the columns.
        rows: The values of each row.
        note: A line below the table.

    Example:
        >>> NotebookTable(["n", "word"], [(1, "to"), (20, "be")], "2 rows")
        n   word
        1   to
        20  be
        2 rows
        >>> NotebookTable(["n"], [[1], ["<b>"]])._repr_html_()
        '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    names: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        rows = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in self.rows)
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
        below = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    def __repr__(self) -> str:
        lines = text_table([self.names, *([in_one_line(str(cell)) for cell in row] for row in self.rows)])
        return "\n".join([*lines, self.note] if self.note else lines)


class _Printer(Protocol):
    def text(self, text: str) -> None: ...


class ShownAsTable:
    """What a cell of a notebook shows as a table if it ends with an object of this class."""

    __slots__ = ()

    def _notebook_table(self) -> NotebookTable:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._notebook_table()._repr_html_()

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        printer.text(repr(self._notebook_table()))
