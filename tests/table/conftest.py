from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.client.spark_tables import SparkTableError
from firesteel.errors import JobExecutionError
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.execution.statement_execution import StatementExecutor
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax import statements as s

EXPLAINED = (s.Query, s.Insert, s.StatementSetBlock, s.Explain)
"""Statements that EXPLAIN takes; it refuses all others with one message, as in Flink."""


@pytest.fixture(scope="module")
def mysql():
    """A MariaDB server with a binlog."""
    from tests.table.captured_mysql import mysql_server  # late: few tests need a server

    with mysql_server() as found:
        yield found


@pytest.fixture
def t_env():
    """A streaming environment; nothing is run unless a test does."""
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows_of(result):
    """The rows of a statement that needs no job."""
    return [tuple(row) for row in result.collect()]


@pytest.fixture(autouse=True)
def explain_refuses_the_same(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let EXPLAIN refuse whatever an execution in a test of tables refuses, with the same error.

    So each test of a refusal is one of EXPLAIN, too. The fixture gives the errors that it has compared.
    """
    compared: list[str] = []
    differences: list[str] = []

    def checked(kind: type, method: str, explain: Callable[..., Any]) -> None:
        execute = getattr(kind, method)

        @functools.wraps(execute)
        def both(self: Any, what: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return execute(self, what, *arguments, **options)
            except (JobExecutionError, SparkTableError):
                raise  # the job ran, or Spark its part of it
            except Exception as error:
                expected = error_text(error)
                found = error_of(explain, self, what)
                if found is not None:
                    compared.append(expected)
                    if found != expected:
                        differences.append(f"{what!r}: an execution raises {expected!r}, EXPLAIN {found!r}")
                raise

        monkeypatch.setattr(kind, method, both)

    checked(TableEnvironment, "execute_sql", lambda self, text: is_explained(text) and self.explain_sql(text))
    checked(StatementExecutor, "run_inserts", lambda self, inserts: self.explain_inserts(inserts, ()))
    checked(StatementExecutor, "collect", lambda self, node: self._planner.explain([node], [], ()))
    yield compared
    assert differences == []


def is_explained(text: str) -> bool:
    try:
        return isinstance(parse(text), EXPLAINED)
    except Exception:
        return True  # both refuse it when they parse it


def error_of(explain: Callable[..., Any], *arguments: Any) -> str | None:
    """Return the error of EXPLAIN; None for a statement that it does not take."""
    try:
        return None if explain(*arguments) is False else "nothing"
    except Exception as error:
        return error_text(error)


def error_text(error: Exception) -> str:
    return f"{type(error).__name__}: " + re.sub(r"\b[0-9a-f]{32}\b", "ID", str(error))
