"""Tables for notebooks, in HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_table"]


def html_table(names: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return a table in HTML; values are escaped.

    Args:
        names: The heads of the columns.
        rows: The values of each row.
        note: A line below the table.

    Example:
        >>> html_table(["n"], [[1], ["<b>"]])
        '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
