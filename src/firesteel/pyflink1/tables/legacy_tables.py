"""CREATE TABLE with properties of Flink up to 1.10."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firesteel.pyflink1.removed import Removed
from firesteel.pyflink1.tables.file_targets import FileTarget, set_file_target
from firesteel.pyflink1.tables.legacy_options import is_legacy, today_options
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax.statements import CreateTable, Statement
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import executor_of
from firesteel.table.table_result import TableResult

_INSTEAD = "'connector' = '...' and today's options of the connector"


def execute_statement(environment: TableEnvironment, statement: Statement) -> TableResult:
    """Execute a statement; CREATE TABLE with properties is translated to today's options.

    Raises:
        ValidationException: a property has no translation.
    """
    if not isinstance(statement, CreateTable) or not is_legacy(dict(statement.options)):
        return executor_of(environment).execute(statement)
    options = today_options(dict(statement.options))
    result = executor_of(environment).execute(replace(statement, options=tuple(options.items())))
    note_files(environment, statement.path, options)
    return result


def note_files(environment: TableEnvironment, path: tuple[str, ...], options: Mapping[str, str]) -> None:
    """Remember the path of a table of CSV files."""
    if options["connector"] == "filesystem" and options.get("format") == "csv" and "path" in options:
        set_file_target(environment, path, FileTarget(options["path"]))


def execute_sql(self: TableEnvironment, stmt: str) -> TableResult:
    """Execute a statement and return its result; CREATE TABLE also takes properties of Flink up to 1.10."""
    return execute_statement(self, parse(stmt))


REMOVED = (Removed(("table.TableEnvironment",), "execute_sql", execute_sql, _INSTEAD, widens=True),)
