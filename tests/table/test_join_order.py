"""Inner joins are ordered by the statistics of their tables, if the option says so."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.cardinality import UNKNOWN_ROWS, Estimates
from firesteel.table.planner.rules.rules import optimize_all
from firesteel.testing import run_local
from tests.seeds import seeds
from tests.table.environments import environment, remaining
from tests.table.random_joins import COLUMNS, MOST, VIEW, join_graph
from tests.table.test_against_duckdb import folded

REORDER = "table.optimizer.join-reorder-enabled"
QUERY = "SELECT a.v, b.v, c.v FROM huge AS a JOIN middle AS b ON a.k = b.k JOIN small AS c ON b.v = c.k"
SIZES = {"huge": 1000, "middle": 100, "small": 3}


def tables(tmp_path, file_format="parquet", **options):
    t_env = environment("batch", **options)
    choose = random.Random(1)
    for name, size in SIZES.items():
        rows = {"k": [choose.randrange(20) for _ in range(size)], "v": [choose.randrange(20) for _ in range(size)]}
        table = pa.table({column: pa.array(values, pa.int32()) for column, values in rows.items()})
        (tmp_path / name).mkdir(exist_ok=True)
        if file_format == "parquet":
            pyarrow.parquet.write_table(table, tmp_path / name / "rows.parquet")
        else:
            lines = "".join(f"{k},{v}\n" for k, v in zip(*rows.values(), strict=True))
            (tmp_path / name / "rows.csv").write_text(lines)
        t_env.execute_sql(
            f"CREATE TABLE {name} (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / name}', "
            f"'format' = '{file_format}')"
        )
    return t_env


def order_of(t_env, query, reorders=True):
    """Return the tables in the order in which they are joined."""
    (plan,) = optimize_all([t_env.sql_query(query)._node], False, reorders=reorders)
    return [node.table.path[-1] for node in inputs_first([plan]) if isinstance(node, rel.TableScan)]


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_rows_of_files_are_counted(tmp_path, file_format):
    t_env = tables(tmp_path, file_format)
    for name, size in SIZES.items():
        assert Estimates().row_count(t_env.from_path(name)._node) == pytest.approx(size, rel=0.01)


def test_rows_of_other_tables_are_guessed(t_env):
    t_env.execute_sql("CREATE TABLE d (k INT, v INT) WITH ('connector' = 'datagen')")
    rows = t_env.from_elements([(1, 2), (3, 4)], DataTypes.ROW([DataTypes.FIELD(n, DataTypes.INT()) for n in "kv"]))
    t_env.create_temporary_view("two", rows)
    counts = {
        "SELECT * FROM d": UNKNOWN_ROWS,
        "SELECT * FROM two": 2,
        "SELECT * FROM d WHERE k = 1": UNKNOWN_ROWS * 0.15,
        "SELECT * FROM d WHERE k = 1 OR v > 2": UNKNOWN_ROWS * 0.65,
        "SELECT k, COUNT(*) FROM d GROUP BY k": UNKNOWN_ROWS * 0.1,
        "SELECT COUNT(*) FROM d": 1,
        "SELECT * FROM d, two WHERE d.k = two.k": UNKNOWN_ROWS,
        "SELECT * FROM d, (SELECT * FROM two WHERE v > 3) AS t WHERE d.k = t.k": UNKNOWN_ROWS * 0.5,
        "SELECT * FROM d, two": UNKNOWN_ROWS * 2,
        "SELECT * FROM d LEFT JOIN two ON d.k = two.k": UNKNOWN_ROWS,
        "SELECT * FROM d UNION ALL SELECT * FROM two": UNKNOWN_ROWS + 2,
        "SELECT * FROM d ORDER BY k LIMIT 7": 7,
        "SELECT * FROM d WHERE k IN (SELECT k FROM two)": UNKNOWN_ROWS * 0.5,
    }
    for query, expected in counts.items():
        (plan,) = optimize_all([t_env.sql_query(query)._node], True)
        assert Estimates().row_count(plan) == pytest.approx(expected), query


def test_the_order_of_the_query_stays_by_default(tmp_path):
    assert order_of(tables(tmp_path), QUERY, reorders=False) == ["huge", "middle", "small"]


def test_small_inputs_are_joined_first(tmp_path):
    t_env = tables(tmp_path)
    assert order_of(t_env, QUERY) == ["middle", "small", "huge"]
    assert order_of(t_env, QUERY.replace("small AS c", "(SELECT * FROM small WHERE v > 3) AS c"))[-1] == "huge"


def in_duckdb(rows, query):
    database = duckdb.connect(config={"threads": 1})
    for number in range(MOST):
        database.execute(f"CREATE TABLE t{number} (k INT, v INT, w BIGINT)")
        database.executemany(f"INSERT INTO t{number} VALUES (?, ?, ?)", rows[number])
        database.execute(VIEW.format(number))
    return Counter(database.execute(query).fetchall())


def with_rows(rows):
    """Return environments with the tables of random joins, as a pair."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    types = (DataTypes.INT(), DataTypes.INT(), DataTypes.BIGINT())
    kind = DataTypes.ROW([DataTypes.FIELD(name, of) for name, of in zip(COLUMNS, types, strict=True)])
    for number in range(MOST):
        t_env.create_temporary_view(f"t{number}", t_env.from_elements(rows[number], kind))
        t_env.execute_sql(VIEW.format(number).replace("CREATE", "CREATE TEMPORARY"))
    return env, t_env


@pytest.mark.parametrize("seed", seeds(4, 300))
@pytest.mark.parametrize("reorders", [False, True])
def test_no_cross_product_while_an_equation_exists(seed, reorders):
    graph = join_graph(random.Random(f"joins {seed}"))
    _, t_env = with_rows([[(1, 2, 3)]] * MOST)
    for is_streaming in (True, False):
        (plan,) = optimize_all([t_env.sql_query(graph.query)._node], is_streaming, reorders=reorders)
        crosses = sum(isinstance(node, rel.Join) and not node.left_keys for node in inputs_first([plan]))
        assert crosses == graph.components - 1, graph.query


@pytest.mark.parametrize("seed", seeds(2, 150))
def test_joins_in_another_order_have_the_same_rows(seed):
    choose = random.Random(f"rows {seed}")
    graph = join_graph(choose)
    rows = [[tuple(choose.randrange(3) for _ in COLUMNS) for _ in range(3)] for _ in range(MOST)]
    env, t_env = with_rows(rows)
    t_env.get_config().set(REORDER, choose.choice(["true", "false"]))
    t_env.to_changelog_stream(t_env.sql_query(graph.query)).collect_async()
    assert folded(run_local(env, batch_elements=2).elements) == in_duckdb(rows, graph.query), graph.query


def test_other_kinds_of_joins_stay_where_they_are(tmp_path):
    query = "SELECT * FROM huge AS a LEFT JOIN middle AS b ON a.k = b.k JOIN small AS c ON a.v = c.k"
    (plan,) = optimize_all([tables(tmp_path).sql_query(query)._node], False, reorders=True)
    outer = [join for join in inputs_first([plan]) if isinstance(join, rel.Join) and join.kind == "LEFT"]
    assert [node.table.path[-1] for node in inputs_first(outer) if isinstance(node, rel.TableScan)] == [
        "huge",
        "middle",
    ]


def test_statistics_may_be_turned_off(tmp_path):
    t_env = tables(tmp_path)
    t_env.execute_sql("ALTER TABLE small SET ('source.report-statistics' = 'NONE')")
    assert Estimates().row_count(t_env.from_path("small")._node) == UNKNOWN_ROWS


@pytest.mark.spark
def test_the_order_changes_no_result(tmp_path):
    queries = (
        QUERY,
        "SELECT b.k, COUNT(*), SUM(a.v) FROM huge AS a, middle AS b, small AS c WHERE a.k = b.k AND c.v + 1 > b.v "
        "AND c.k = a.v GROUP BY b.k",
        "SELECT c.v, b.v FROM small AS c, middle AS b, small AS d WHERE c.k < b.k AND d.k = b.v",
    )
    results = []
    for reorders in ("false", "true"):
        t_env = tables(tmp_path, **{REORDER: reorders})
        results.append([sorted(remaining(t_env.sql_query(query))) for query in queries])
        text = t_env.explain_sql(QUERY).split("== Optimized Physical Plan ==")[1]
        assert (text.index("default_database, small") < text.index("default_database, huge")) is (reorders == "true")
    assert results[0] == results[1]
