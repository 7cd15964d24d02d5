"""The kinds of rows that a change of a row becomes."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns.batch import Kind

_OLD, _BOTH = (Kind.DELETE,), (Kind.UPDATE_BEFORE, Kind.UPDATE_AFTER)

OLD_ROWS = frozenset({Kind.UPDATE_BEFORE, Kind.DELETE})
"""Kinds that have the old row."""


def kinds_of_change(has_old: bool, has_new: bool, has_moved: bool, is_upsert: bool) -> Sequence[Kind]:
    """Return the kinds of the rows of a change.

    Args:
        has_old: Whether there was a row that counts.
        has_new: Whether there is a row that counts.
        has_moved: Whether its key has changed: then these are two rows.
        is_upsert: Whether updates are without the old row.

    Example:
        >>> [kind.name for kind in kinds_of_change(True, True, False, False)]
        ['UPDATE_BEFORE', 'UPDATE_AFTER']
    """
    if has_old and has_new and not has_moved:
        return _BOTH[is_upsert:]
    return (*_OLD[: int(has_old)], *(Kind.INSERT,)[: int(has_new)])
