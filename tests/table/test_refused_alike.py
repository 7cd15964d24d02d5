"""Whatever way a statement goes, it is refused with the same error, or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from firesteel.common.options.known_options import known_options
from firesteel.migration import check_program, try_program
from firesteel.migration.findings import Kind
from firesteel.table import PlanReference, Schema, TableDescriptor, TableEnvironment
from tests.flink_recordings.large.inputs import declarations
from tests.flink_recordings.large.queries import queries
from tests.flink_recordings.recordings import recorded_statements
from tests.table import random_subqueries, random_windows, typed_queries
from tests.table.environments import environment
from tests.table.planned_only import planned_only, refusal
from tests.table.test_compiled_plans import NODES
from tests.table.test_plan_checks import REFUSED, TABLES
from tests.table.test_push_filters import TIMED

EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 30
"""By default each thirtieth of the recorded queries is planned, nightly all."""

SEEDS = range(120 // EVERY)

NOWHERE = Path("/nowhere")
"""The directory of files that are not read."""

BOUNDED = "'connector' = 'datagen', 'number-of-rows' = '3'"

SINKS = (
    "'connector' = 'blackhole'",
    "'connector' = 'filesystem', 'format' = 'csv', 'path' = '/nowhere/sink'",
    "'connector' = 'filesystem', 'format' = 'debezium-json', 'path' = '/nowhere/sink'",
    "'connector' = 'filesystem', 'format' = 'nonsense', 'path' = '/nowhere/sink'",
    "'connector' = 'print', 'nonsense' = 'true'",
)


def bounded(statements: Iterable[str]) -> list[str]:
    return [statement.replace("'connector' = 'datagen'", BOUNDED) for statement in statements]


def tables(columns: dict[str, dict[str, str]]) -> list[str]:
    """Return the statements that create bounded tables of random rows."""
    return [
        f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in types.items())}) WITH ({BOUNDED})"
        for name, types in columns.items()
    ]


def timed_tables() -> list[str]:
    columns = ", ".join(f"{name} {kind}" for name, kind in random_windows.COLUMNS.items())
    made = [f"CREATE TABLE {name} ({columns}, WATERMARK FOR ts AS ts) WITH ({BOUNDED})" for name in "pq"]
    numbered = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM q"
    return [*made, f"CREATE VIEW versions AS SELECT id, k, g, v, ts FROM ({numbered}) WHERE n = 1"]


def section(name: str, mode: str) -> tuple[list[str], list[str]]:
    """Return the statements that declare tables, and queries over them."""
    match name:
        case "refused":
            return bounded(TABLES), list(REFUSED)
        case "nodes":
            selected = [query for query in NODES if "plus_one" not in query]
            return bounded(TIMED.format(table) for table in "sr"), selected[:: max(1, EVERY // 4)]
        case "large":
            declared = declarations(NOWHERE, with_changes=mode == "streaming")
            return declared, [query.sql for query in queries()][::EVERY]
        case "statements":
            recorded = recorded_statements()
            declared = [text.replace("{data_dir}", str(NOWHERE)) for text in recorded["setup"]]
            return declared, [query["sql"] for query in recorded["queries"]][::EVERY]
        case "typed":
            made = [typed_queries.TypedQuery(seed, "flink", way).query() for seed in SEEDS for way in MODES]
            return tables(typed_queries.TABLES), made
        case "subqueries":
            kinds = {"t": ("INT", "INT"), "u": ("INT", "INT"), "w": ("INT", "DOUBLE")}
            columns = {
                table: dict(zip(names, (*kinds[table], "STRING"), strict=True))
                for table, names in random_subqueries.COLUMNS.items()
            }
            return tables(columns), [random_subqueries.RandomQuery(seed, "flink", mode).query() for seed in SEEDS]
        case _:
            return timed_tables(), [random_windows.WindowQuery(seed, "flink").query() for seed in SEEDS]


MODES = ("streaming", "batch")
SECTIONS = ("refused", "nodes", "large", "statements", "typed", "subqueries", "windows")


@pytest.fixture(autouse=True)
def explain_refuses_the_same() -> None:
    """Override the fixture that compares EXPLAIN alone."""


@pytest.fixture(autouse=True)
def nothing_is_run() -> Iterator[None]:
    with planned_only():
        yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SECTIONS)
def test_all_ways_refuse_the_same_statements(name: str, mode: str) -> None:
    declared, selected = section(name, mode)
    t_env = environment(mode)
    for statement in declared:
        t_env.execute_sql(statement)
    assert selected
    found = [answers(t_env, query, SINKS[number % len(SINKS)]) for number, query in enumerate(selected)]
    assert [each for one in found for each in one if len(set(each.values())) > 1] == []


def answers(t_env: TableEnvironment, query: str, sink: str) -> list[dict[str, str | None]]:
    """Return what each way to run or to plan a query says of it, and then what each says of its INSERT into a sink."""
    found = {"execution": refused(t_env, query), "EXPLAIN": refused(t_env, f"EXPLAIN {query}")}
    if is_unknown(t_env, query):
        return [found]
    create_sink(t_env, query, sink)
    return [found, answers_to_insert(t_env, f"INSERT INTO sink {query}")]


def is_unknown(t_env: TableEnvironment, query: str) -> bool:
    return refusal(lambda: t_env.sql_query(query)) is not None


def create_sink(t_env: TableEnvironment, query: str, options: str) -> None:
    builder = Schema.new_builder()
    for number, kind in enumerate(t_env.sql_query(query).get_schema().get_field_data_types()):
        builder.column(f"c{number}", kind)
    t_env.drop_temporary_table("sink")
    t_env.execute_sql("DROP TABLE IF EXISTS sink")
    descriptor = TableDescriptor.for_connector("").schema(builder.build())
    for key, value in re.findall(r"'(.*?)' = '(.*?)'", options):
        descriptor.option(key, value)
    t_env.create_temporary_table("sink", descriptor.build())


def answers_to_insert(t_env: TableEnvironment, insert: str) -> dict[str, str | None]:
    found = {"execution": refused(t_env, insert), "EXPLAIN": refused(t_env, f"EXPLAIN {insert}")}
    statements = t_env.create_statement_set()
    found["a statement set"] = refusal(lambda: statements.add_insert_sql(insert).execute())
    found["COMPILE PLAN"] = refusal(lambda: t_env.compile_plan_sql(insert))
    if found["COMPILE PLAN"] is None:
        plan = PlanReference.from_json_string(t_env.compile_plan_sql(insert).as_json_string())
        found["EXECUTE PLAN"] = refusal(lambda: t_env.load_plan(plan).execute())
    return {way: comparable(error) for way, error in found.items()}


def refused(t_env: TableEnvironment, statement: str) -> str | None:
    return comparable(refusal(lambda: t_env.execute_sql(statement)))


def comparable(error: str | None) -> str | None:
    """Return an error without its place in the statement, which EXPLAIN moves, and in this file."""
    return error and re.sub(r"line \d+, column \d+|\(\S+\.py:\d+\)", "", error)


# --- invalid options -------------------------------------------------------------------------------------------------

KEYS = [key for key in sorted(known_options()) if key.startswith("table.")][:: max(1, EVERY // 5)]


def test_all_ways_refuse_the_same_options() -> None:
    t_env = environment("streaming")
    t_env.execute_sql(f"CREATE TABLE t (k INT, v INT) WITH ({BOUNDED})")
    configuration, found = t_env.get_config().get_configuration(), {}
    for key in KEYS:
        configuration.set_string(key, "nonsense")
        found[key] = answers(t_env, "SELECT k, COUNT(*) FROM t GROUP BY k", SINKS[0])
        configuration.remove_config(key)
    assert {key: one for key, one in found.items() if any(len(set(each.values())) > 1 for each in one)} == {}
    assert sum(one[0]["execution"] is not None for one in found.values()) > len(KEYS) // 3


# --- programs --------------------------------------------------------------------------------------------------------


def test_the_check_of_a_program_finds_what_its_execution_refuses(tmp_path: Path) -> None:
    program, t_env = tmp_path / "program.py", environment("streaming")
    lines = ["from pyflink.table import EnvironmentSettings, TableEnvironment"]
    lines.append("t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())")
    lines += [f"t_env.execute_sql({text!r})" for text in (*bounded(TABLES), *REFUSED)]
    program.write_text("\n".join(lines))
    for statement in bounded(TABLES):
        t_env.execute_sql(statement)
    report = check_program(program)
    try_program(program, (), 60, report)
    expected = {text: refusal(lambda text=text: t_env.execute_sql(text)) for text in REFUSED}
    found = {lines[one.line - 1]: f"{one.name}: {one.advice}" for one in report.of_kind(Kind.FAILS)}
    assert found == {f"t_env.execute_sql({text!r})": error for text, error in expected.items()}


def test_a_function_that_cannot_be_sent_to_other_processes_is_refused_by_explain_and_check(tmp_path: Path) -> None:
    program = """
import threading
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.udf import udf

lock = threading.Lock()
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())

def locked(n):
    with lock:
        return n

t_env.create_temporary_system_function("locked", udf(locked, result_type="INT"))
query = "SELECT locked(n) FROM (VALUES (1), (2)) AS t (n)"
"""
    names: dict[str, object] = {}
    exec(program, names)
    t_env, query = names["t_env"], names["query"]
    assert isinstance(t_env, TableEnvironment)
    with planned_only():
        refusals = [refusal(lambda: t_env.explain_sql(query)), refusal(lambda: t_env.execute_sql(query))]
    assert [str(text).partition(" (")[0] for text in refusals] == 2 * ["UnpicklableError: variable 'lock' of locked()"]
    path = tmp_path / "locked.py"
    path.write_text(f"{program}\nt_env.execute_sql(query).print()\n")
    report = check_program(path)
    try_program(path, (), 60, report)
    assert ["variable 'lock' of locked()" in one.advice for one in report.findings if one.kind is Kind.FAILS] == [True]
