import datetime
import functools
import operator

import cloudpickle
import pytest

from firesteel.table import DataTypes, Schema, TableDescriptor
from firesteel.table.errors import ValidationException
from firesteel.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    call,
    col,
    lit,
    range_,
    row,
    row_interval,
    with_columns,
    without_columns,
)
from firesteel.table.udf import AggregateFunction, ScalarFunction, TableAggregateFunction, udaf, udf, udtaf, udtf
from firesteel.table.window import Over, Tumble


@pytest.fixture
def table(t_env):
    return t_env.from_elements([(1, "x", 2.0), (2, "y", 3.0)], ["a", "b", "c"])


def names(table):
    return table.get_schema().get_field_names()


def test_columns_are_added_replaced_renamed_and_dropped(table):
    assert names(table.add_columns((col("a") + 1).alias("d"))) == ["a", "b", "c", "d"]
    assert names(table.add_or_replace_columns(lit(1).alias("b"), lit(2).alias("e"))) == ["a", "b", "c", "e"]
    assert names(table.rename_columns(col("b").alias("y"))) == ["a", "y", "c"]
    assert names(table.drop_columns(col("a"), col("c"))) == ["b"]
    assert names(table.alias("p", "q")) == ["p", "q", "c"]
    assert names(table.select(with_columns(range_(2, 3)))) == ["b", "c"]
    assert names(table.select(without_columns(col("b")))) == ["a", "c"]


def test_fields_of_a_row_are_numbered(table):
    found = table.select(row(col("a"), row(col("b"))).get("f1").get("f0").alias("r"))
    assert found.get_schema().get_field_data_type("r") == DataTypes.STRING()


def test_items_without_name_are_numbered(table):
    assert names(table.select(col("a"), col("a") + 1)) == ["a", "_c1"]
    assert names(table.group_by(col("b")).select(col("b"), col("a").sum, col("c").max)) == ["b", "EXPR$0", "EXPR$1"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda t: t.select(col("zz")), "zz"),
        (lambda t: t.drop_columns(col("zz")), "'zz' does not exist"),
        (lambda t: t.rename_columns(col("zz").alias("y")), "'zz' does not exist"),
        (lambda t: t.add_columns(lit(1).alias("a")), "Ambiguous column name: a"),
        (lambda t: t.alias("p", "q", "r", "s"), "more fields"),
        (lambda t: t.join(t), "ambiguous names: [a, b, c]"),
        (
            lambda t: t.window(Tumble.over(lit(1).seconds).on(col("a")).alias("w")).group_by(col("b")),
            "window alias: 'w'",
        ),
    ],
)
def test_errors_come_at_the_call(table, make, text):
    with pytest.raises(ValidationException) as raised:
        make(table)
    assert text in str(raised.value)


def test_over_windows_make_frames():
    window = (
        Over.partition_by(col("a")).order_by(col("ts")).preceding(row_interval(2)).following(CURRENT_ROW).alias("w")
    )
    assert (window._spec.frame, window._spec.preceding[0], window._spec.following[0]) == (
        "ROWS",
        "PRECEDING",
        "CURRENT",
    )
    with pytest.raises(ValidationException, match="same interval type"):
        Over.order_by(col("ts")).preceding(UNBOUNDED_RANGE).following(CURRENT_ROW)


def test_from_elements_infers_types(t_env):
    assert str(t_env.from_elements([(1, "a", 1.5)]).get_schema()) == (
        "root\n |-- _1: BIGINT\n |-- _2: STRING\n |-- _3: DOUBLE\n"
    )
    typed = t_env.from_elements(
        [row(1, "a")],
        DataTypes.ROW([DataTypes.FIELD("i", DataTypes.TINYINT()), DataTypes.FIELD("s", DataTypes.STRING())]),
    )
    assert names(typed) == ["i", "s"]


def test_functions_are_found_in_flinks_order(t_env):
    shout = udf(lambda s: s + "!", result_type="STRING", name="shout")
    t_env.create_temporary_function("upper", shout)
    t_env.create_temporary_system_function("lower", shout)
    assert t_env._catalogs.find_function(("UPPER",)) is None
    assert t_env._catalogs.find_function(("Lower",)).func is shout.func
    assert t_env._catalogs.find_function(("default_catalog", "default_database", "upper")).func is shout.func
    assert t_env.list_user_defined_functions() == ["lower", "upper"]
    with pytest.raises(ValidationException, match="does already exist"):
        t_env.create_temporary_function("upper", shout)
    assert t_env.drop_temporary_function("upper")
    assert not t_env.drop_temporary_function("upper")


def test_functions_by_module_name(t_env):
    t_env.execute_sql("CREATE FUNCTION f AS 'tests.table.functions.double' LANGUAGE PYTHON")
    assert t_env.from_elements([(1,)], ["x"]).select(call("f", col("x")).alias("y")).get_schema().get_field_names() == [
        "y"
    ]
    t_env.execute_sql("CREATE FUNCTION g AS 'tests.table.functions.nothing' LANGUAGE PYTHON")
    with pytest.raises(ValidationException, match=r"tests\.table\.functions\.nothing"):
        t_env.sql_query("SELECT g(1)")


class Times(ScalarFunction):
    def open(self, function_context):
        self.factor = 3

    def eval(self, x):
        return x * self.factor


class Count(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, row):
        accumulator[0] += row.x

    def get_value(self, accumulator):
        return accumulator[0]

    def get_result_type(self):
        return "BIGINT"

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())


def test_functions_are_picklable_and_know_their_types():
    times = cloudpickle.loads(cloudpickle.dumps(udf(Times(), result_type="INT")))
    times.open(None)
    assert times.eval(2) == 6
    assert (times.func_type, times.deterministic, times.result_type) == ("general", True, DataTypes.INT())

    @udtf(result_types=["STRING", DataTypes.INT()])
    def split(line):
        return []

    assert split.result_type.field_names() == ["f0", "f1"]
    assert udaf(Count()).result_type == DataTypes.BIGINT()


def test_functions_that_take_rows_get_them_with_names():
    count = udaf(Count()).with_row_input(["x", "y"])
    accumulator = count.func.create_accumulator()
    count.func.accumulate(accumulator, 5, "a")
    assert count.func.get_value(accumulator) == 5


def test_wrong_functions_are_refused(t_env):
    with pytest.raises(ValueError, match="general, pandas"):
        udf(lambda x: x, result_type="INT", func_type="arrow")
    with pytest.raises(TypeError, match="returnType"):
        udf(lambda x: x)
    with pytest.raises(TypeError, match="not a subclass of TableFunction"):
        udtf(Times, result_types="INT")
    with pytest.raises(TypeError, match="Wrap"):
        t_env.create_temporary_function("f", lambda x: x)


def test_descriptors_become_options():
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("a", "INT").build())
        .format("csv")
        .option("path", "/x")
        .build()
    )
    assert descriptor.get_options() == {"connector": "filesystem", "format": "csv", "path": "/x"}


def test_an_invalid_time_to_live_is_rejected_where_it_is_set_and_before_the_job_runs(t_env):
    with pytest.raises(ValueError, match="'soon' is not a duration"):
        t_env.get_config().set("table.exec.state.ttl", "soon")
    t_env.get_config().get_configuration().set_string("table.exec.state.ttl", "soon")
    with pytest.raises(ValueError, match="'soon' is not a duration"):
        t_env.execute_sql("SELECT COUNT(*) FROM (VALUES (1)) AS t (a)")


def test_a_descriptor_without_columns_takes_those_of_the_query(t_env):
    keyed = Schema.new_builder().primary_key("a").build()
    query = t_env.sql_query("SELECT a, b FROM (VALUES (1, 'x'), (2, 'y')) AS t (a, b)")
    for schema in (None, keyed):
        builder = TableDescriptor.for_connector("blackhole")
        plan = query.insert_into((builder.schema(schema) if schema else builder).build()).explain()
        assert "fields=[a, b]" in plan
    declared = Schema.new_builder().column("a", "INT").build()
    with pytest.raises(ValidationException, match="Different number of columns"):
        query.insert_into(TableDescriptor.for_connector("blackhole").schema(declared).build())


@pytest.mark.parametrize(
    "limited",
    [lambda t: t.limit(-1), lambda t: t.limit(1, -1), lambda t: t.offset(-1), lambda t: t.fetch(-1)],
)
def test_negative_numbers_of_rows_are_refused(table, limited):
    with pytest.raises(ValidationException, match=r"greater or equal 0|equal or larger than 0"):
        limited(table)


@pytest.mark.parametrize("bounds", [(2, 1), ("b", "a")])
@pytest.mark.parametrize("choose", [with_columns, without_columns])
def test_a_range_that_ends_before_its_start_is_refused(table, choose, bounds):
    with pytest.raises(ValidationException, match="should not be behind the end a"):
        table.select(choose(range_(*bounds)))


def test_columns_are_not_renamed_to_one_name(table):
    with pytest.raises(ValidationException, match="Ambiguous column name: b"):
        table.rename_columns(col("a").alias("b"))
    swapped = table.rename_columns(col("a").alias("b"), col("b").alias("a"))
    assert names(swapped) == ["b", "a", "c"]


class AggregateOfRows(TableAggregateFunction):
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, *values):
        pass

    def emit_value(self, accumulator):
        return []


class AggregateOfOneValue(AggregateFunction):
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, *values):
        pass

    def get_value(self, accumulator):
        return 1


@pytest.mark.parametrize(("declare", "function"), [(udtaf, AggregateOfOneValue()), (udaf, AggregateOfRows())])
def test_aggregate_functions_are_declared_by_the_function_of_their_kind(declare, function):
    with pytest.raises(TypeError, match="not an object of"):
        declare(function, result_type=DataTypes.INT(), accumulator_type=DataTypes.INT())


@pytest.mark.parametrize("make", [DataTypes.CHAR, DataTypes.VARCHAR, DataTypes.BINARY, DataTypes.VARBINARY])
def test_declared_lengths_are_at_least_one(make):
    with pytest.raises(ValueError, match="must be between 1 and 2147483647"):
        make(0)


def test_durations_may_be_shorter_than_a_millisecond(t_env):
    config, key = t_env.get_config(), "table.exec.state.ttl"
    for text, micros in (("5 µs", 5), ("2500 ns", 2), ("3 ms", 3000), ("7", 7000)):
        assert config.set(key, text).get_idle_state_retention() == datetime.timedelta(microseconds=micros)
    with pytest.raises(ValueError, match=r"option 'table\.exec\.state\.ttl': 'soon' is not a duration"):
        config.set(key, "soon")


A = col("a")


@pytest.mark.parametrize("expression", [A, A + 1, A.abs, A.sum + 1], ids=str)
def test_distinct_is_for_aggregates_only(t_env, expression):
    numbers = t_env.from_elements([(1,)], ["a"])
    with pytest.raises(ValidationException, match="Distinct operator can only be applied to aggregation expressions!"):
        numbers.select(expression.distinct)


def test_distinct_of_other_functions_in_sql(t_env):
    t_env.create_temporary_view("numbers", t_env.from_elements([(1,)], ["a"]))
    with pytest.raises(ValidationException, match="DISTINCT/ALL not allowed with ABS function"):
        t_env.sql_query("SELECT ABS(DISTINCT a) FROM numbers")


@pytest.mark.parametrize("call", ["select", "add_columns", "filter", "order_by"])
def test_expressions_that_are_nested_too_deeply_are_refused(t_env, call):
    numbers, deep = t_env.from_elements([(1,)], ["a"]), functools.reduce(operator.add, [A] * 3000)
    with pytest.raises(ValidationException, match="nested too deeply"):
        getattr(numbers, call)(deep == 1)
