"""CREATE TABLE with properties of Flink up to 1.10."""

from __future__ import annotations

from dataclasses import replace

from firesteel.pyflink1.removed import Removed
from firesteel.pyflink1.tables.legacy_options import is_legacy, today_options
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax.statements import CreateTable, Statement
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import executor_of
from firesteel.table.table_result import TableResult

_INSTEAD = "'connector' = '...' and today's options of the connector"


def translated(statement: Statement) -> Statement:
    """Return a statement with today's options.

    Raises:
        ValidationException: a property has no translation.
    """
    if isinstance(statement, CreateTable) and is_legacy(dict(statement.options)):
        return replace(statement, options=tuple(today_options(dict(statement.options)).items()))
    return statement


def execute_sql(self: TableEnvironment, stmt: str) -> TableResult:
    """Execute a statement and return its result; CREATE TABLE also takes properties of Flink up to 1.10."""
    return executor_of(self).execute(translated(parse(stmt)))


REMOVED = (Removed(("table.TableEnvironment",), "execute_sql", execute_sql, _INSTEAD, widens=True),)
