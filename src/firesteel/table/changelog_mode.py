"""Modes of changelogs (module as `pyflink.table.changelog_mode`)."""

from __future__ import annotations

from firesteel.columns.batch import Kind
from firesteel.table.connectors.base import ALL_KINDS, INSERT_ONLY, UPSERT

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """What kinds of rows a changelog has (Flink: `ChangelogMode`)."""

    def __init__(self, kinds: frozenset[Kind]) -> None:
        self._kinds = kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(INSERT_ONLY)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows replace those with the same key, or delete them."""
        return ChangelogMode(UPSERT)

    @staticmethod
    def all() -> ChangelogMode:
        """Rows of all kinds."""
        return ChangelogMode(ALL_KINDS)
