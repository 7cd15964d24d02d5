"""A small input of a join of bounded tables is sent to all subtasks, where that gives the same rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import IntType
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins import bounded_joins
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.rows import rows_of as rows_in
from firesteel.columns.settings import QuerySettings
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.broadcast import _ALLOWED
from firesteel.table.planner.rules.cardinality import Estimates
from tests.table.environments import environment

THRESHOLD = "table.optimizer.join.broadcast-threshold"
JOINS = {
    "INNER": "SELECT * FROM {a} AS a JOIN {b} AS b ON a.k = b.k",
    "LEFT": "SELECT * FROM {a} AS a LEFT JOIN {b} AS b ON a.k = b.k AND a.v < b.v",
    "RIGHT": "SELECT * FROM {a} AS a RIGHT JOIN {b} AS b ON a.k = b.k AND a.v < b.v",
    "FULL": "SELECT * FROM {a} AS a FULL JOIN {b} AS b ON a.k = b.k",
    "SEMI": "SELECT * FROM {a} WHERE k IN (SELECT k FROM {b} WHERE k IS NOT NULL)",
    "ANTI": "SELECT * FROM {a} AS a WHERE NOT EXISTS (SELECT * FROM {b} AS b WHERE a.k = b.k)",
    "NOT IN": "SELECT * FROM {a} WHERE v NOT IN (SELECT v FROM {b})",
    "NOT IN with NULL": "SELECT * FROM {a} WHERE k NOT IN (SELECT k FROM {b})",
    "cross": "SELECT * FROM {a} AS a, {b} AS b",
}
SIZES = {"facts": 200, "dims": 12}


def tables(directory, mode="batch", **options):
    t_env = environment(mode, 3, **options)
    choose = random.Random(1)
    for name, size in SIZES.items():
        rows = {"k": [choose.choice([None, *range(15)]) for _ in range(size)], "v": choose.choices(range(20), k=size)}
        table = pa.table({column: pa.array(values, pa.int32()) for column, values in rows.items()})
        (directory / name).mkdir(exist_ok=True)
        for half, start in enumerate((0, size // 2)):  # so that more than one subtask has rows
            part = table.slice(start, size - size // 2)
            pyarrow.parquet.write_table(part, directory / name / f"{half}.parquet")
        t_env.execute_sql(
            f"CREATE TABLE {name} (k INT, v INT NOT NULL) WITH ('connector' = 'filesystem', 'format' = 'parquet', "
            f"'path' = '{directory / name}')"
        )
    return t_env


def broadcasts(t_env, query):
    """Return what each join of a query broadcasts."""
    (plan,) = t_env._planner.optimized([t_env.sql_query(query)._node])
    return [node.broadcast for node in inputs_first([plan]) if isinstance(node, rel.Join)]


def rows_of(t_env, query):
    with t_env.sql_query(query).execute().collect() as found:
        return sorted(map(repr, found))


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOINS)
@pytest.mark.parametrize("sides", [("facts", "dims"), ("dims", "facts")])
def test_the_rows_are_those_of_a_shuffled_join(tmp_path, kind, sides):
    query = JOINS[kind].format(a=sides[0], b=sides[1])
    shuffled, broadcast = tables(tmp_path, **{THRESHOLD: "-1"}), tables(tmp_path, **{THRESHOLD: "500"})
    assert broadcasts(shuffled, query) == [None]
    small, large = ("left", "right") if sides[0] == "dims" else ("right", "left")
    allowed = _ALLOWED["ANTI" if kind.startswith("NOT IN") else "INNER" if kind == "cross" else kind]
    assert broadcasts(broadcast, query) == [small if small in allowed else None]
    assert rows_of(broadcast, query) == rows_of(shuffled, query)
    if large in allowed:  # also where the other input is the smaller one
        either = tables(tmp_path, **{THRESHOLD: "1000000"})
        assert broadcasts(either, query) == [small if small in allowed else large]
        assert rows_of(either, query) == rows_of(shuffled, query)


def test_the_limit_is_flinks_by_default(tmp_path):
    t_env = tables(tmp_path)
    assert broadcasts(t_env, JOINS["INNER"].format(a="facts", b="dims")) == ["right"]
    text = t_env.explain_sql(JOINS["INNER"].format(a="facts", b="dims"))
    assert "isBroadcast=[true], build=[right]" in text


def test_streams_of_changes_are_not_broadcast(tmp_path):
    assert broadcasts(tables(tmp_path, "streaming"), JOINS["INNER"].format(a="facts", b="dims")) == [None]


def test_tables_without_statistics_are_not_broadcast(tmp_path):
    t_env = tables(tmp_path)
    t_env.execute_sql("ALTER TABLE dims SET ('source.report-statistics' = 'NONE')")
    assert broadcasts(t_env, JOINS["LEFT"].format(a="facts", b="dims")) == [None]


def test_a_joined_table_is_as_large_as_its_largest_part(tmp_path):
    query = "SELECT * FROM facts AS a JOIN dims AS b ON a.k = b.k WHERE b.v < 3"
    (plan,) = tables(tmp_path)._planner.optimized([tables(tmp_path).sql_query(query)._node])
    assert Estimates().size_in_bytes(plan) == pytest.approx(SIZES["facts"] * 0.5 * 16)


def test_columns_leave_the_plan_behind_their_last_reader(tmp_path):
    query = "SELECT a.v FROM facts AS a JOIN dims AS b ON a.k = b.k JOIN facts AS c ON a.v = c.k WHERE a.k > 3"
    t_env = tables(tmp_path)
    (plan,) = t_env._planner.optimized([t_env.sql_query(query)._node])
    joins = [node for node in inputs_first([plan]) if isinstance(node, rel.Join)]
    assert [len(side.row_type) for side in joins[-1].inputs] == [1, 1]


def test_a_count_keeps_one_column_of_those_that_a_filter_reads(tmp_path):
    t_env = tables(tmp_path)
    assert rows_of(t_env, "SELECT COUNT(*) FROM facts WHERE v >= 0") == ["<Row(200)>"]
    assert rows_of(t_env, "SELECT COUNT(*) FROM facts AS a JOIN dims AS b ON a.v = b.v WHERE a.v > 99") == ["<Row(0)>"]


@pytest.mark.parametrize(
    ("kind", "small"), [("INNER", 0), ("INNER", 1), ("LEFT", 1), ("RIGHT", 0), ("SEMI", 1), ("ANTI", 1)]
)
def test_rows_of_the_large_input_pass_by_once_the_small_one_is_complete(kind, small, monkeypatch):
    monkeypatch.setattr(bounded_joins, "PAIRS", 4)
    emitted = []

    def run(plan, batches):
        kernel = JoinFactory(plan).make()
        kernel.open(KernelContext(False, 8, None, emitted.append, None, None, {}))
        for index, values in batches:
            if values is None:
                kernel.end_input(index)
            else:
                kernel.process(index, ColumnBatch((pa.array(values, pa.int32()),), len(values)))
        yield sum(batch.length for batch in emitted)
        kernel.end()
        kernel.close()
        yield sorted(repr(row) for batch in emitted for row in rows_in(batch))
        emitted.clear()

    types = (IntType(),)
    plan = JoinPlan(kind, ((0,), (0,)), None, types, types, QuerySettings())
    large = [[1, 2, None], [3, 1, 5, 6], [7], [1]]
    batches = [(small, [1, 3, 3]), (1 - small, large[0]), (small, [9, None])]
    rest = [(1 - small, values) for values in large[1:]]
    before, shuffled = run(plan, [*batches, *rest, (0, None), (1, None)])
    passed, broadcast = run(replace(plan, broadcast=small), [*batches, (small, None), *rest, (1 - small, None)])
    assert (before, shuffled) == (0, broadcast)
    assert passed > 0
