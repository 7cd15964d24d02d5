"""The names and expressions of ORDER BY mean what they mean in Flink: first of all the items of SELECT."""

from __future__ import annotations

import pytest

from firesteel.table.errors import TableException, ValidationException
from tests.table.environments import environment, remaining

ROWS = "CREATE TEMPORARY VIEW t AS SELECT * FROM (VALUES (1, 2), (2, 1), (3, 3)) AS t(a, b)"


@pytest.fixture
def t_env():
    made = environment("batch")
    made.execute_sql(ROWS)
    return made


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT a, -b AS c FROM t ORDER BY c + 1", [(3, -3), (1, -2), (2, -1)]),
        ("SELECT -a AS b, a FROM t ORDER BY b + 0", [(-3, 3), (-2, 2), (-1, 1)]),
        ("SELECT -a AS b, a FROM t ORDER BY t.b + 0", [(-2, 2), (-1, 1), (-3, 3)]),
        ("SELECT b AS a, a AS b FROM t ORDER BY a + 0", [(1, 2), (2, 1), (3, 3)]),
        ("SELECT * FROM t ORDER BY -a", [(3, 3), (2, 1), (1, 2)]),
        (
            "SELECT a, SUM(b) AS s FROM t GROUP BY a ORDER BY CASE WHEN s > 2 THEN a ELSE 9 END",
            [(3, 3), (1, 2), (2, 1)],
        ),
        ("SELECT a AS x, SUM(b) AS s FROM t GROUP BY a ORDER BY SUM(x) * -1", [(3, 3), (2, 1), (1, 2)]),
        (
            "SELECT GROUPING(a) AS g, a, COUNT(*) FROM t GROUP BY ROLLUP (a) ORDER BY CASE WHEN g = 0 THEN a END",
            [(1, None, 3), (0, 1, 1), (0, 2, 1), (0, 3, 1)],
        ),
        ("SELECT a, ROW_NUMBER() OVER (ORDER BY b) AS r FROM t ORDER BY r * 2 + a", [(2, 1), (1, 2), (3, 3)]),
        ("SELECT a, b AS c FROM t ORDER BY ROW_NUMBER() OVER (ORDER BY c DESC)", [(3, 3), (1, 2), (2, 1)]),
        ("SELECT DISTINCT a AS x FROM t ORDER BY x * -1", [(3,), (2,), (1,)]),
        ("SELECT DISTINCT a AS x, b FROM t ORDER BY a", [(1, 2), (2, 1), (3, 3)]),
        ("SELECT DISTINCT a + 1 AS x FROM t ORDER BY (a + 1) * -1", [(4,), (3,), (2,)]),
        ("SELECT DISTINCT a, SUM(b) AS s FROM t GROUP BY a ORDER BY SUM(b) * -1", [(3, 3), (1, 2), (2, 1)]),
        ("SELECT DISTINCT b AS a, a AS b FROM t ORDER BY a + 0", [(1, 2), (2, 1), (3, 3)]),
        ("SELECT a AS x FROM t UNION ALL SELECT b FROM t ORDER BY x * -1", [(3,), (3,), (2,), (2,), (1,), (1,)]),
    ],
)
def test_rows_come_in_the_order_of_flink(t_env, query, rows):
    assert remaining(t_env.sql_query(query)) == rows


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT a, SUM(b) AS b FROM t GROUP BY a ORDER BY SUM(b)", "Aggregate expression SUM is illegal here"),
        ("SELECT DISTINCT a AS x FROM t ORDER BY b", "Expression 'b' is not in the select clause"),
        (
            "SELECT DISTINCT a FROM t GROUP BY a ORDER BY MAX(b)",
            "An expression of ORDER BY is not in the select clause",
        ),
        (
            "SELECT a AS x FROM t ORDER BY (SELECT MAX(u.b) FROM t AS u WHERE u.a = x)",
            "Column 'x' not found in any table",
        ),
    ],
)
def test_what_flink_refuses_is_refused(t_env, query, error):
    with pytest.raises(ValidationException, match=error):
        t_env.sql_query(query)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT COUNT(*) FROM t WHERE a > 5 GROUP BY GROUPING SETS (())", [(0,)]),
        ("SELECT COUNT(*), GROUP_ID() FROM t WHERE a > 5 GROUP BY GROUPING SETS ((), ())", [(0, 0), (0, 1)]),
        ("SELECT SUM(a), GROUP_ID() FROM t GROUP BY GROUPING SETS ((), ())", [(6, 0), (6, 1)]),
        ("SELECT SUM(a), GROUP_ID() FROM t GROUP BY DISTINCT GROUPING SETS ((), ())", [(6, 0)]),
        ("SELECT SUM(a), GROUP_ID() FROM t GROUP BY ALL GROUPING SETS ((), ())", [(6, 0), (6, 1)]),
        ("SELECT a, COUNT(*) FROM t WHERE a > 5 GROUP BY ROLLUP (a)", []),
    ],
)
def test_grouping_sets_without_keys_have_a_row_if_there_are_none(t_env, query, rows):
    assert sorted(remaining(t_env.sql_query(query))) == rows


def test_grouping_id_needs_a_key(t_env):
    with pytest.raises(ValidationException, match="Invalid number of arguments to function 'GROUPING_ID'"):
        t_env.sql_query("SELECT GROUPING_ID() FROM t GROUP BY ROLLUP (a)")


def test_a_stream_in_the_order_of_processing_time_is_as_it_arrives():
    t_env = environment("streaming")
    t_env.execute_sql(ROWS)
    t_env.execute_sql("CREATE TEMPORARY VIEW p AS SELECT a, b, PROCTIME() AS pt FROM t")
    assert remaining(t_env.sql_query("SELECT a, b FROM p ORDER BY pt")) == [(1, 2), (2, 1), (3, 3)]
    refused = {
        "pt DESC": "Sort on a non-time-attribute field",
        "pt, a": "Sort by a processing time and further columns",
    }
    for order, message in refused.items():
        with pytest.raises(TableException, match=message):
            t_env.sql_query(f"SELECT a, b FROM p ORDER BY {order}").execute()
