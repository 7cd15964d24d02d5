"""Statements of tables run in this process, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.common import Row, RowKind
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local


def environments() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """A pair of environments with parallelism 1."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env, StreamTableEnvironment.create(env)


def insert(env: StreamExecutionEnvironment, t_env: StreamTableEnvironment, statement: str, **options: Any) -> None:
    """Run an INSERT."""
    statements = t_env.create_statement_set()
    statements.add_insert_sql(statement)
    statements.attach_as_datastream()
    run_local(env, **options)


def create(name: str, columns: str, options: Mapping[str, str], more: str = "") -> str:
    """The statement that creates a table."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TABLE {name} ({columns}) {more} WITH ({pairs})"


def explained(statement: str, query: str) -> str:
    """The plan of an INSERT into the table `t` that a statement creates; all options are checked."""
    _, t_env = environments()
    t_env.execute_sql(statement)
    return t_env.explain_sql(f"INSERT INTO t {query}")


def written(statement: str, query: str, **options: Any) -> None:
    """Create the table `t` and run an INSERT into it."""
    env, t_env = environments()
    t_env.execute_sql(statement)
    insert(env, t_env, f"INSERT INTO t {query}", **options)


def read(query: str, *statements: str, **options: Any) -> list[tuple[Any, ...]]:
    """Create tables and return the rows of a query."""
    env, t_env = environments()
    for statement in statements:
        t_env.execute_sql(statement)
    rows: list[tuple[Any, ...]] = []
    stream = t_env.to_changelog_stream(t_env.sql_query(query))
    stream.collect_async()
    rows.extend(tuple(row) for row in run_local(env, **options).elements)
    return rows


def left_of(changes: Iterable[Row]) -> Counter[tuple[Any, ...]]:
    """How often each row comes more often than it goes, below zero if it goes more often."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for row in changes:
        counts[tuple(row)] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    return counts
