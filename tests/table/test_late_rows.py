"""Batches are split at late rows only below an operator that does something else with them."""

from __future__ import annotations

import pytest

from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.traits.late_rows import ASKS_FOR_WATERMARKS, decide_lateness
from tests.table.environments import environment

TABLE = (
    "CREATE TABLE {} (k INT, v INT, a ARRAY<INT>, t TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR t AS t, "
    "PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'datagen')"
)
WINDOWS = "TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '1' MINUTE))"
BOUNDS = "window_start, window_end"

NOT_ASKED = [
    "SELECT k, v + 1 FROM s WHERE v > 3",
    "SELECT k, COUNT(*) FROM s GROUP BY k",
    f"SELECT * FROM {WINDOWS}",
    "SELECT s.k, r.v FROM s JOIN r ON s.v = r.v",
    "SELECT k, e FROM s CROSS JOIN UNNEST(a) AS u (e)",
    "SELECT v FROM s UNION ALL SELECT v FROM r",
    "SELECT v FROM s INTERSECT SELECT v FROM r",
    "SELECT k, v, COUNT(*) FROM s GROUP BY GROUPING SETS ((k), (v))",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM s) WHERE n < 3",
    "SELECT k, v FROM s ORDER BY v LIMIT 3",
]
ASKED = [
    f"SELECT k, COUNT(*) FROM {WINDOWS} GROUP BY k, {BOUNDS}",
    "SELECT * FROM TABLE(SESSION(TABLE s PARTITION BY k, DESCRIPTOR(t), INTERVAL '1' MINUTE))",
    "SELECT TUMBLE_START(t, INTERVAL '1' DAY), COUNT(*) FROM s GROUP BY TUMBLE(t, INTERVAL '1' DAY)",
    "SELECT s.k FROM s, r WHERE s.k = r.k AND s.t BETWEEN r.t - INTERVAL '1' HOUR AND r.t",
    "SELECT k, v FROM s ORDER BY t",
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY t) FROM s",
    f"SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {BOUNDS} ORDER BY v) AS n FROM {WINDOWS}) WHERE n < 3",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY t) AS n FROM s) WHERE n = 1",
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.v AS x PATTERN (A) DEFINE A AS A.v > 1)",
    "SELECT k, CURRENT_WATERMARK(t) FROM s",
    "SELECT k FROM s WHERE t > CURRENT_WATERMARK(t)",
    f"SELECT x.k FROM (SELECT * FROM {WINDOWS}) AS x JOIN (SELECT * FROM {WINDOWS}) AS y ON x.k = y.k "
    "AND x.window_start = y.window_start AND x.window_end = y.window_end",
]

TEMPORAL = "SELECT s.k, s.t, x.v FROM s JOIN r FOR SYSTEM_TIME AS OF s.t AS x ON s.k = x.k"
OF_VERSIONS = [
    TEMPORAL,
    f"SELECT TUMBLE_START(t, INTERVAL '1' DAY), COUNT(*) FROM ({TEMPORAL}) AS j GROUP BY TUMBLE(t, INTERVAL '1' DAY)",
]


def plans(*queries):
    tables = environment()
    for name in "sr":
        tables.execute_sql(TABLE.format(name))
    return tables._planner.optimized([tables.sql_query(sql)._node for sql in queries])


@pytest.mark.parametrize(("sql", "asks"), [*((sql, False) for sql in NOT_ASKED), *((sql, True) for sql in ASKED)])
def test_a_watermark_marks_late_rows_only_for_those_that_ask(sql, asks):
    found = plans(sql)
    late = decide_lateness(found)
    watermarks = [node for node in inputs_first(found) if isinstance(node, rel.AssignWatermark)]
    assert watermarks
    assert {node in late for node in watermarks} == {asks}


@pytest.mark.parametrize("sql", OF_VERSIONS)
def test_no_one_asks_which_versions_of_a_table_are_late(sql):
    found = plans(sql)
    late = decide_lateness(found)
    watermarks = [node for node in inputs_first(found) if isinstance(node, rel.AssignWatermark)]
    assert [node in late for node in watermarks] == [True, False]


def test_one_query_that_asks_is_enough():
    found = plans(NOT_ASKED[1], ASKED[0])
    late = decide_lateness(found)
    assert any(isinstance(node, rel.AssignWatermark) for node in late)


def test_each_node_is_in_a_query():
    leaves_and_lookups = {rel.StreamScan, rel.Values, rel.LookupJoin}
    seen = {type(node) for node in inputs_first(plans(*NOT_ASKED, *ASKED, TEMPORAL))}
    assert seen == ASKS_FOR_WATERMARKS.keys() - leaves_and_lookups
