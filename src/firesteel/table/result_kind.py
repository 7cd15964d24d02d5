"""Kinds of results (module as `pyflink.table.result_kind`)."""

from __future__ import annotations

__all__ = ["ResultKind"]


class ResultKind:
    """The kind of a result: only success (`OK`), or rows.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.execute_sql("USE CATALOG default_catalog").get_result_kind() == ResultKind.SUCCESS
        True
    """

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
