"""Tables of text for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines whose columns are aligned.

    Example:
        >>> text_table([("state", "entries"), ("count", "3")])
        ['state  entries', 'count  3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
