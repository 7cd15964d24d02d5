"""Inserts that wait for `execute` of the table environment: `insert_into`, `sql_update`."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.file_targets import (
    gather_single_files,
    remove_single_files,
    targets_of,
    with_write_mode,
)
from firesteel.pyflink1.tables.legacy_tables import execute_statement
from firesteel.table.execution.insert_planning import PlannedInsert
from firesteel.table.explain_detail import DETAIL_NAMES, ExplainDetail
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax.statements import Insert
from firesteel.table.table import Table
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import environment_of, executor_of, insert_of, stream_environment_of
from firesteel.table.table_pipeline import TablePipeline

_INSERT = "execute_insert(), or StatementSet.add_insert() for several sinks"
_SQL = "execute_sql(), or StatementSet.add_insert_sql() for several sinks"
_EXECUTE = "execute_insert() or StatementSet.execute()"
_EXPLAIN = "Table.explain() or StatementSet.explain()"
_EXTENDED = (ExplainDetail.ESTIMATED_COST, ExplainDetail.CHANGELOG_MODE)
_insert_into_today = Table.insert_into

_BUFFERS: WeakKeyDictionary[TableEnvironment, list[PlannedInsert]] = WeakKeyDictionary()


def insert_into(
    self: Table, table_path_or_descriptor: str | TableDescriptor, *rest: str | bool, overwrite: bool = False
) -> TablePipeline:
    """Return a pipeline that writes the rows of the query, and that `execute` of the environment starts, too.

    Args:
        self: The query.
        table_path_or_descriptor: A table; up to PyFlink 1.9, the first component of its path.
        rest: The other components of the path; or whether to replace existing rows, as in PyFlink 2.
        overwrite: Whether to replace existing rows.
    """
    names = [part for part in rest if isinstance(part, str)]
    target = table_path_or_descriptor
    if names:
        target = ".".join(f"`{part}`" for part in (target, *names))
    pipeline = _insert_into_today(self, target, overwrite or True in rest)
    environment = environment_of(self)
    _buffer(environment).append(with_write_mode(environment, insert_of(pipeline)))
    return pipeline


def insert_into_of_environment(self: TableEnvironment, target_path: str, table: Table) -> None:
    """Write the rows of a table when the environment is executed."""
    note("TableEnvironment.insert_into()", _INSERT)
    table.insert_into(target_path)


def sql_update(self: TableEnvironment, stmt: str) -> None:
    """Execute a statement; an INSERT when the environment is executed."""
    note("sql_update()", _SQL)
    statement = parse(stmt)
    if isinstance(statement, Insert):
        planned = executor_of(self).plan_insert(statement)
        _buffer(self).append(with_write_mode(self, planned))
    else:
        execute_statement(self, statement)


def execute(self: TableEnvironment, job_name: str) -> JobExecutionResult:
    """Run all inserts since the last call as one job, and wait for its end."""
    note("TableEnvironment.execute()", _EXECUTE)
    inserts = _BUFFERS.pop(self, [])
    targets = targets_of(self, inserts)
    if inserts:
        executor_of(self).attach_inserts(inserts)
    # After the inserts are planned, so that what is refused leaves the former files.
    remove_single_files(targets)
    result = stream_environment_of(self).execute(job_name)
    gather_single_files(self, targets)
    return result


def explain(self: TableEnvironment, table: Table | None = None, extended: bool = False) -> str:
    """Return the plan of a table, or of all inserts that wait; `extended` adds costs and changes."""
    note("TableEnvironment.explain()", _EXPLAIN)
    details = _EXTENDED if extended else ()
    if table is not None:
        return table.explain(*details)
    return executor_of(self).explain_inserts(_buffer(self), tuple(DETAIL_NAMES[detail] for detail in details))


def _buffer(environment: TableEnvironment) -> list[PlannedInsert]:
    return _BUFFERS.setdefault(environment, [])


_ENVIRONMENT = ("table.TableEnvironment",)
REMOVED = (
    Removed(("table.Table",), "insert_into", insert_into, _INSERT, widens=True),
    Removed(_ENVIRONMENT, "insert_into", insert_into_of_environment, _INSERT),
    Removed(_ENVIRONMENT, "sql_update", sql_update, _SQL),
    Removed(_ENVIRONMENT, "execute", execute, _EXECUTE),
    Removed(_ENVIRONMENT, "explain", explain, _EXPLAIN),
)
