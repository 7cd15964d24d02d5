"""Modes of changelogs (module as `pyflink.table.changelog_mode`)."""

from __future__ import annotations

from firesteel.columns.batch import Kind
from firesteel.connectors.table_connector import ALL_KINDS, INSERT_ONLY, UPSERT

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """The kinds of rows in a changelog (Flink: `ChangelogMode`).

    `insert_only`, `upsert` and `all` return the modes that exist.

    Args:
        kinds: The kinds of rows that a changelog of this mode may contain.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> words = table_env.from_elements([("to", 1), ("be", 1), ("to", 1)], ["word", "n"])
        >>> totals = words.group_by(col("word")).select(col("word"), col("n").sum.alias("total"))
        >>> stream = table_env.to_changelog_stream(totals, None, ChangelogMode.all())
    """

    def __init__(self, kinds: frozenset[Kind]) -> None:
        self._kinds = kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Return the mode in which rows are only added."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Return the mode in which rows replace, or delete, those with the same key."""
        return ChangelogMode(UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """Return the mode of a changelog with rows of all kinds."""
        return ChangelogMode(ALL_KINDS)
