"""Dialects of SQL (module as `pyflink.table.sql_dialect`)."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """The dialect of statements; only Flink's own is supported."""

    DEFAULT = 0
    HIVE = 1

    @staticmethod
    def _of(name: str) -> int:
        return SqlDialect.HIVE if name.lower() == "hive" else SqlDialect.DEFAULT
