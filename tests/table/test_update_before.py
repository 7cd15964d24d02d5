"""Updates without the row before: where what reads a query does not ask for it, and nothing else changes."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest

from firesteel.common import Row, RowKind
from firesteel.connectors.row_tables import SinkTable
from firesteel.connectors.table_connector import UPSERT, ResolvedTable, SinkRequest
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.functions.connector_base import Sink
from firesteel.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from firesteel.table.errors import TableException, ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.traits import update_before
from firesteel.table.planner.traits.update_before import Updates, without_update_before
from firesteel.table.planner.translate.sinks import end_of
from firesteel.testing import run_local
from tests.table.test_row_kinds import QUERIES, REFUSED, TYPES, changelog, schema

BEFORE = RowKind.UPDATE_BEFORE
MORE = {
    "best": "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) WHERE n = 1",
    "second": "SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS n FROM a) WHERE n = 2",
    "first of all": "SELECT id, v FROM a ORDER BY v, id LIMIT 1",
    "best of groups": """SELECT * FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC, k) AS n FROM (SELECT k, COUNT(*)
        AS c FROM a GROUP BY k)) WHERE n <= 2""",
    "last value": "SELECT k, LAST_VALUE(v), LISTAGG(CAST(v AS STRING)) FROM a GROUP BY k",
    "groups of groups": "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM a GROUP BY k) GROUP BY c",
    "some of the inputs": """SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM a GROUP BY k) WHERE c < 5
        UNION ALL SELECT k, SUM(v) FROM b GROUP BY k""",
    "versions": "SELECT a.id, w.v FROM a JOIN newest FOR SYSTEM_TIME AS OF a.ts AS w ON a.id = w.id",
    "last of rows that come": """SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n
        FROM a) WHERE n = 1""",
}
ALL = {**QUERIES, **MORE}
NEWEST = (
    "SELECT id, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts DESC) AS n FROM b) WHERE n = 1"
)
MODES = {"changes": ChangelogMode.all(), "upserts": ChangelogMode.upsert(), "inserts": ChangelogMode.insert_only()}


def rows_of(kind: str, seed: int) -> list[Row]:
    changes = changelog(seed)
    if kind == "changes":
        return changes
    if kind == "upserts":
        return [row for row in changes if row.get_row_kind() != BEFORE]
    rows = [Row(*row) for row in changes]
    random.Random(seed).shuffle(rows)
    return rows


def program(kind: str) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Return an environment with the tables `a` and `b` of changes, upserts or inserts, and the newest rows of `b`."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    for seed, name in enumerate("ab"):
        stream = env.from_collection(rows_of(kind, seed), TYPES)
        t_env.create_temporary_view(name, t_env.from_changelog_stream(stream, schema(), MODES[kind]))
    t_env.create_temporary_view("newest", t_env.sql_query(NEWEST))
    return env, t_env


def emitted(sql: str, kind: str, mode: ChangelogMode) -> list[tuple[Any, ...]]:
    """Return the changes of a query."""
    env, t_env = program(kind)
    t_env.to_changelog_stream(t_env.sql_query(sql), None, mode).collect_async()
    return [(row.get_row_kind(), *row) for row in run_local(env, batch_elements=11).elements]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("name", ALL)
def test_only_the_rows_before_updates_are_left_out(name: str, kind: str) -> None:
    """And all of them, if the last node can leave them out."""
    if kind != "inserts" and name in REFUSED:
        return
    sql = ALL[name]
    full = emitted(sql, kind, ChangelogMode.all())
    short = emitted(sql, kind, ChangelogMode.upsert())
    assert [change for change in short if change[0] != BEFORE] == [change for change in full if change[0] != BEFORE]
    assert not Counter(short) - Counter(full)
    _, t_env = program(kind)
    plan = t_env._planner.optimized([t_env.sql_query(sql)._node])[0]
    if plan in without_update_before([(plan, False)]):
        assert BEFORE not in {kind for kind, *_ in short}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["groups", "distinct aggregates", "groups of groups"])
def test_groups_row_by_row_leave_out_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = emitted(ALL[name], "changes", ChangelogMode.upsert())
    monkeypatch.setattr("firesteel.columns.kernels.groups.aggregate.group_calls", lambda *_: None)
    assert emitted(ALL[name], "changes", ChangelogMode.upsert()) == columns
    assert BEFORE not in {kind for kind, *_ in columns}


@pytest.mark.slow
def test_a_wrong_declaration_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that forwarded what it is asked for would keep rows that have gone."""
    sql = ALL["groups that leave"]
    right = folded_of(emitted(sql, "changes", ChangelogMode.upsert()))
    monkeypatch.setitem(update_before.UPDATES, rel.Filter, lambda *_: Updates.FORWARDED)
    assert folded_of(emitted(sql, "changes", ChangelogMode.upsert())) != right


X, Y = ("(SELECT k, COUNT(*) AS c FROM a GROUP BY k)", "(SELECT k, SUM(v) AS c FROM b GROUP BY k)")
OF_GROUPS = {
    "inner": f"SELECT x.k, x.c, y.c FROM {X} x JOIN {Y} y ON x.k = y.k",
    "left": f"SELECT x.k, x.c, y.c FROM {X} x LEFT JOIN {Y} y ON x.k = y.k",
    "right": f"SELECT y.k, x.c, y.c FROM {X} x RIGHT JOIN {Y} y ON x.k = y.k",
    "full": f"SELECT COALESCE(x.k, y.k), x.c, y.c FROM {X} x FULL JOIN {Y} y ON x.k = y.k",
    "semi": f"SELECT k, c FROM {X} WHERE k IN (SELECT k FROM {Y})",
    "anti": f"SELECT k, c FROM {X} x WHERE NOT EXISTS (SELECT * FROM {Y} y WHERE x.k = y.k)",
    "of one row": "SELECT k, c, n FROM (SELECT k, COUNT(*) AS c FROM a GROUP BY k), (SELECT MAX(v) AS n FROM b)",
    "of a join": f"SELECT x.k, x.c, z.c FROM {X} x JOIN {Y} y ON x.k = y.k LEFT JOIN {Y} z ON x.k = z.k",
    "of a part of the key": """SELECT k, v, n FROM (SELECT k, v, COUNT(*) AS n FROM a GROUP BY k, v) x
        LEFT JOIN (SELECT k AS l, COUNT(*) AS m FROM b GROUP BY k) y ON x.k = y.l""",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("name", OF_GROUPS)
def test_joined_groups_replace_each_other_without_the_row_before(name: str, kind: str) -> None:
    """An outer join removes and inserts what a group had matched, so its changes are others, but not what is left."""
    sql = OF_GROUPS[name]
    short = emitted(sql, kind, ChangelogMode.upsert())
    assert BEFORE not in {kind for kind, *_ in short}
    columns = 2 if "part" in name else 1
    assert replaced(short, columns) == replaced(emitted(sql, kind, ChangelogMode.all()), columns)


def replaced(changes: list[tuple[Any, ...]], columns: int) -> dict[Any, Any]:
    """Return the last row of each key, which are the first columns."""
    return folded_of([(kind, tuple(row[:columns]), *row[columns:]) for kind, *row in changes])


def folded_of(changes: list[tuple[Any, ...]]) -> dict[Any, Any]:
    """Return the last row of each first column."""
    rows: dict[Any, Any] = {}
    for kind, key, *values in changes:
        if kind in (RowKind.DELETE, BEFORE):
            rows.pop(key, None)
        else:
            rows[key] = values
    return rows


GROUPS = "(SELECT k, SUM(v) AS c FROM t GROUP BY k)"
ROWS = "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS r FROM t) WHERE r {}"
IN_FLINK = {
    f"SELECT * FROM {GROUPS}": "I,UA",
    f"SELECT k + 1, c * 2 FROM {GROUPS}": "I,UA",
    f"SELECT * FROM {GROUPS} WHERE c > 1": "I,UB,UA",
    f"SELECT CAST(c AS INT), COUNT(*) FROM {GROUPS} GROUP BY CAST(c AS INT)": "I,UA,D",
    ROWS.format("k, v", "v DESC", "= 1"): "I,UA,D",
    ROWS.format("k, v", "v DESC", "<= 2"): "I,UA,D",
    ROWS.format("k, r", "v DESC", "<= 2"): "I,UA,D",
    f"SELECT k, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC) AS r FROM {GROUPS}) WHERE r <= 2": "I,UA,D",
    "SELECT k, v FROM t ORDER BY v LIMIT 1": "I,UA,D",
    "SELECT t.k, x.v FROM t LEFT JOIN t AS x ON t.k = x.k": "I,UA,D",
    f"SELECT * FROM {GROUPS} UNION ALL SELECT k, COUNT(*) FROM t GROUP BY k": "I,UA",
    f"SELECT * FROM {GROUPS} UNION ALL SELECT k, v FROM t": "I,UA",
    f"SELECT * FROM {GROUPS} WHERE c > 2 UNION ALL SELECT k, COUNT(*) FROM t GROUP BY k": "I,UB,UA",
    "SELECT e, c FROM (SELECT a, SUM(v) AS c FROM t GROUP BY a) CROSS JOIN UNNEST(a) AS u (e)": "I,UA",
    "SELECT DISTINCT k, v FROM t": "I,UA",
    f"SELECT t.k, g.c FROM t JOIN {GROUPS} AS g ON t.k = g.k": "I,UA",
    f"SELECT t.k, g.c FROM t LEFT JOIN {GROUPS} AS g ON t.k = g.k": "I,UA,D",
    f"SELECT g.k, g.c FROM {GROUPS} AS g LEFT JOIN t ON t.k = g.k": "I,UA,D",
    f"SELECT g.k, h.c FROM {GROUPS} AS g JOIN {GROUPS} AS h ON h.k = g.k": "I,UA",
    f"SELECT g.k, h.c FROM {GROUPS} AS g JOIN {GROUPS} AS h ON h.c = g.c": "I,UB,UA",
    "SELECT h.k, h.c FROM (SELECT k, v, COUNT(*) AS c FROM t GROUP BY k, v) h JOIN t ON t.k = h.k": "I,UB,UA",
    f"SELECT k, c FROM {GROUPS} WHERE k IN (SELECT k FROM t)": "I,UA",
    "SELECT t.k, n FROM t, (SELECT MAX(v) AS n FROM t)": "I,UA",
}
"""Queries, and the kinds of rows that Flink 2.3 sends a sink that does not ask for the row before an update."""

OTHERWISE = {
    f"SELECT g.k, h.c FROM {GROUPS} AS g JOIN {GROUPS} AS h ON h.k = g.k AND g.c < h.c": ("I,UA", "I,UB,UA"),
    f"SELECT k, v FROM t WHERE k IN (SELECT k FROM {GROUPS})": ("I,UA", "I,UA,D"),
}
"""What Flink sends, and what is sent here.

Flink leaves out the row before an update although a condition may hold for it alone; what it had matched stays.
"""


def explained(query: str, connector: str) -> str:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (k INT, v BIGINT, a ARRAY<INT>) WITH ('connector' = 'datagen')")
    t_env.execute_sql(f"CREATE TABLE s (k INT, v BIGINT) WITH ('connector' = '{connector}')")
    return t_env.explain_sql(f"INSERT INTO s {query}", ExplainDetail.CHANGELOG_MODE)


def sent(query: str, connector: str) -> str:
    sink, last = explained(query, connector).split("Physical Plan ==\n")[1].splitlines()[:2]
    assert sink.endswith(", changelogMode=[NONE])")
    return last.rpartition("changelogMode=[")[2].rstrip("])")


@pytest.mark.parametrize("query", IN_FLINK)
def test_a_sink_that_does_not_ask_is_sent_what_it_is_in_flink(query: str) -> None:
    assert sent(query, "blackhole") == IN_FLINK[query]
    if IN_FLINK[query] == "I,UA":
        assert sent(query, "print") == "I,UB,UA"


def test_what_is_sent_otherwise_is_known() -> None:
    assert {query: sent(query, "blackhole") for query in OTHERWISE} == {q: ours for q, (_, ours) in OTHERWISE.items()}


def test_a_query_with_two_sinks_sends_what_one_of_them_asks_for() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (k INT, v BIGINT) WITH ('connector' = 'datagen')")
    for name, connector in (("x", "blackhole"), ("y", "print")):
        t_env.execute_sql(f"CREATE TABLE {name} (k INT, v BIGINT) WITH ('connector' = '{connector}')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql(f"INSERT INTO x SELECT k, c FROM {GROUPS}")
    assert modes_of_groups(statements.explain(ExplainDetail.CHANGELOG_MODE)) == ["I,UA"]
    statements.add_insert_sql(f"INSERT INTO y SELECT k, c FROM {GROUPS}")
    assert modes_of_groups(statements.explain(ExplainDetail.CHANGELOG_MODE)) == ["I,UB,UA"] * 2


def modes_of_groups(plan: str) -> list[str]:
    return re.findall(r"GroupAggregate\(.*changelogMode=\[(.*)\]\)", plan)


def test_a_stream_of_upserts_shows_the_last_row_of_its_key() -> None:
    """So its key is the one by which the query is updated; a condition keeps the rows that it removes."""
    groups = "SELECT k, COUNT(*) AS c FROM a GROUP BY k"
    assert BEFORE not in kinds_shown(groups, "k")
    assert BEFORE not in kinds_shown(groups, None)
    with pytest.raises(ValidationException, match="Primary key: \\[c\\], upsert key: \\[k\\]"):
        kinds_shown(groups, "c")
    assert BEFORE in kinds_shown(f"{groups} HAVING COUNT(*) < 5", "k")


def kinds_shown(sql: str, key: str | None) -> set[RowKind]:
    """Return the kinds of rows of a stream of upserts, whose schema may have a key."""
    env, t_env = program("changes")
    builder = Schema.new_builder().column("k", DataTypes.STRING().not_null()).column("c", DataTypes.BIGINT().not_null())
    schema = builder.build() if key is None else builder.primary_key(key).build()
    t_env.to_changelog_stream(t_env.sql_query(sql), schema, ChangelogMode.upsert()).collect_async()
    return {row.get_row_kind() for row in run_local(env, batch_elements=11).elements}


def test_a_sink_of_upserts_without_a_key_is_refused() -> None:
    """It could not tell which row leaves."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql("CREATE TABLE t (k INT, v BIGINT) WITH ('connector' = 'datagen')")
    table = t_env.sql_query("SELECT k, SUM(v) AS c FROM t GROUP BY k HAVING SUM(v) < 10")
    plan = t_env._planner.optimized([table._node])[0]
    resolved = ResolvedTable(("c", "d", "s"), (), {})
    with pytest.raises(TableException, match="doesn't support consuming update"):
        end_of(plan, resolved, SinkTable(resolved, Sink(), UPSERT), SinkRequest(), True, t_env.get_config())
