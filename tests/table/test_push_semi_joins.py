"""Semi and anti joins of bounded tables move below the inner joins that multiply their rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet
import pytest

from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules import rules
from tests.table.environments import environment
from tests.table.random_queries import result_of

SIZES = {"orders": 40, "items": 300, "marks": 30}
JOINED = "orders AS o JOIN items AS i ON o.k = i.k"
BELOW = {
    f"SELECT o.v, i.v FROM {JOINED} WHERE o.k IN (SELECT k FROM marks)": "SEMI",
    f"SELECT o.v, i.v FROM {JOINED} WHERE i.v IN (SELECT v FROM marks WHERE k > 5)": "SEMI",
    f"SELECT o.v, i.v FROM {JOINED} WHERE NOT EXISTS (SELECT * FROM marks AS m WHERE m.k = o.k AND m.v > o.v)": "ANTI",
    f"SELECT o.v, i.v FROM {JOINED} WHERE o.v NOT IN (SELECT v FROM marks WHERE k > 7)": "ANTI",
    f"SELECT w FROM (SELECT o.v AS w, i.v + 1, o.k AS k FROM {JOINED}) WHERE k IN (SELECT v FROM marks)": "SEMI",
}
STAYS = (
    f"SELECT o.v, i.v FROM {JOINED} WHERE EXISTS (SELECT * FROM marks AS m WHERE m.k = o.v AND m.v > i.v)",
    f"SELECT o.v, i.v FROM {JOINED} WHERE EXISTS (SELECT * FROM marks AS m WHERE m.k > 100)",
    f"SELECT w FROM (SELECT o.v + i.v AS w FROM {JOINED}) WHERE w IN (SELECT v FROM marks)",
    "SELECT o.v FROM orders AS o LEFT JOIN items AS i ON o.k = i.k WHERE i.v IN (SELECT v FROM marks)",
    "SELECT o.v FROM orders AS o JOIN items AS i ON o.k = i.k AND o.v = 3 WHERE i.v IN (SELECT v FROM marks)",
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path, choose = tmp_path_factory.mktemp("tables"), random.Random(1)
    for name, size in SIZES.items():
        columns = {column: [choose.choice([None, *range(12)]) for _ in range(size)] for column in "kv"}
        table = pa.table({column: pa.array(values, pa.int32()) for column, values in columns.items()})
        (path / name).mkdir()
        pyarrow.parquet.write_table(table, path / name / "rows.parquet")
    return path


def tables(directory, mode="batch"):
    t_env = environment(mode, 2, **{"table.optimizer.join.broadcast-threshold": "-1"})
    for name in SIZES:
        t_env.execute_sql(
            f"CREATE TABLE {name} (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = '{directory / name}', "
            "'format' = 'parquet')"
        )
    return t_env


def joins(t_env, query):
    """Return the kinds of the joins of a query, the lowest ones first."""
    (plan,) = t_env._planner.optimized([t_env.sql_query(query)._node])
    return [node.kind for node in inputs_first([plan]) if isinstance(node, rel.Join)]


@pytest.mark.parametrize("query", BELOW)
def test_a_semi_join_that_reads_one_input_moves_to_it(directory, query):
    assert joins(tables(directory), query) == [BELOW[query], "INNER"]
    assert joins(tables(directory, "streaming"), query) == ["INNER", BELOW[query]]


@pytest.mark.parametrize("query", STAYS)
def test_other_semi_joins_stay(directory, query):
    assert joins(tables(directory), query)[-1] == "SEMI"


@pytest.mark.slow
@pytest.mark.parametrize("query", BELOW)
def test_the_rows_stay_the_same(directory, query, monkeypatch):
    moved = result_of(tables(directory), query)
    monkeypatch.setattr(rules, "push_semi_joins", lambda: lambda node, is_streaming: node)
    assert joins(tables(directory), query) == ["INNER", BELOW[query]]
    assert moved == result_of(tables(directory), query) != []
