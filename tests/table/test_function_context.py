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
