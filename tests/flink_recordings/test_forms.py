"""Forms of queries are taken and refused as in Flink 2.3; a table has those that are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firesteel.common.table_errors import SqlParserException
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.errors import TableException, ValidationException
from tests.flink_recordings.forms.different import MISSING, MORE

pytestmark = pytest.mark.slow

FORMS = Path(__file__).parent / "forms"
RECORDED: dict[str, list[str] | None] = json.loads((FORMS / "recorded.json").read_text())


def types(t_env: TableEnvironment, statement: str) -> list[str] | None:
    """Return the types of the columns of a query, None if it is refused by an error that is meant for users."""
    try:
        table = t_env.sql_query(statement)
        table.explain()
    except (TableException, ValidationException, SqlParserException, NotImplementedError):
        return None
    return [str(kind) for kind in table.get_schema().get_field_data_types()]


def test_forms_are_taken_and_refused_as_in_flink() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql((FORMS / "source.sql").read_text())
    found = {statement: types(t_env, statement) for statement in RECORDED}
    differ = {statement for statement, result in RECORDED.items() if found[statement] != result}
    more = {statement for statement in differ if RECORDED[statement] is None}
    assert more == {statement for statements in MORE.values() for statement in statements}
    assert differ - more == {statement for statements in MISSING.values() for statement in statements}


def test_all_forms_are_recorded() -> None:
    assert list(RECORDED) == (FORMS / "statements.txt").read_text().splitlines()
