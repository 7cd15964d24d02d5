"""Partitions with thousands of rows: nothing recurses by data, and the work per row does not grow with them."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernels.match.match_steps import Followed, Steps
from firesteel.columns.kernels.match.match_threads import Threads
from firesteel.common import Row, RowKind, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.operators.state.state_table import StateTable
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.testing import run_local

TYPES = Types.ROW_NAMED(["v", "ts"], [Types.INT(), Types.SQL_TIMESTAMP()])


def second(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=number)


def rows(sql: str, values: list[int], batch: int = 1000) -> list[tuple[Any, ...]]:
    """The rows of a query over a table of values, one a second, all of one partition."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    schema = Schema.new_builder().column("v", DataTypes.INT()).column("ts", DataTypes.TIMESTAMP(3))
    stream = env.from_collection([Row(v, second(i)) for i, v in enumerate(values)], TYPES)
    t_env.create_temporary_view("t", t_env.from_data_stream(stream, schema.watermark("ts", "ts").build()))
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    return [tuple(row) for row in run_local(env, batch_elements=batch).elements]


def pattern(steps: str, after: str = "PAST LAST ROW") -> str:
    top = ", TOP AS TOP.v > LAST(UP.v)" if "TOP" in steps else ""
    return f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(UP.v) AS low, LAST(UP.v) AS high,
        LAST(ANY_OF.v) AS last, COUNT(UP.v) AS n AFTER MATCH SKIP {after} PATTERN ({steps}) SUBSET ANY_OF = (UP, DOWN)
        DEFINE UP AS LAST(UP.v, 1) IS NULL OR UP.v > LAST(UP.v, 1), DOWN AS DOWN.v < LAST(UP.v){top}) AS m"""


def test_matches_of_thousands_of_rows() -> None:
    values = [*range(3000), 0, *range(1, 1200), -1]
    assert rows(pattern("UP+ DOWN"), values) == [(0, 2999, 0, 3000), (1, 1199, -1, 1199)]


def test_reluctant_loops_go_back_row_by_row() -> None:
    values = [*range(2500), 0]
    assert rows(pattern("UP+? DOWN"), values) == [(0, 2499, 0, 2500)]
    assert rows(pattern("UP{3}? DOWN"), [1, 2, 3, 0, 4]) == [(1, 3, 0, 3)]
    assert rows(pattern("UP DOWN? TOP"), [5, 1, 6, 7]) == [(5, 5, 1, 1)]


def test_a_search_goes_on_where_it_ended_for_want_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []
    follow = Steps.follow

    def counted(self: Steps, rows: ColumnBatch, threads: Threads, *places: Any) -> Followed:
        evaluated.append(len(threads))
        return follow(self, rows, threads, *places)

    monkeypatch.setattr(Steps, "follow", counted)
    assert rows(pattern("UP+ DOWN"), [*range(5000), 0, 1, 2, 0]) == [(0, 4999, 0, 5000), (1, 2, 0, 2)]
    assert sum(evaluated) < 3 * 5010  # batches of 1000 rows, each with a watermark; rows are looked at ahead, too


@pytest.mark.parametrize(
    "values", [range(3000), [v for n in range(1000) for v in (n, n + 2, n + 1)]], ids=["wait", "match"]
)
def test_rows_that_wait_are_written_once_or_twice(monkeypatch: pytest.MonkeyPatch, values: Sequence[int]) -> None:
    written: list[int] = []
    put, append = StateTable.put, StateTable.append

    def counted_put(self: StateTable, entry: object, value: object) -> None:
        written.append(len(value) if isinstance(value, list | ColumnBatch) else 1)
        put(self, entry, value)

    def counted_append(self: StateTable, entry: object, elements: list[Any]) -> None:
        written.append(len(elements))
        append(self, entry, elements)

    monkeypatch.setattr(StateTable, "put", counted_put)
    monkeypatch.setattr(StateTable, "append", counted_append)
    rows(pattern("UP+ DOWN", "TO NEXT ROW"), list(values), batch=50)
    assert 0 < sum(written) < 4 * len(values)  # all of the rows in each of 60 batches would be 30 times


@pytest.mark.parametrize("after", ["PAST LAST ROW", "TO NEXT ROW"])
@pytest.mark.parametrize("steps", ["UP+ DOWN", "UP+? DOWN{2}", "UP DOWN? TOP", "UP{2,4} DOWN TOP", "UP+ DOWN WITHIN"])
def test_matches_do_not_depend_on_batches(steps: str, after: str) -> None:
    chance = random.Random(steps)
    values = [chance.randrange(6) for _ in range(60)]
    sql = pattern(steps.removesuffix(" WITHIN"), after)
    if steps.endswith("WITHIN"):
        sql = sql.replace(") SUBSET", ") WITHIN INTERVAL '3' SECOND SUBSET")
    found = [rows(sql, values, batch) for batch in (1, 7, 1000)]
    assert found[0] == found[1] == found[2] != []


def changes_of(sql: str, rows: list[Row]) -> list[Row]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    schema = Schema.new_builder().column("v", DataTypes.INT().not_null()).column("ts", DataTypes.TIMESTAMP(3)).build()
    t_env.create_temporary_view("t", t_env.from_changelog_stream(env.from_collection(rows, TYPES), schema))
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    return list(run_local(env, batch_elements=500).elements)


def test_the_first_rows_of_a_long_partition_with_updates() -> None:
    values = [*range(2000, 0, -1), *range(3000, 4000)]
    inserts = [Row.of_kind(RowKind.INSERT, value, second(value)) for value in values]
    deletes = [Row.of_kind(RowKind.DELETE, value, second(value)) for value in range(1, 1999)]
    found = changes_of("SELECT v FROM t ORDER BY v LIMIT 3", inserts + deletes)
    assert folded(found) == [1999, 2000, 3000]
    ranked = "SELECT v, n FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM t) WHERE n BETWEEN 2 AND 3"
    assert folded(changes_of(ranked, inserts + deletes)) == [3997, 3998]


def folded(rows: list[Row]) -> list[int]:
    counts: Counter[int] = Counter()
    for row in rows:
        counts[row[0]] += 1 if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
    assert min(counts.values()) >= 0
    return sorted(counts.elements())
