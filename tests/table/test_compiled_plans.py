"""Compiled plans: executing one gives the same as its statement, now and from a file."""

from __future__ import annotations

import json
import resource

import pytest

from firesteel.common.table_errors import SqlParserException, TableException, ValidationException
from firesteel.errors import InvalidProgramError
from firesteel.table import DataTypes, ExplainDetail, PlanReference, Schema, TableDescriptor
from firesteel.table.execution.plan_execution import write_plan
from firesteel.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf, udtf
from tests.table.environments import environment
from tests.table.test_push_filters import BELOW, CROSSED, STAYS, TIMED

NODES = (
    *BELOW,
    *STAYS,
    *CROSSED,
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY t) FROM s",
    "SELECT k, COUNT(*) FROM s GROUP BY GROUPING SETS ((k), ())",
    "SELECT k, HOP_END(t, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE) FROM s GROUP BY k, "
    "HOP(t, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)",
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.v AS x, LAST(B.v) AS y "
    "PATTERN (A B+ C) DEFINE B AS B.v > A.v, C AS C.v < 1) AS m",
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES SUM(A.v) AS x, COUNT(*) AS n "
    "PATTERN (A+ B) DEFINE A AS AVG(A.v) > 1, B AS B.v < 1) AS m",
    "SELECT k FROM s WHERE v NOT IN (SELECT v FROM r)",
    "SELECT CAST(NULL AS INT), 1.5, 1.5E0, X'0102', 'it''s', DATE '2024-01-31', TIME '10:00:00', "
    "TIMESTAMP '2024-01-31 10:00:00.123', INTERVAL '3' DAY, INTERVAL '2' MONTH, ARRAY[1, 2], ROW('a', 1), MAP['a', 1]",
    "SELECT * FROM (VALUES (1, 'a', DATE '2024-01-31', 1.50), (2, CAST(NULL AS STRING), "
    "CAST(NULL AS DATE), CAST(NULL AS DECIMAL(3, 2)))) AS x (a, b, c, d)",
    "SELECT plus_one(v), t FROM s",
    "SELECT * FROM s /*+ OPTIONS('rows-per-second' = '7') */",
)


@pytest.fixture
def t_env():
    made = environment()
    for name in "sr":
        made.execute_sql(TIMED.format(name))
    made.create_temporary_system_function("plus_one", udf(lambda v: v + 1, result_type=DataTypes.INT()))
    return made


def sink_for(t_env, query):
    """Create a sink for all changes of a query."""
    schema = t_env.sql_query(query).get_schema()
    fields = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    builder = Schema.new_builder()
    for name, kind in fields:
        builder.column(name, kind)
    t_env.create_temporary_table("sink", TableDescriptor.for_connector("blackhole").schema(builder.build()).build())


@pytest.mark.parametrize("query", NODES)
def test_a_stored_plan_has_the_nodes_of_its_statement(t_env, query):
    sink_for(t_env, query)
    statement = f"INSERT INTO sink {query}"
    plan = t_env.compile_plan_sql(statement)
    loaded = t_env.load_plan(PlanReference.from_json_string(plan.as_json_string()))
    detail = ExplainDetail.CHANGELOG_MODE
    assert optimized(loaded.explain(detail)) == optimized(t_env.explain_sql(statement, detail))
    assert loaded.as_json_string() == plan.as_json_string()
    again = t_env.create_statement_set()
    assert again is not None
    assert t_env.load_plan(PlanReference.from_json_string(str(loaded))).explain() == loaded.explain()


def optimized(text):
    return text.split("== Optimized Physical Plan ==")[1]


def test_a_subplan_that_is_read_twice_is_stored_once(t_env):
    query = "SELECT k, SUM(v) AS n FROM s GROUP BY k"
    both = f"SELECT a.n, b.k FROM ({query}) AS a, ({query}) AS b WHERE a.k = b.n"
    sink_for(t_env, both)
    plan = json.loads(t_env.compile_plan_sql(f"INSERT INTO sink {both}").as_json_string())
    assert [node["class"] for node in plan["nodes"]].count("Aggregate") == 1


def files(t_env, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("1,a\n2,b\n3,c\n")
    options = "'connector' = 'filesystem', 'format' = 'csv'"
    t_env.execute_sql(f"CREATE TABLE i (k INT, v STRING) WITH ({options}, 'path' = '{tmp_path}/in')")
    t_env.execute_sql(f"CREATE TABLE o (k INT, v STRING) WITH ({options}, 'path' = '{tmp_path}/out')")
    t_env.create_temporary_system_function("twice", udf(lambda v: v * 2, result_type=DataTypes.INT()))
    return "INSERT INTO o SELECT twice(k), UPPER(v) FROM i WHERE k > 1"


def written(tmp_path):
    return sorted(line for file in (tmp_path / "out").glob("[!._]*") for line in file.read_text().split())


@pytest.mark.spark
@pytest.mark.parametrize("how", ["python", "sql", "both"])
def test_a_plan_in_a_file_gives_what_the_statement_gives(tmp_path, how):
    statement, path = files(first := environment("batch"), tmp_path), tmp_path / "plans" / "plan.json"
    if how == "python":
        first.compile_plan_sql(statement).write_to_file(path)
    elif how == "sql":
        first.execute_sql(f"COMPILE PLAN '{path}' FOR {statement}")
    second = environment("batch")
    (tmp_path / "again").mkdir()
    files(second, tmp_path / "again")
    for name, folder in (("i", "in"), ("o", "out")):
        second.execute_sql(f"ALTER TABLE {name} SET ('path' = '{tmp_path}/{folder}')")
    if how == "python":
        second.execute_plan(PlanReference.from_file(path)).wait()
    else:
        second.execute_sql(
            f"EXECUTE PLAN '{path}'" if how == "sql" else f"COMPILE AND EXECUTE PLAN '{path}' FOR {statement}"
        ).wait()
    assert written(tmp_path) == ["4,B", "6,C"]


def test_a_plan_file_may_be_a_uri_of_this_machine(t_env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    query = "SELECT k, v FROM s"
    sink_for(t_env, query)
    t_env.execute_sql(f"COMPILE PLAN 'file://{tmp_path}/a/plan.json' FOR INSERT INTO sink {query}")
    loaded = t_env.load_plan(PlanReference.from_file(f"file:{tmp_path}/a/plan.json"))
    loaded.write_to_file(f"file://{tmp_path}/b.json")
    assert (tmp_path / "a" / "plan.json").read_text() == (tmp_path / "b.json").read_text()
    for statement in ("COMPILE PLAN 'hdfs://host/p' FOR INSERT INTO sink " + query, "EXECUTE PLAN 'hdfs://host/p'"):
        with pytest.raises(InvalidProgramError, match="no file system for hdfs://host"):
            t_env.execute_sql(statement)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b.json"]


def test_a_pipeline_over_tables_without_names_is_stored_with_their_options(t_env, tmp_path):
    schema = Schema.new_builder().column("f0", DataTypes.STRING()).build()
    source = TableDescriptor.for_connector("datagen").option("number-of-rows", "5").schema(schema).build()
    target = TableDescriptor.for_connector("blackhole").schema(schema).build()
    plan = t_env.from_descriptor(source).insert_into(target).compile_plan()
    plan.write_to_file(tmp_path / "plan.json")
    plan.write_to_file(tmp_path / "plan.json", ignore_if_exists=True)
    with pytest.raises(TableException, match="Cannot overwrite the plan file"):
        plan.write_to_file(tmp_path / "plan.json")
    loaded = environment().load_plan(PlanReference.from_file(tmp_path / "plan.json"))
    assert optimized(loaded.explain()) == optimized(plan.explain())


def test_a_statement_set_is_one_plan(t_env, tmp_path):
    sink_for(t_env, "SELECT k FROM s")
    inserts = "INSERT INTO sink SELECT k FROM s; INSERT INTO sink SELECT v FROM s;"
    t_env.execute_sql(f"COMPILE PLAN '{tmp_path}/p' IF NOT EXISTS FOR STATEMENT SET BEGIN {inserts} END")
    t_env.execute_sql(f"COMPILE PLAN '{tmp_path}/p' IF NOT EXISTS FOR INSERT INTO sink SELECT 1")
    plan = json.loads((tmp_path / "p").read_text())
    assert len(plan["sinks"]) == 2
    assert [node["class"] for node in plan["nodes"]].count("TableScan") == 1
    with pytest.raises(TableException, match="Cannot overwrite"):
        t_env.execute_sql(f"COMPILE PLAN '{tmp_path}/p' FOR INSERT INTO sink SELECT 1")
    t_env.get_config().set("table.plan.force-recompile", "true")
    t_env.execute_sql(f"COMPILE PLAN '{tmp_path}/p' FOR INSERT INTO sink SELECT 1")
    assert len(json.loads((tmp_path / "p").read_text())["sinks"]) == 1


def plan_of(t_env, query="SELECT plus_one(k) AS k FROM s"):
    sink_for(t_env, query)
    return json.loads(t_env.compile_plan_sql(f"INSERT INTO sink {query}").as_json_string())


def loaded(t_env, plan):
    return t_env.load_plan(PlanReference.from_json_string(json.dumps(plan)))


def test_plans_of_others_are_refused(t_env):
    plan = plan_of(t_env)
    with pytest.raises(TableException, match="not compiled by firesteel"):
        loaded(t_env, {"flinkVersion": "2.3", "nodes": [{"id": 1, "type": "stream-exec-table-source-scan_2"}]})
    with pytest.raises(TableException, match="version 99"):
        loaded(t_env, {**plan, "firesteelPlan": 99})
    with pytest.raises(TableException, match="streaming mode, and the environment in batch mode"):
        loaded(environment("batch"), plan)
    with pytest.raises(TableException, match="not JSON"):
        t_env.load_plan(PlanReference.from_json_string("{"))
    with pytest.raises(TableException, match="damaged"):
        loaded(t_env, {**plan, "nodes": [{"class": "os.system"}]})
    with pytest.raises(TableException, match="Cannot read the plan file"):
        t_env.load_plan(PlanReference.from_file("/nowhere/plan.json"))
    with pytest.raises(NotImplementedError, match="Smile"):
        t_env.load_plan(PlanReference.from_smile_bytes(b""))


def test_what_a_plan_names_must_be_there_as_it_was(t_env):
    plan = plan_of(t_env)
    t_env.drop_temporary_system_function("plus_one")
    with pytest.raises(ValidationException, match="function 'plus_one', which does not exist"):
        loaded(t_env, plan)
    plan = plan_of(other := environment(), "SELECT 1 AS k")
    other.drop_temporary_table("sink")
    with pytest.raises(ValidationException, match=r"'default_catalog.default_database.sink', which does not exist"):
        loaded(other, plan)
    sink_for(other, "SELECT 'a' AS k")
    with pytest.raises(ValidationException, match="other columns than when the plan was compiled"):
        loaded(other, plan)


class _Most(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, value):
        accumulator[0] = max(accumulator[0], value)

    def get_value(self, accumulator):
        return accumulator[0]


def most(kind, **more):
    return udaf(_Most(), result_type=kind, accumulator_type=DataTypes.ARRAY(DataTypes.INT()), **more)


class _Several(_Most, TableAggregateFunction):
    def emit_value(self, accumulator):
        yield accumulator[0]


FUNCTIONS = {
    "scalar": udf(lambda v: v, result_type=DataTypes.INT()),
    "other scalar": udf(lambda v: v, result_type=DataTypes.DOUBLE()),
    "table": udtf(lambda v: [v], result_types=[DataTypes.INT()]),
    "wider table": udtf(lambda v: [(v, v)], result_types=[DataTypes.INT(), DataTypes.INT()]),
    "aggregate": most(DataTypes.INT()),
    "other aggregate": most(DataTypes.BIGINT()),
    "table aggregate": udtaf(_Several(), None, DataTypes.INT(), DataTypes.ARRAY(DataTypes.INT())),
}
CALLS = {
    "scalar": "SELECT f(v) AS x FROM s",
    "table": "SELECT x FROM s, LATERAL TABLE(f(v)) AS u(x)",
    "aggregate": "SELECT f(v) AS x FROM s",
}


@pytest.mark.parametrize("now", FUNCTIONS)
@pytest.mark.parametrize("before", CALLS)
def test_a_function_must_be_of_the_kind_and_type_that_it_had(before, now):
    made = environment()
    made.execute_sql(TIMED.format("s"))
    made.create_temporary_system_function("f", FUNCTIONS[before])
    sink_for(made, CALLS[before])
    plan = json.loads(made.compile_plan_sql(f"INSERT INTO sink {CALLS[before]}").as_json_string())
    made.drop_temporary_system_function("f")
    made.create_temporary_system_function("f", FUNCTIONS[now])
    if before == now:
        loaded(made, plan)
        return
    with pytest.raises(ValidationException, match="has changed since the plan was compiled"):
        loaded(made, plan)


TAKEN = {
    "any": None,
    "as many": [DataTypes.DOUBLE(), DataTypes.TIMESTAMP(3)],
    "other types": [DataTypes.INT(), DataTypes.TIMESTAMP(3)],
    "fewer": [DataTypes.DOUBLE()],
}
"""Types of arguments of a function by now, of which the plan has `as many`."""
TAKING = {
    "SELECT f(v, t) AS x FROM s": lambda types: udf(lambda *_: 1, types, DataTypes.INT()),
    "SELECT f(CAST(NULL AS INT), CAST(t AS TIMESTAMP(6))) AS x FROM s": lambda types: udf(
        lambda *_: 1, types, DataTypes.INT()
    ),
    "SELECT k FROM s WHERE f(1, t) > 1": lambda types: udf(lambda *_: 1, types, DataTypes.INT()),
    "SELECT x FROM s, LATERAL TABLE(f(v, t)) AS u(x)": lambda types: udtf(lambda *_: [1], types, [DataTypes.INT()]),
    "SELECT f(v, t) AS x FROM s GROUP BY k": lambda types: most(DataTypes.INT(), input_types=types),
    "SELECT k, f(v, t) AS x FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '1' MINUTE)) "
    "GROUP BY k, window_start, window_end": lambda types: most(DataTypes.INT(), input_types=types),
    "SELECT f(v, t) OVER (PARTITION BY k ORDER BY t) AS x FROM s": lambda types: most(
        DataTypes.INT(), input_types=types
    ),
}


@pytest.mark.parametrize("query", TAKING)
def test_a_function_must_take_what_it_took(query):
    made = environment()
    made.execute_sql(TIMED.format("s"))
    made.create_temporary_system_function("f", TAKING[query](TAKEN["as many"]))
    sink_for(made, query)
    plan = json.loads(made.compile_plan_sql(f"INSERT INTO sink {query}").as_json_string())
    for name, types in TAKEN.items():
        made.drop_temporary_system_function("f")
        made.create_temporary_system_function("f", TAKING[query](types))
        if name in ("any", "as many"):
            loaded(made, plan)
            continue
        with pytest.raises(ValidationException, match=r"compiled: it takes \(.*\) instead of \(DOUBLE, TIMESTAMP\(3\)"):
            loaded(made, plan)


def test_what_has_no_name_is_not_compiled(t_env):
    sink_for(t_env, "SELECT k FROM s")
    stream = t_env.from_elements([(1,)], ["k"])
    inline = t_env.from_path("s").select(udf(lambda v: v, result_type=DataTypes.INT(), name="mine")(1))
    with pytest.raises(TableException, match="The function 'mine' has no name in a catalog"):
        inline.insert_into("sink").compile_plan()
    assert stream is not None
    with pytest.raises(ValidationException, match=r"compilePlanSql\(\) only accepts a single SQL statement"):
        t_env.compile_plan_sql("SELECT 1")
    with pytest.raises(SqlParserException):
        t_env.execute_sql("COMPILE PLAN 'x' FOR SELECT 1")


@pytest.mark.parametrize("path", ["", "/", "file:///"])
def test_a_plan_needs_the_name_of_a_file(t_env, path):
    sink_for(t_env, "SELECT k FROM s")
    with pytest.raises(TableException, match="which is no file"):
        t_env.execute_sql(f"COMPILE PLAN '{path}' FOR INSERT INTO sink SELECT k FROM s")


def test_a_plan_that_can_not_be_written_leaves_the_one_before_it(tmp_path):
    path = tmp_path / "plan.json"
    write_plan(path, "{}", overwrites=False)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(TableException, match="Cannot write the compiled plan"):
            write_plan(path, "x" * 1000, overwrites=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "{}"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("depth", [500, 100_000])
def test_a_plan_that_is_nested_too_deeply_is_refused(t_env, depth):
    condition = "[" * depth + "]" * depth
    nodes = '[{"class": "Filter", "condition": ' + condition + "}]"
    plan = '{"firesteelPlan": 1, "mode": "streaming", "nodes": ' + nodes + ', "sinks": []}'
    with pytest.raises(TableException, match=r"not JSON|damaged"):
        t_env.load_plan(PlanReference.from_json_string(plan))
