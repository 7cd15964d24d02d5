"""Resolution makes plain joins; the first rules choose their operators by the types that joins leave."""

from __future__ import annotations

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.rules import optimize
from firesteel.table.planner.rules.subqueries import remove_subqueries

WINDOWS = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(t), INTERVAL '1' HOUR))"
SAME_WINDOW = "l.window_start = r.window_start AND l.window_end = r.window_end"
HOUR = "BETWEEN r.t - INTERVAL '1' HOUR AND r.t"
CHOSEN = {
    "SELECT l.v, r.v FROM a AS l JOIN b AS r ON l.k = r.k": [rel.Join],
    f"SELECT l.v, r.v FROM a AS l JOIN b AS r ON l.k = r.k AND l.t {HOUR}": [rel.IntervalJoin],
    f"SELECT l.v FROM a AS l WHERE EXISTS (SELECT * FROM b AS r WHERE l.k = r.k AND l.t {HOUR})": [rel.Join],
    f"SELECT l.v, r.v FROM a AS l LEFT JOIN b AS r ON l.t {HOUR}": [rel.Join],
    "SELECT l.v, r.v FROM a AS l JOIN b AS r ON l.t = r.t": [rel.IntervalJoin],
    f"SELECT l.v, r.v FROM {WINDOWS.format('a')} AS l JOIN {WINDOWS.format('b')} AS r ON {SAME_WINDOW}": [
        rel.WindowJoin
    ],
    f"SELECT l.v, r.v FROM {WINDOWS.format('a')} AS l JOIN {WINDOWS.format('b')} AS r ON l.window_end = r.window_end": [
        rel.Join
    ],
    f"SELECT * FROM {WINDOWS.format('a')} AS l WHERE k IN "
    f"(SELECT k FROM {WINDOWS.format('b')} AS r WHERE {SAME_WINDOW})": [rel.WindowJoin],
    f"SELECT l.v FROM (SELECT l.* FROM {WINDOWS.format('a')} AS l JOIN {WINDOWS.format('b')} AS r ON {SAME_WINDOW}) "
    f"AS l JOIN {WINDOWS.format('b')} AS r ON {SAME_WINDOW}": [rel.WindowJoin, rel.WindowJoin],
    f"SELECT l.v FROM (SELECT l.* FROM a AS l JOIN b AS r ON l.k = r.k AND l.t {HOUR}) AS l "
    f"JOIN b AS r ON l.k = r.k AND l.t {HOUR}": [rel.IntervalJoin, rel.IntervalJoin],
    "SELECT a.v FROM a JOIN b ON a.k = b.k AND CAST(a.t AS TIMESTAMP(6)) BETWEEN CAST(b.t AS TIMESTAMP(6)) AND "
    "CAST(b.t AS TIMESTAMP(6)) + INTERVAL '1' HOUR": [rel.IntervalJoin],
    # Of days, and of times in another zone, the bounds are others than those of the times.
    "SELECT a.v FROM a JOIN b ON a.k = b.k AND CAST(a.t AS DATE) BETWEEN CAST(b.t AS DATE) AND CAST(b.t AS DATE)": [
        rel.Join
    ],
    "SELECT a.v FROM a JOIN b ON a.k = b.k AND CAST(a.t AS TIMESTAMP_LTZ(3)) BETWEEN CAST(b.t AS TIMESTAMP_LTZ(3)) AND "
    "CAST(b.t AS TIMESTAMP_LTZ(3)) + INTERVAL '1' HOUR": [rel.Join],
    "SELECT a.v, x.v FROM a JOIN c FOR SYSTEM_TIME AS OF a.t AS x ON a.k = x.k": [rel.TemporalJoin],
    "SELECT a.v, x.v FROM a JOIN d FOR SYSTEM_TIME AS OF a.p AS x ON a.k = x.k": [rel.LookupJoin],
}
JOINS = (rel.Join, rel.IntervalJoin, rel.WindowJoin, rel.TemporalJoin, rel.LookupJoin)


@pytest.fixture(scope="module")
def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    columns = "k INT, v INT, p AS PROCTIME(), t TIMESTAMP(3), WATERMARK FOR t AS t"
    for name, more in (("a", ""), ("b", ""), ("c", ", PRIMARY KEY (k) NOT ENFORCED")):
        made.execute_sql(f"CREATE TABLE {name} ({columns}{more}) WITH ('connector' = 'datagen')")
    options = "'connector' = 'http', 'format' = 'json', 'url' = 'http://localhost'"
    made.execute_sql(f"CREATE TABLE d (k INT, v INT) WITH ({options})")
    return made


def joins(root: rel.Rel) -> list[type]:
    return [type(node) for node in inputs_first([root]) if isinstance(node, JOINS)]


@pytest.mark.parametrize("query", CHOSEN)
def test_rules_choose_the_operator_of_a_join(environment: TableEnvironment, query: str) -> None:
    node = environment.sql_query(query)._node
    assert set(joins(node)) <= {rel.Join, rel.TemporalJoin}
    optimized = optimize(node, True)
    assert joins(optimized) == CHOSEN[query]
    assert all(one.keeps_times is False for one in inputs_first([optimized]) if isinstance(one, rel.Join))


def test_windows_of_a_join_are_known_before_its_operator_is_chosen(environment: TableEnvironment) -> None:
    joined = f"SELECT l.* FROM {WINDOWS.format('a')} AS l JOIN {WINDOWS.format('b')} AS r ON {SAME_WINDOW}"
    counts = f"SELECT window_start, window_end, COUNT(*) FROM ({joined}) GROUP BY window_start, window_end"
    nodes = inputs_first(remove_subqueries([environment.sql_query(counts)._node], is_streaming=True))
    assert any(isinstance(one, rel.WindowAggregate) for one in nodes)
    assert not any(isinstance(one, rel.WindowJoin) for one in nodes)
