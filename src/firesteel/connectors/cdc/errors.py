"""The error of connectors that capture changes."""

from __future__ import annotations

from firesteel.errors import FiresteelError


class CdcError(FiresteelError):
    """Changes of a table could not be read."""


ANEW = "start the job without its savepoint to read the table anew"


def schema_change(column: str, before: str | None, now: str | None) -> str:
    """Return what has happened to a column.

    Args:
        column: The column, with its table, for messages.
        before: What its type was; None if there was no such column.
        now: What its type is; None if there is no such column.
    """
    what = "was added" if before is None else "was dropped" if now is None else "has another type now"
    return f"column {column} {what} since the source began. Schema changes are refused: {ANEW}"
