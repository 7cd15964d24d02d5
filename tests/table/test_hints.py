"""Hints of queries and tables; `tests/flink_recordings/test_hints.py` compares them with Flink's."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.table import TableEnvironment
from firesteel.table.errors import SqlParserError, ValidationException
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax.queries import Hint
from firesteel.table.syntax.unresolved import Position
from tests.table.environments import environment

JOIN = "o.id, c.name FROM o JOIN c ON o.id = c.id"


@pytest.fixture
def tables() -> TableEnvironment:
    t_env = environment()
    t_env.execute_sql("CREATE TABLE o (id INT, k INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    t_env.execute_sql("CREATE TABLE c (id INT, name STRING) WITH ('connector' = 'datagen')")
    return t_env


def factories(t_env: TableEnvironment, sql: str) -> list[Any]:
    """Return the plans of the kernels of a query's operators."""
    waiting, found = [t_env._planner.column_stream(t_env.sql_query(sql)._node)._transformation], []
    while waiting:
        transformation = waiting.pop()
        found.append(getattr(getattr(transformation, "operator", None), "factory", None))
        waiting += transformation.inputs
    return found


def test_the_kernel_of_a_join_gets_the_time_to_live_of_each_input(tables: TableEnvironment) -> None:
    sql = f"SELECT /*+ STATE_TTL('o' = '1d', 'c' = '0s') */ {JOIN}"
    (join,) = [found for found in factories(tables, sql) if isinstance(found, JoinFactory)]
    assert join.join.state_ttl_ms == (86_400_000, 0)


def test_the_kernel_of_an_aggregation_gets_its_time_to_live(tables: TableEnvironment) -> None:
    sql = "SELECT /*+ STATE_TTL('o' = '90 s') */ k, COUNT(*) FROM o GROUP BY k"
    (groups,) = [found for found in factories(tables, sql) if isinstance(found, GroupAggregateFactory)]
    assert groups.state_ttl_ms == 90_000
    plain = [f for f in factories(tables, sql.replace("90 s", "0")) if isinstance(f, GroupAggregateFactory)]
    assert plain[0].state_ttl_ms == 0


def test_equal_queries_with_other_times_to_live_do_not_share_state(tables: TableEnvironment) -> None:
    counts = "SELECT /*+ STATE_TTL('o' = '{}') */ k, COUNT(*) AS n FROM o GROUP BY k"
    union = tables.sql_query(f"{counts.format('1d')} UNION ALL {counts.format('2d')}").explain()
    assert "options:[1d]" in union
    assert "options:[2d]" in union


def test_hints_have_a_name_and_a_list_or_pairs() -> None:
    query = parse("SELECT /*+ BROADCAST(a, `b`), state_ttl('a' = '1d', b = '2d') */ x FROM a").query
    assert query.hints == (
        Hint("BROADCAST", ("a", "b"), position=Position(1, 12)),
        Hint("state_ttl", pairs=(("a", "1d"), ("b", "2d")), position=Position(1, 31)),
    )


@pytest.mark.parametrize(
    ("hint", "place"),
    [
        ("STATE_TTL('o' = 'soon')", "From line 2, column 5 to line 2, column 13: Invalid STATE_TTL hint value"),
        ("STATE_TTL('z' = '1d')", "From line 2, column 5 to line 2, column 13: The options of following hints"),
        ("NEST_LOOP", "From line 2, column 5 to line 2, column 13: Invalid hint: NEST_LOOP"),
        ("NOPE(o)", "From line 2, column 5 to line 2, column 8: Hint: NOPE"),
    ],
)
def test_errors_of_hints_name_their_place(tables: TableEnvironment, hint: str, place: str) -> None:
    with pytest.raises(ValidationException) as caught:
        tables.sql_query(f"SELECT\n/*+ {hint} */ {JOIN}")
    assert f"SQL validation failed. {place}" in str(caught.value)


def test_names_are_checked_for_all_selects_together(tables: TableEnvironment) -> None:
    groups = "SELECT /*+ STATE_TTL('o' = '2d') */ k, COUNT(*) AS n FROM o GROUP BY k"
    plan = tables.sql_query(f"SELECT /*+ STATE_TTL('o' = '1d') */ c.id FROM ({groups}) AS t JOIN c ON t.k = c.id")
    assert "select=[k, COUNT(*) AS EXPR$1], stateTtlHints=[[[STATE_TTL options:[2d]]]])" in plan.explain()
    assert "LEFT" not in plan.explain()
    wrong = groups.replace("'o'", "'y'")
    with pytest.raises(ValidationException, match=r"\n`y, z` in `STATE_TTL`"):
        tables.sql_query(f"SELECT /*+ STATE_TTL('z' = '1d') */ c.id FROM ({wrong}) AS t JOIN c ON t.k = c.id")


def test_a_malformed_hint_is_a_syntax_error(tables: TableEnvironment) -> None:
    with pytest.raises(SqlParserError, match=r'Encountered "\*/" at line 1, column 24'):
        tables.sql_query(f"SELECT /*+ BROADCAST(o */ {JOIN}")


def test_the_first_options_of_a_table_count(tables: TableEnvironment) -> None:
    valid, unknown = "OPTIONS('number-of-rows' = '1')", "OPTIONS('nope' = '1')"
    tables.sql_query(f"SELECT id FROM o /*+ {valid}, {unknown} */").explain()
    with pytest.raises(ValidationException, match="'nope'='1'"):
        tables.sql_query(f"SELECT id FROM o /*+ {unknown}, {valid} */").explain()
