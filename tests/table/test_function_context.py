import sqlite3

import pytest

from firesteel.datastream import MapFunction, StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.expressions import col
from firesteel.table.udf import AggregateFunction, ScalarFunction, TableFunction, udaf, udf, udtf
from firesteel.testing import run_local


def told(context):
    return "|".join(
        [
            context.get_job_parameter("discount", "none"),
            context.get_job_parameter("parallelism.default", "none"),
            str(context.get_index_of_this_subtask()),
            str(context.get_attempt_number()),
        ]
    )


class Opened:
    def open(self, function_context):
        self.told = told(function_context)
        function_context.get_metric_group().counter("opened").inc()


class Scalar(Opened, ScalarFunction):
    def eval(self, value):
        return self.told


class Table(Opened, TableFunction):
    def eval(self, value):
        yield self.told


class Aggregate(Opened, AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, *values):
        pass

    def retract(self, accumulator, *values):
        pass

    def get_value(self, accumulator):
        return self.told


SCALAR = udf(Scalar(), result_type=DataTypes.STRING())
PANDAS_AGGREGATE = udaf(Aggregate(), result_type=DataTypes.STRING(), func_type="pandas")
TABLE = udtf(Table(), result_types=[DataTypes.STRING()])
AGGREGATE = udaf(Aggregate(), result_type=DataTypes.STRING(), accumulator_type=DataTypes.ARRAY(DataTypes.INT()))
QUERIES = {
    "scalar": lambda t: t.select(SCALAR(col("n")).alias("r")),
    "filter": lambda t: t.filter(SCALAR(col("n")) == "0.5|none|0|0").select(SCALAR(col("n")).alias("r")),
    "table": lambda t: t.join_lateral(TABLE(col("n")).alias("r")).select(col("r")),
    "aggregate": lambda t: t.select(AGGREGATE(col("n")).alias("r")),
    "pandas aggregate": lambda t: t.select(PANDAS_AGGREGATE(col("n")).alias("r")),
}


def environment():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_config().set_global_job_parameters({"discount": 0.5})
    return env


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_functions_read_job_parameters_and_metrics_when_they_are_opened(query):
    env = environment()
    t_env = StreamTableEnvironment.create(env)
    table = query(t_env.from_elements([(1,)], ["n"]))
    t_env.to_changelog_stream(table).collect_async()
    assert [row.r for row in run_local(env).elements][-1] == "0.5|none|0|0"


def test_functions_of_streams_read_job_parameters_and_no_options():
    class Told(MapFunction):
        def open(self, runtime_context):
            self.told = told(runtime_context)

        def map(self, value):
            return self.told

    env = environment()
    env.from_collection([1]).map(Told()).collect_async()
    assert run_local(env).elements == ["0.5|none|0|0"]


EVENTS = []


class Noted(ScalarFunction):
    """Notes that it is opened and closed."""

    def open(self, function_context):
        EVENTS.append("open")

    def eval(self, value):
        return value

    def close(self):
        EVENTS.append("close")


class NotedRows(Noted, TableFunction):
    """Likewise, for rows."""

    def eval(self, value):
        yield value


class NotedAggregate(Aggregate):
    """Likewise, for groups."""

    open, close = Noted.open, Noted.close

    def get_value(self, accumulator):
        return "none"


CLOSED = {
    "projection": "SELECT h(a) FROM t",
    "condition": "SELECT a FROM t WHERE h(a) > 0",
    "table function": "SELECT x FROM t, LATERAL TABLE(r(a)) AS u(x)",
    "argument of a table function": "SELECT x FROM t, LATERAL TABLE(r(h(a))) AS u(x)",
    "argument of UNNEST": "SELECT x FROM t CROSS JOIN UNNEST(ARRAY[h(a)]) AS u(x)",
    "condition of LATERAL": "SELECT x FROM t LEFT JOIN LATERAL TABLE(r(a)) AS u(x) ON TRUE WHERE h(x) > 0",
    "join": "SELECT t.a FROM t LEFT JOIN t AS s ON t.a = s.a AND h(t.a) < s.a + 5",
    "lookup join": "SELECT p.a FROM p JOIN d FOR SYSTEM_TIME AS OF p.pt ON p.a = d.id AND h(p.a) < 5",
    "watermark": "SELECT a FROM w",
    "group": "SELECT g(a) FROM t GROUP BY a",
    "window": "SELECT g(a) FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, "
    "window_end",
    "over": "SELECT g(a) OVER (ORDER BY pt) FROM p",
}


@pytest.mark.parametrize("name", CLOSED)
def test_each_function_that_is_opened_is_closed(name, tmp_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    with sqlite3.connect(tmp_path / "d.db") as database:
        database.execute("CREATE TABLE d (id INT PRIMARY KEY)")
        database.execute("INSERT INTO d VALUES (1)")
    t_env.create_temporary_function("h", udf(Noted(), result_type=DataTypes.BIGINT()))
    t_env.create_temporary_function("ms", udf(Noted(), result_type=DataTypes.TIMESTAMP(3)))
    t_env.create_temporary_function("r", udtf(NotedRows(), result_types=[DataTypes.BIGINT()]))
    t_env.create_temporary_function(
        "g", udaf(NotedAggregate(), result_type=DataTypes.STRING(), accumulator_type=DataTypes.ARRAY(DataTypes.INT()))
    )
    t_env.create_temporary_view("t", t_env.from_elements([(1,), (2,)], ["a"]))
    made = "WITH ('connector' = 'datagen', 'number-of-rows' = '3', 'fields.a.min' = '1', 'fields.a.max' = '1')"
    t_env.execute_sql(f"CREATE TABLE p (a BIGINT, pt AS PROCTIME()) {made}")
    t_env.execute_sql(f"CREATE TABLE w (a BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ms(ts)) {made}")
    t_env.execute_sql(
        "CREATE TABLE d (id BIGINT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'jdbc', "
        f"'url' = 'jdbc:sqlite:{tmp_path}/d.db', 'table-name' = 'd')"
    )
    EVENTS.clear()
    t_env.to_changelog_stream(t_env.sql_query(CLOSED[name])).collect_async()
    run_local(env)
    assert EVENTS.count("open") == EVENTS.count("close") > 0
