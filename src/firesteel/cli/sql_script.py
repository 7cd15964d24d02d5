"""Execution of SQL scripts (Flink: `CliClient`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.table.planner.parse.script import split_statements

if TYPE_CHECKING:
    from firesteel.cli.sql_session import SqlSession


def run_script(session: SqlSession, script: str, origin: str) -> bool:
    """Execute the statements of a script up to the first one that fails.

    Args:
        session: Executes statements.
        script: Statements, separated by semicolons.
        origin: Name of the script for messages.

    Returns:
        Whether all statements succeeded.
    """
    for statement in split_statements(script):
        if not session.execute(statement.text, f" of {origin}, line {statement.line}"):
            return False
        if session.is_over:
            break
    return True
