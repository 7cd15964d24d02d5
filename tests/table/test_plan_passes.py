"""Names are resolved before joins are chosen: the nodes above get the types that joins leave, or are refused.

The plans and sentences are those of Flink 2.3, but for the join FOR SYSTEM_TIME AS OF, which Flink plans.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from firesteel.columns.rex import InputRef, OuterRef, Rex, SubqueryValue
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table import TableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_time
from firesteel.table.planner.rel.rex_tools import walk
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.subqueries import remove_subqueries
from firesteel.table.table_parts import rel_of
from tests.table.environments import environment
from tests.table.random_subqueries import COLUMNS, RandomQuery
from tests.table.test_subqueries_in_joins import QUERIES

TABLE = "k INT, v INT, t TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR t AS t"
TABLES = {
    "a": TABLE,
    "b": TABLE,
    "c": TABLE,
    "prices": "k INT, v INT, t TIMESTAMP(3), WATERMARK FOR t AS t, PRIMARY KEY (k) NOT ENFORCED",
}
WINDOWS = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' MINUTE))"
OF_A, OF_B = WINDOWS.format("a", "t"), WINDOWS.format("b", "t")

MATERIALIZED = {
    "a semi join": "SELECT * FROM a WHERE k IN (SELECT k FROM b)",
    "an anti join": "SELECT * FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "a part of a condition": "SELECT * FROM a WHERE v > 1 OR k IN (SELECT k FROM b)",
    "a scalar subquery": "SELECT k, t, p, (SELECT MAX(v) FROM b) AS v FROM a",
    "a regular join": "SELECT a.k, a.t, a.p, b.v FROM a JOIN b ON a.k = b.k",
    "an outer join on a subquery": "SELECT a.* FROM a LEFT JOIN b ON a.k = b.k AND a.v IN (SELECT v FROM c)",
    "LATERAL": "SELECT a.k, a.t, a.p, n FROM a, LATERAL (SELECT COUNT(*) AS n FROM b WHERE b.k = a.k)",
    "groups": "SELECT k, t, p, COUNT(*) AS v FROM a GROUP BY k, t, p",
    "distinct rows": "SELECT DISTINCT k, t, p, v FROM a",
    "one side of a union": "SELECT k, t, p, v FROM a UNION ALL SELECT * FROM (SELECT a.k, a.t, a.p, b.v FROM a, b)",
}
"""Queries whose time attributes are none after the joins."""

REFUSED = {
    f"SELECT COUNT(*) FROM {WINDOWS.format('q', 't')} GROUP BY window_start, window_end": (
        "The window function requires the timecol is a time attribute type, but is TIMESTAMP(3)."
    ),
    f"SELECT COUNT(*) FROM {WINDOWS.format('q', 'p')} GROUP BY window_start, window_end": (
        "The window function requires the timecol is a time attribute type, but is TIMESTAMP_LTZ(3)."
    ),
    "SELECT q.k FROM q JOIN prices FOR SYSTEM_TIME AS OF q.t AS r ON q.k = r.k": (
        "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
    ),
}

PLANNED = {
    f"SELECT window_start, window_end FROM {OF_A} WHERE k IN (SELECT k FROM b) GROUP BY window_start, window_end": (
        "GroupAggregate"
    ),
    f"SELECT DISTINCT window_start, window_end FROM {OF_A}": "WindowAggregate",
    f"SELECT window_start, COUNT(*) FROM {OF_A} GROUP BY GROUPING SETS ((window_start, window_end), (window_start))": (
        "GroupAggregate"
    ),
    f"SELECT window_start, COUNT(*) FROM {OF_A} AS l WHERE EXISTS (SELECT 1 FROM {OF_B} AS r WHERE r.k = l.k AND "
    "r.window_start = l.window_start AND r.window_end = l.window_end) GROUP BY window_start, window_end": "WindowJoin",
    "SELECT a.k FROM a, b WHERE a.k = b.k AND a.t BETWEEN b.t - INTERVAL '1' MINUTE AND b.t": "IntervalJoin",
    "SELECT a.k FROM a, (SELECT * FROM b WHERE k IN (SELECT k FROM c)) AS b WHERE a.k = b.k AND "
    "a.t BETWEEN b.t - INTERVAL '1' MINUTE AND b.t": "Join(joinType=[InnerJoin]",
    "SELECT COUNT(*) FROM (SELECT a.t FROM a JOIN b ON a.k = b.k) GROUP BY TUMBLE(t, INTERVAL '1' MINUTE)": (
        "GroupWindowAggregate"
    ),
    "SELECT a.k FROM a JOIN prices FOR SYSTEM_TIME AS OF a.t AS r ON a.k = r.k AND r.v IN (SELECT v FROM b)": (
        "TemporalJoin"
    ),
}


Mode = tuple[TableEnvironment, bool]
"""An environment with the tables, and whether it is of streaming mode."""


@pytest.fixture(scope="module", params=["streaming", "batch"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return with_tables(environment(request.param)), request.param == "streaming"


@pytest.fixture(scope="module")
def streaming() -> TableEnvironment:
    return with_tables(environment("streaming"))


def with_tables(made: TableEnvironment) -> TableEnvironment:
    for name, columns in TABLES.items():
        made.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen')")
    for name, names in COLUMNS.items():
        columns = ", ".join(f"{one} {'BIGINT NOT NULL' if one == 'x' else 'DOUBLE'}" for one in names[:2])
        made.execute_sql(f"CREATE TABLE {name} ({columns}, {names[2]} STRING) WITH ('connector' = 'datagen')")
    return made


@pytest.mark.parametrize("name", MATERIALIZED)
@pytest.mark.parametrize("query", REFUSED)
def test_what_needs_a_time_attribute_is_refused_above_what_has_none(
    streaming: TableEnvironment, name: str, query: str
) -> None:
    streaming.create_temporary_view("q", streaming.sql_query(MATERIALIZED[name]))
    try:
        with pytest.raises((TableException, ValidationException)) as refused:
            streaming.sql_query(query).explain()
    finally:
        streaming.drop_temporary_view("q")
    assert REFUSED[query] in str(refused.value)


PATTERNS = {
    "a MATCH_RECOGNIZE (ORDER BY v": "SQL validation failed. First column of ORDER BY must be of type TIMESTAMP",
    "(SELECT * FROM a WHERE k IN (SELECT k FROM b)) MATCH_RECOGNIZE (ORDER BY t": (
        "You must specify either rowtime or proctime for order by as the first one."
    ),
    "a MATCH_RECOGNIZE (ORDER BY t DESC": "Primary sort order of a streaming table must be ascending on time.",
}


@pytest.mark.parametrize("clause", PATTERNS)
def test_patterns_need_rows_in_the_order_of_time(streaming: TableEnvironment, clause: str) -> None:
    query = f"SELECT * FROM {clause} MEASURES A.v AS x PATTERN (A B) DEFINE B AS B.v > 1)"
    with pytest.raises(TableException) as refused:
        streaming.sql_query(query).explain()
    assert str(refused.value) == PATTERNS[clause]


@pytest.mark.parametrize("query", PLANNED)
def test_operators_are_chosen_when_the_types_are_known(streaming: TableEnvironment, query: str) -> None:
    text = streaming.explain_sql(query)
    plan = text[text.index("== Optimized Physical Plan ==") : text.index("== Optimized Execution Plan ==")]
    assert re.search(rf"(^|\W){re.escape(PLANNED[query])}", plan), plan


def test_a_subquery_in_a_join_as_of_a_time_takes_its_time_away(streaming: TableEnvironment) -> None:
    query = (
        "SELECT a.k FROM a LEFT JOIN prices FOR SYSTEM_TIME AS OF a.t AS r ON a.k = r.k AND a.v IN (SELECT v FROM b)"
    )
    with pytest.raises(ValidationException, match="left table's time attribute field"):
        streaming.explain_sql(query)


def test_the_syntax_tree_shows_subqueries_where_they_stand(streaming: TableEnvironment) -> None:
    text = streaming.explain_sql("SELECT (SELECT MAX(v) FROM b) FROM a WHERE k IN (SELECT k FROM c WHERE c.v = a.v)")
    tree = text[: text.index("== Optimized Physical Plan ==")]
    assert "$SCALAR_QUERY({\nCalc(select=[EXPR$0])\n" in tree
    assert "IN(k, {\nCalc(select=[k], where=[(v = $cor0.$1)])\n" in tree


VALUES = (
    "k IN (SELECT k FROM b)",
    "x IN (SELECT x FROM w)",
    "x IN (SELECT o.x FROM w AS o WHERE o.y = i.y)",
    "(x, k) IN (SELECT x, x FROM w)",
    "EXISTS (SELECT 1 FROM b WHERE b.k = i.k)",
    "x > ALL (SELECT x FROM w)",
    "x <> ANY (SELECT x FROM w)",
    "(SELECT x FROM w LIMIT 1)",
    "(SELECT t FROM b LIMIT 1)",
    "(SELECT COUNT(*) FROM w AS o WHERE o.y = i.y)",
)


@pytest.mark.parametrize("value", VALUES)
def test_the_type_of_a_subquery_is_that_of_what_it_becomes(mode: Mode, value: str) -> None:
    check_types(mode, f"SELECT {value} AS found, i.* FROM (SELECT * FROM a, w) AS i")


@pytest.mark.parametrize("query", [*QUERIES, *MATERIALIZED.values()])
def test_plans_differ_from_resolved_ones_in_time_attributes_alone(mode: Mode, query: str) -> None:
    check_types(mode, query)


def test_random_subqueries_keep_their_types(mode: Mode) -> None:
    for number in range(20):
        check_types(mode, RandomQuery(f"types {number}", "flink", "streaming").query())


def check_types(mode: Mode, query: str) -> None:
    """Check that a plan without subqueries has the columns of a resolved one, and types that fit its inputs."""
    t_env, is_streaming = mode
    node = rel_of(t_env.sql_query(query))
    (removed,) = remove_subqueries([node], is_streaming)
    assert removed.row_type == node.row_type
    for one in inputs_first([removed]):
        assert not any(isinstance(part, SubqueryValue | OuterRef) for rex in expressions(one) for part in walk(rex))
        if isinstance(one, rel.Project) and is_streaming:
            assert lost_times(one) == []


def expressions(node: rel.Rel) -> Sequence[Rex]:
    match node:
        case rel.Project():
            return node.expressions
        case rel.Filter() | rel.Join() if node.condition is not None:
            return [node.condition]
    return []


def lost_times(node: rel.Project) -> list[str]:
    """Return the columns that are time attributes, though the columns of the input that they are have lost that."""
    source = node.input.row_type.field_types()
    columns = zip(node.row_type.fields, node.expressions, strict=True)
    return [
        field.name
        for field, rex in columns
        if is_time(field.data_type) and isinstance(rex, InputRef) and not is_time(source[rex.index])
    ]
