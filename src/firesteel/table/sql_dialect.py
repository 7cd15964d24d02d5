"""Dialects of SQL (module as `pyflink.table.sql_dialect`)."""

from __future__ import annotations

__all__ = ["SqlDialect"]


class SqlDialect:
    """The dialect of statements; only Flink's own is supported.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.get_config().get_sql_dialect() == SqlDialect.DEFAULT
        True
    """

    DEFAULT = 0
    HIVE = 1


def dialect_of(name: str) -> int:
    """Return the dialect with a name."""
    return SqlDialect.HIVE if name.lower() == "hive" else SqlDialect.DEFAULT
