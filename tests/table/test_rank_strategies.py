"""How a Top-N goes about updates, by its query; and that what is behind its end can be forgotten where that is said."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from firesteel.columns.kernels.ranks.rank import RankStrategy
from firesteel.common import Row, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules.rules import optimize
from firesteel.table.planner.traits.monotonicity import only_rises, rank_strategy
from firesteel.testing import run_local
from tests.table.test_row_kinds import folded

TYPES = Types.ROW_NAMED(["k", "item", "v"], [Types.STRING(), Types.INT(), Types.INT()])
COUNTS = "(SELECT k, item, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS high, MIN(v) AS low FROM t GROUP BY k, item)"
BEST = """SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {order}) AS place FROM {rows})
    WHERE place <= 3"""
APPEND, UPDATE, RETRACT = RankStrategy
QUERIES = {
    BEST.format(key="k", order="v", rows="t"): APPEND,
    BEST.format(key="k", order="n DESC", rows=COUNTS): UPDATE,
    BEST.format(key="k", order="n DESC, item", rows=COUNTS): UPDATE,
    BEST.format(key="k", order="item, n DESC", rows=COUNTS): UPDATE,
    BEST.format(key="k", order="high DESC NULLS LAST", rows=COUNTS): UPDATE,
    BEST.format(key="k", order="low NULLS LAST, n DESC", rows=COUNTS): UPDATE,
    BEST.format(key="k", order="n DESC", rows=f"(SELECT k, n, item + 1 AS i FROM {COUNTS})"): UPDATE,
    f"SELECT item, n FROM {COUNTS} ORDER BY n DESC LIMIT 3": UPDATE,
    # A result that rises in ascending order makes room for what is behind the end; so does one that was NULL.
    BEST.format(key="k", order="n", rows=COUNTS): RETRACT,
    BEST.format(key="k", order="low", rows=COUNTS): RETRACT,
    BEST.format(key="k", order="high DESC NULLS FIRST", rows=COUNTS): RETRACT,
    BEST.format(key="k", order="low DESC", rows=COUNTS): RETRACT,
    # A sum falls with negative values; a row of a partition that changes goes to another one.
    BEST.format(key="k", order="s DESC", rows=COUNTS): RETRACT,
    BEST.format(key="low", order="n DESC", rows=COUNTS): RETRACT,
    # An expression may fall where its column rises, and a filter lets a row go.
    BEST.format(key="k", order="m DESC", rows=f"(SELECT k, 10 - n AS m FROM {COUNTS})"): RETRACT,
    BEST.format(key="k", order="n DESC", rows=f"(SELECT * FROM {COUNTS} WHERE n < 4)"): RETRACT,
    # The groups of groups lose rows.
    BEST.format(key="k", order="c DESC", rows=f"(SELECT k, n, COUNT(*) AS c FROM {COUNTS} GROUP BY k, n)"): RETRACT,
    f"SELECT item, n FROM {COUNTS} ORDER BY n LIMIT 3": RETRACT,
}


def environment(rows: list[Row]) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_view("t", t_env.from_data_stream(env.from_collection(rows, TYPES)))
    return env, t_env


def strategies(node: Any) -> list[RankStrategy]:
    found = [one for child in node.inputs for one in strategies(child)]
    if isinstance(node, rel.Rank):
        found.append(rank_strategy(node.input, node.partition, node.order, is_streaming=True))
    elif isinstance(node, rel.Sort):
        found.append(rank_strategy(node.input, (), node.collations, is_streaming=True))
    return found


@pytest.mark.parametrize("sql", QUERIES)
def test_rows_behind_the_end_are_kept_unless_no_row_goes_or_falls(sql: str) -> None:
    _, t_env = environment([Row("a", 1, 1)])
    assert strategies(optimize(t_env.sql_query(sql)._node, True)) == [QUERIES[sql]]


@pytest.mark.slow
@pytest.mark.parametrize("sql", [sql for sql, strategy in QUERIES.items() if strategy is UPDATE])
def test_the_result_has_the_best_places(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(sql)
    rows = [Row(chance.choice("ab"), chance.randrange(30), chance.choice([None, *range(-9, 9)])) for _ in range(400)]

    def result() -> Counter[str]:
        env, t_env = environment(rows)
        t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
        shown = [tuple(row) for row in folded(run_local(env, batch_elements=17).elements)]
        columns = [list(row) for row in shown]
        # Peers may stand for each other, so only what decides about places is compared.
        order = sql.split("ORDER BY ")[1].split(")")[0].split(" LIMIT")[0]
        names = list(t_env.sql_query(sql).get_schema().get_field_names())
        kept = [names.index(part.split()[0]) for part in order.split(", ")]
        return Counter(repr([row[place] for place in kept]) for row in columns)

    quick = result()
    monkeypatch.setattr("firesteel.table.planner.translate.translate_rows.rank_strategy", lambda *_, **__: RETRACT)
    assert quick == result()
    assert quick


EXTREMES = {
    f"SELECT k, MAX(n), MAX(high), MIN(low) FROM {COUNTS} GROUP BY k": True,
    f"SELECT MAX(n), MIN(item) FROM {COUNTS}": True,
    f"SELECT k, MAX(n) FROM (SELECT k, n FROM {COUNTS}) GROUP BY k": True,
    f"SELECT k, MIN(n) FROM {COUNTS} GROUP BY k": False,
    f"SELECT k, MAX(s) FROM {COUNTS} GROUP BY k": False,
    f"SELECT k, MAX(n), COUNT(*) FROM {COUNTS} GROUP BY k": False,
    f"SELECT k, MAX(n) FILTER (WHERE n < 3) FROM {COUNTS} GROUP BY k": False,
    f"SELECT high, MAX(n) FROM {COUNTS} GROUP BY high": False,
    f"SELECT k, MAX(n) FROM {COUNTS} WHERE n < 4 GROUP BY k": False,
    f"SELECT k, MAX(c) FROM (SELECT k, n, COUNT(*) AS c FROM {COUNTS} GROUP BY k, n) GROUP BY k": False,
}
"""Aggregations of changes, and whether those that take a row back change nothing."""


@pytest.mark.parametrize("sql", EXTREMES)
def test_retractions_are_skipped_where_values_only_rise(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(sql)
    rows = [Row(chance.choice("ab"), chance.randrange(30), chance.choice([None, *range(-9, 9)])) for _ in range(200)]

    def result() -> Counter[tuple[Any, ...]]:
        env, t_env = environment(rows)
        t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
        return Counter(map(tuple, folded(run_local(env, batch_elements=17).elements)))

    node: Any = optimize(environment(rows)[1].sql_query(sql)._node, True)
    while not isinstance(node, rel.Aggregate):
        node = node.input
    assert only_rises(node) == EXTREMES[sql]
    if not EXTREMES[sql]:
        return
    quick = result()
    monkeypatch.setattr("firesteel.table.planner.translate.translate_rows.only_rises", lambda _: False)
    assert quick == result()
    assert quick
