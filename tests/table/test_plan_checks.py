"""Plans that do not run are refused by the checks of plans, for EXPLAIN and execution alike."""

from __future__ import annotations

import importlib

import pytest

from firesteel.columns.column_types import IntType, RowField, RowType
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.planner.rel import description, rel, window_columns
from firesteel.table.planner.rules import push_filters, subqueries
from firesteel.table.planner.traits import late_rows, row_kinds, validate
from firesteel.table.planner.traits.upsert_keys import upsert_key
from firesteel.table.planner.translate import translate

TABLES = (
    "CREATE TABLE orders (id INT, k INT, v INT, t TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR t AS t) "
    "WITH ('connector' = 'datagen')",
    "CREATE TABLE rates (k INT, r INT, t TIMESTAMP(3), WATERMARK FOR t AS t, PRIMARY KEY (k, r) NOT ENFORCED) "
    "WITH ('connector' = 'datagen')",
    "CREATE TABLE prices (k INT, r INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'datagen')",
    "CREATE TABLE items (n INT) WITH ('connector' = 'http', 'format' = 'json', 'url' = 'http://localhost')",
    "CREATE TABLE plain (k INT, r INT, t TIMESTAMP(3), WATERMARK FOR t AS t) WITH ('connector' = 'datagen')",
)

REFUSED = {
    "SELECT SUM(v) OVER (PARTITION BY k) FROM orders": "requires order by clause",
    "SELECT SUM(v) OVER (ORDER BY v ROWS 1 PRECEDING) FROM orders": "must be defined on a time attribute",
    "SELECT SUM(v) OVER (ORDER BY v), SUM(v) OVER (ORDER BY t) FROM orders": "must be defined on a time attribute",
    "SELECT SUM(v) OVER (ORDER BY t DESC) FROM orders": "must be ascending",
    "SELECT LEAD(v) OVER (ORDER BY t) FROM orders": "LEAD Function is not supported in stream mode",
    "SELECT SUM(v) OVER (ORDER BY t ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM orders": "OVER ROWS FOLLOWING",
    "SELECT * FROM (SELECT *, RANK() OVER (ORDER BY v) AS n FROM orders) WHERE n < 3": "RANK() on streaming table",
    "SELECT * FROM orders ORDER BY v": "Sort on a non-time-attribute field",
    "SELECT * FROM orders ORDER BY p, v": "Sort by a processing time and further columns",
    "SELECT * FROM orders ORDER BY t OFFSET 3 ROWS": "OFFSET without FETCH",
    "SELECT * FROM orders AS o JOIN plain FOR SYSTEM_TIME AS OF o.t AS p ON o.k = p.k": "no primary key can be found",
    "SELECT * FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k": (
        "Temporal table's primary key [k, r] must be included in the equivalence condition of temporal join, but "
        "current temporal join condition is [k=k]."
    ),
    "SELECT * FROM orders AS o JOIN prices FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k": "no row time attribute",
    "SELECT * FROM orders AS o JOIN plain FOR SYSTEM_TIME AS OF o.p AS r ON o.k = r.k": "needs a connector with",
    "SELECT * FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.p AS r ON o.k = r.k": "needs a connector with",
    "SELECT * FROM orders AS o JOIN items FOR SYSTEM_TIME AS OF o.p AS r ON r.n = 1": "requires an equality condition",
    "SELECT * FROM orders AS o JOIN items FOR SYSTEM_TIME AS OF o.p AS r ON o.k = r.n + 1": "a plain connector table",
}


@pytest.fixture(scope="module")
def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in TABLES:
        made.execute_sql(statement)
    return made


@pytest.mark.parametrize("query", REFUSED)
def test_explain_and_execution_refuse_what_does_not_run(environment: TableEnvironment, query: str) -> None:
    table = environment.sql_query(query)
    for refuse in (table.explain, table.execute):
        with pytest.raises((TableException, ValidationException)) as refused:
            refuse()
        assert REFUSED[query] in str(refused.value)


@pytest.mark.parametrize("pattern", ["^ A B", "A B $", "^ A B $"])
def test_anchors_of_patterns_are_refused(environment: TableEnvironment, pattern: str) -> None:
    clause = f"ORDER BY t MEASURES A.id AS x PATTERN ({pattern}) DEFINE A AS A.v > 1"
    with pytest.raises(ValidationException, match="anchors"):
        environment.sql_query(f"SELECT * FROM orders MATCH_RECOGNIZE ({clause}) AS m")


@pytest.mark.parametrize("query", REFUSED)
def test_a_refused_node_is_also_found_below_others(environment: TableEnvironment, query: str) -> None:
    with pytest.raises((TableException, ValidationException)) as refused:
        environment.sql_query(f"SELECT COUNT(*) FROM (({query}) UNION ALL ({query}))").explain()
    assert REFUSED[query] in str(refused.value)


def test_a_plan_that_reads_itself_twice_at_each_level_is_visited_once_per_node() -> None:
    kind = RowType([RowField("k", IntType(False))])
    node: rel.Rel = rel.StreamScan(lambda _: None, kind, row_kinds.ALL, False, "k", ("k",))
    for _ in range(200):  # 2^200 visits would never end.
        node = rel.Join(node, node, "SEMI", (0,), (0,), None, kind)
    validate.validate([node], is_streaming=True)
    assert row_kinds.kinds_of(node, is_streaming=True) == row_kinds.ALL
    assert upsert_key(node) == (0,)


@pytest.mark.parametrize(
    "module",
    [validate, row_kinds, late_rows, push_filters, window_columns, description, subqueries, translate],
)
def test_a_node_without_a_declaration_does_not_import(module, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unheard:
        pass

    monkeypatch.setattr(rel, "Rel", rel.Rel | Unheard)
    with pytest.raises(ImportError, match="Unheard"):
        importlib.reload(module)
    monkeypatch.undo()
    importlib.reload(module)
