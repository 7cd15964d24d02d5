"""What queries read: columns, fields of rows, and equal subplans only once."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet
import pytest

from firesteel.columns.type_text import type_text
from firesteel.table import PlanReference
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules.rules import optimize_all
from tests.table.environments import environment, remaining

TABLE = """CREATE TABLE {name} (
    k INT, a ROW<x INT, y STRING, ts TIMESTAMP(3), deep ROW<p INT, q INT>>, b ROW<x INT, y STRING>, more STRING,
    `at` AS COALESCE(a.ts, TIMESTAMP '2024-01-01 00:00:00'), WATERMARK FOR `at` AS `at` - INTERVAL '1' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = '{format}')"""


@pytest.fixture
def tables(t_env):
    for name, format_name in (("t", "json"), ("p", "parquet"), ("c", "raw")):
        if name == "c":
            t_env.execute_sql("CREATE TABLE c (a ROW<x INT, y STRING>) WITH ('connector' = 'datagen')")
        else:
            t_env.execute_sql(TABLE.format(name=name, path=f"/nowhere/{name}", format=format_name))
    return t_env


def scans(t_env, *sqls, reuses=True):
    """The columns of each scan that a job of some queries has."""
    waiting = optimize_all([t_env.sql_query(sql)._node for sql in sqls], True, reuses)
    found = {}
    while waiting:
        node = waiting.pop(0)
        waiting += node.inputs
        if isinstance(node, rel.TableScan):
            found[id(node)] = ", ".join(f"{f.name} {type_text(f.data_type)}" for f in node.row_type.fields)
    return list(found.values())


@pytest.mark.parametrize("table", ["t", "p"])
def test_a_scan_has_only_the_fields_that_are_read(tables, table):
    def only(sql):
        (found,) = scans(tables, sql.replace("FROM t", f"FROM {table}"))
        return found

    time = "ts` TIMESTAMP(3)"
    assert only("SELECT k FROM t") == f"k INT, a ROW<`{time}>"
    assert only("SELECT a.x, b.y FROM t WHERE a.x > 1") == f"a ROW<`x` INT, `{time}>, b ROW<`y` STRING>"
    assert only("SELECT a.deep.q FROM t WHERE k = 1") == f"k INT, a ROW<`{time}, `deep` ROW<`q` INT>>"
    assert only("SELECT a.deep FROM t") == f"a ROW<`{time}, `deep` ROW<`p` INT, `q` INT>>"
    assert only("SELECT b FROM t") == f"a ROW<`{time}>, b ROW<`x` INT, `y` STRING>"
    assert only("SELECT b.x FROM t WHERE b IS NOT NULL") == f"a ROW<`{time}>, b ROW<`x` INT, `y` STRING>"
    assert only("SELECT r.x FROM (SELECT k, b AS r FROM t) WHERE k > 1") == f"k INT, a ROW<`{time}>, b ROW<`x` INT>"
    assert only("SELECT d.q FROM (SELECT a.deep AS d FROM t)") == f"a ROW<`{time}, `deep` ROW<`q` INT>>"


def test_windows_and_joins_pass_rows_on_with_fewer_fields(tables):
    window = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(`at`), INTERVAL '1' HOUR))"
    grouped = f"SELECT window_end, SUM(b.x) FROM {window} GROUP BY window_start, window_end"
    assert scans(tables, grouped) == ["a ROW<`ts` TIMESTAMP(3)>, b ROW<`x` INT>"]
    joined = "SELECT l.a.x, r.b.y FROM t AS l JOIN p AS r ON l.k = r.k AND l.b.x < r.b.x"
    assert scans(tables, joined) == [
        "k INT, a ROW<`x` INT, `ts` TIMESTAMP(3)>, b ROW<`x` INT>",
        "k INT, a ROW<`ts` TIMESTAMP(3)>, b ROW<`x` INT, `y` STRING>",
    ]


TOP = "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS n FROM {rows}) WHERE n <= {end}"


def test_a_top_n_keeps_only_what_is_read(tables):
    time = "a ROW<`ts` TIMESTAMP(3)>"
    read = TOP.format(order="more", rows="t", end=2)
    assert scans(tables, read) == [f"k INT, {time}, more STRING"]
    assert scans(tables, TOP.format(order="`at` DESC", rows="t", end=1)) == [f"k INT, {time}"]
    assert scans(tables, read.replace("SELECT k", "SELECT b.x, n")) == [f"k INT, {time}, b ROW<`x` INT>, more STRING"]
    joined = "(SELECT t.k, t.b, p.more, p.a FROM t JOIN p ON t.k = p.k)"
    assert scans(tables, TOP.format(order="more", rows=joined, end=1)) == [
        f"k INT, {time}",
        f"k INT, {time}, more STRING",
    ]


def test_a_top_n_over_changes_keeps_its_rows(tables):
    counted = "(SELECT k, more, COUNT(*) AS c, MAX(b.x) AS m FROM t GROUP BY k, more)"
    (rank,) = nodes(optimize_all([tables.sql_query(TOP.format(order="c", rows=counted, end=3))._node], True), rel.Rank)
    assert rank.row_type.names == ["k", "more", "c", "m"]
    assert not rank.is_narrowed


RANKED = {
    "first": "SELECT k, v FROM ({}) WHERE n = 1",
    "some": "SELECT w FROM ({}) WHERE n <= 3",
    "numbered": "SELECT n, k FROM ({}) WHERE n <= 3",
    "later": "SELECT k, w FROM ({}) WHERE n BETWEEN 2 AND 3",
    "nested": "SELECT v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY v) AS m FROM ({}) WHERE n <= 5) "
    "WHERE m = 1",
    "counted": "SELECT k, COUNT(*) FROM ({}) WHERE n <= 2 GROUP BY k",
}


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("order", ["v", "w DESC, v"])
def test_a_narrower_top_n_has_the_same_rows(name, order, tmp_path):
    rows = [{"k": n * 7 % 5, "v": n * 13 % 31, "w": f"w{n * 5 % 7}", "unused": f"{n}"} for n in range(200)]
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    found = []
    for prunes in ("true", "false"):
        t_env = environment("streaming", 2, **{"table.optimizer.prune-top-n-enabled": prunes})
        t_env.execute_sql(f"CREATE TABLE s (k INT, v INT, w STRING, unused STRING) {source}")
        inner = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS n FROM s"
        query = t_env.sql_query(RANKED[name].format(inner))
        (plan,) = t_env._planner.optimized([query._node])
        keeps = prunes == "false" or name == "nested"  # The outer Top-N is over rows that change.
        assert any("unused" in rank.row_type.names for rank in nodes([plan], rel.Rank)) == keeps
        found.append(sorted(remaining(query)))
    assert found[0] == found[1] != []


WINDOWED = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY v DESC) AS n FROM {}) WHERE n <= 2"
TUMBLE = "TABLE(TUMBLE(TABLE e, DESCRIPTOR(t), INTERVAL '1' SECOND))"
SWAPPED = f"(SELECT txt, v, window_end, window_start FROM {TUMBLE})"


@pytest.mark.parametrize(
    "sql",
    [
        WINDOWED.format("k, v", "window_start, window_end", TUMBLE),
        WINDOWED.format("v, n", "window_start, window_end, k", TUMBLE),
        WINDOWED.format("window_end, v", "window_start, window_end", SWAPPED),
    ],
)
def test_a_narrower_window_top_n_ends_with_the_same_windows(sql, tmp_path):
    rows = [{"txt": f"{n}", "k": n % 3, "v": n * 7 % 20, "ms": n * 100} for n in range(60)]
    (tmp_path / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    time = "t AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR t AS t"
    found = []
    for prunes in ("true", "false"):
        t_env = environment("streaming", **{"table.optimizer.prune-top-n-enabled": prunes})
        t_env.execute_sql(f"CREATE TABLE e (txt STRING, k INT, v INT, ms BIGINT, {time}) {source}")
        query = t_env.sql_query(sql)
        (plan,) = t_env._planner.optimized([query._node])
        (rank,) = nodes([plan], rel.Rank)
        assert ("txt" in rank.row_type.names) == (prunes == "false")
        found.append(sorted(remaining(query)))
    assert found[0] == found[1] != []


def test_a_top_n_knows_when_rows_lost_fields(tables):
    query = TOP.format(order="more", rows="(SELECT k, a, more FROM t)", end=2).replace(
        "SELECT k FROM", "SELECT a.x FROM"
    )
    (rank,) = nodes(optimize_all([tables.sql_query(query)._node], True), rel.Rank)
    assert rank.is_narrowed


def test_a_compiled_plan_keeps_its_columns(tables, tmp_path):
    tables.execute_sql("CREATE TABLE kept (k INT) WITH ('connector' = 'blackhole')")
    insert = f"INSERT INTO kept {TOP.format(order='more', rows='t', end=2)}"
    tables.get_config().set("table.optimizer.prune-top-n-enabled", "false")
    text = tables.compile_plan_sql(insert).as_json_string()
    former = re.sub(r',\s*"is_narrowed": null', "", text)
    assert former != text
    tables.get_config().set("table.optimizer.prune-top-n-enabled", "true")
    for plan in (text, former):
        explained = tables.load_plan(PlanReference.from_json_string(plan)).explain()
        assert "Rank(" in explained
        assert ", b, more" in explained[explained.index("Rank(") :].splitlines()[0]


def test_the_option_lets_a_top_n_keep_all_columns(tables):
    query = tables.sql_query(TOP.format(order="more", rows="t", end=2))._node
    for prunes, names in (("true", ["k", "more", "at"]), ("false", ["k", "a", "b", "more", "at"])):
        tables.get_config().set("table.optimizer.prune-top-n-enabled", prunes)
        (rank,) = nodes(tables._planner.optimized([query]), rel.Rank)
        assert (rank.row_type.names, bool(rank.is_narrowed)) == (names, prunes == "true")


def test_a_connector_that_makes_whole_rows_gets_whole_rows(tables):
    assert scans(tables, "SELECT a.x FROM c") == ["a ROW<`x` INT, `y` STRING>"]


def test_several_reads_of_a_table_are_one_scan_of_all_that_they_need(tables):
    both = ["SELECT a.x FROM t", "SELECT b.y, k FROM t"]
    union = "k INT, a ROW<`x` INT, `ts` TIMESTAMP(3)>, b ROW<`y` STRING>"
    assert scans(tables, *both) == [union]
    assert scans(tables, " UNION ALL ".join(["SELECT a.y FROM t", "SELECT b.y FROM t"])) == [
        "a ROW<`y` STRING, `ts` TIMESTAMP(3)>, b ROW<`y` STRING>"
    ]
    assert len(scans(tables, *both, reuses=False)) == 2
    assert len(scans(tables, "SELECT b.y FROM t", "SELECT b.y FROM p")) == 2
    hinted = "SELECT b.y FROM t /*+ OPTIONS('json.ignore-parse-errors' = 'true') */"
    assert len(scans(tables, "SELECT b.y FROM t", hinted)) == 2


def nodes(plans, kind):
    found = {}
    waiting = list(plans)
    while waiting:
        node = waiting.pop()
        waiting += node.inputs
        if isinstance(node, kind):
            found[id(node)] = node
    return list(found.values())


def test_equal_subplans_run_once_unless_they_are_random(tables):
    def projections(*sqls):
        return len(nodes(optimize_all([tables.sql_query(sql)._node for sql in sqls], True), rel.Aggregate))

    counted = "SELECT b.x, COUNT(*) AS n FROM t GROUP BY b.x"
    assert projections(f"SELECT MAX(n) FROM ({counted})", f"SELECT MIN(n) FROM ({counted})") == 3
    assert projections(counted, counted.replace("COUNT(*)", "SUM(k)")) == 2
    assert projections(counted, counted.replace("b.x,", "b.x + 0.0,").replace("BY b.x", "BY b.x + 0.0")) == 2
    assert projections(counted, counted) == 1
    random = "SELECT r, COUNT(*) AS n FROM (SELECT RAND() AS r FROM t) GROUP BY r"
    assert projections(random, random) == 2


def test_the_execution_plan_shows_a_reused_part_once(tables):
    text = tables.sql_query("SELECT l.b.x FROM t AS l JOIN t AS r ON l.k = r.k WHERE r.b.y = 'a'").explain()
    plan = text[text.index("== Optimized Execution Plan ==") :]
    assert plan.count("TableSourceScan(") == 1
    assert (
        plan.index("WatermarkAssigner(rowtime=[at]") < plan.index("(reuse_id=[1])") < plan.index("+- TableSourceScan")
    )
    assert plan.rstrip().endswith("+- Reused(reference_id=[1])")
    assert text.count("TableSourceScan(") == 5  # other sections show both


def test_the_option_turns_reuse_off(tables):
    queries = [tables.sql_query(f"SELECT {field} FROM t")._node for field in ("a.x", "b.x")]

    def count():
        return len(nodes(tables._planner.optimized(queries), rel.TableScan))

    assert count() == 1
    tables.get_config().set("table.optimizer.reuse-sub-plan-enabled", "false")
    assert count() == 2


ROWS = [
    {"k": 1, "a": {"x": 1, "y": "one", "deep": {"p": 1, "q": None}}, "b": {"x": 5, "y": "five"}},
    {"k": 2, "a": None, "b": {"x": None, "y": None}},
    {"k": 3, "a": {"x": None, "deep": None}},
    {"k": 4, "a": {"x": 4, "y": "four", "deep": {"p": 4, "q": 40}}, "b": None},
]


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize("format_name", ["json", "parquet"])
def test_rows_with_fewer_fields_keep_their_nulls(tmp_path, mode, format_name):
    if format_name == "json":
        (tmp_path / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        deep = pa.struct([("p", pa.int32()), ("q", pa.int32())])
        first = pa.struct([("x", pa.int32()), ("y", pa.string()), ("ts", pa.timestamp("us")), ("deep", deep)])
        second = pa.struct([("x", pa.int32()), ("y", pa.string())])
        schema = pa.schema([("k", pa.int32()), ("a", first), ("b", second), ("more", pa.string())])
        pa.parquet.write_table(pa.Table.from_pylist(ROWS, schema), tmp_path / "rows.parquet")
    t_env = environment(mode)
    t_env.execute_sql(TABLE.format(name="t", path=tmp_path, format=format_name))

    def rows(sql):
        with t_env.execute_sql(sql).collect() as found:
            return sorted((tuple(row) for row in found), key=repr)

    assert rows("SELECT k, a.x, a.deep.q, b.y FROM t WHERE k > 0") == [
        (1, 1, None, "five"),
        (2, None, None, None),
        (3, None, None, None),
        (4, 4, 40, None),
    ]
    assert rows("SELECT k, b IS NULL, b.x IS NULL FROM t") == [
        (1, False, False),
        (2, False, True),
        (3, True, True),
        (4, True, True),
    ]
    assert rows("SELECT k, d IS NULL, d.p FROM (SELECT k, a.deep AS d FROM t)") == [
        (1, False, 1),
        (2, True, None),
        (3, True, None),
        (4, False, 4),
    ]
    assert rows("SELECT l.k, l.a.y, r.b.y FROM t AS l JOIN t AS r ON l.a.x * 5 = r.b.x") == [(1, "one", "five")]
