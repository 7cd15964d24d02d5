"""The columns, and fields of rows, that expressions read."""

from __future__ import annotations

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.table.planner.rel.rex_tools import children

Fields = dict[str, "Fields"] | None
"""The used fields of a row by name, each with its own used fields; None if the value is used as a whole."""

Uses = dict[int, Fields]
"""The used columns by index."""


def add_use(uses: Uses, index: int, fields: Fields) -> None:
    """Add a use of a column."""
    uses[index] = _both(uses[index], fields) if index in uses else fields


def _both(a: Fields, b: Fields) -> Fields:
    if a is None or b is None:
        return None
    return {name: _both(a[name], b[name]) if name in a and name in b else (a | b)[name] for name in a | b}


def path_of(rex: object) -> tuple[int, tuple[str, ...]] | None:
    """Return column and names of the fields of an access by name to a field of a row, None for other expressions."""
    if not (isinstance(rex, Call) and rex.function == "DOT"):
        return None
    row, field = rex.operands
    kind = row.type
    if not (isinstance(field, Literal) and isinstance(kind, RowType) and kind.names.count(field.value) == 1):
        return None
    if isinstance(row, InputRef):
        return row.index, (field.value,)
    inner = path_of(row)
    return None if inner is None else (inner[0], (*inner[1], field.value))


def uses_of(rex: Rex, found: Uses, fields: Fields = None) -> Uses:
    """Add the uses of an expression to those found and return these.

    Args:
        rex: The expression.
        found: The uses so far.
        fields: The used fields of the expression's value.
    """
    if isinstance(rex, InputRef):
        add_use(found, rex.index, fields)
        return found
    path = path_of(rex)
    if path is not None:
        index, names = path
        for name in reversed(names):
            fields = {name: fields}
        add_use(found, index, fields)
        return found
    for child in children(rex):
        uses_of(child, found)
    return found
