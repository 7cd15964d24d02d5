"""Details of the Table API that PyFlink's own tests rely on."""

from __future__ import annotations

import array
from decimal import Decimal

import pytest

from firesteel.common import Row
from firesteel.common.table_errors import (
    PartitionNotExistException,
    PartitionSpecInvalidException,
    SqlParserException,
    TableNotExistException,
    TableNotPartitionedException,
    ValidationException,
)
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import (
    AggregateFunction,
    DataTypes,
    ExplainDetail,
    FormatDescriptor,
    MapView,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableSchema,
)
from firesteel.table.catalog import CatalogBaseTable, CatalogPartition, CatalogPartitionSpec, ObjectPath
from firesteel.table.descriptors import Schema as LegacySchema
from firesteel.table.expressions import call, call_sql, col, object_of
from firesteel.table.functions.inference import infer_type
from firesteel.table.planner.rel.constants import folded
from firesteel.table.udf import TableAggregateFunction, udaf, udf, udtaf, udtf
from firesteel.testing import run_local
from tests.table.environments import environment

HASH_CODES = {
    "'abc'": 96354,
    "''": 0,
    "'日本'": 835047,
    "-1": -1,
    "CAST(1 AS TINYINT)": 1,
    "12345678901": -539222985,
    "-5000000000": 705032702,
    "1.5": 466,
    "CAST(1.50 AS DECIMAL(10, 2))": 4652,
    "CAST(1.5 AS DOUBLE)": 1073217536,
    "CAST(1.5 AS FLOAT)": 1069547520,
    "TRUE": 1231,
    "FALSE": 1237,
    "DATE '2020-01-01'": 18262,
    "TIME '10:20:30'": 37230000,
    "TIMESTAMP '2020-01-01 10:20:30'": -1287610623,
    "TIMESTAMP '2020-01-01 10:20:30.123456'": -1287135620,
    "CAST(NULL AS INT)": None,
}


@pytest.mark.parametrize("text", HASH_CODES)
def test_hash_code_gives_flinks_values(text):
    (rex,) = environment().sql_query(f"SELECT HASH_CODE({text})")._node.expressions
    assert folded(rex).value == HASH_CODES[text]


@pytest.mark.parametrize("text", ["X'01'", "ARRAY[1]", "CURRENT_TIMESTAMP"])
def test_hash_code_refuses_other_types(text):
    with pytest.raises(Exception, match="Cannot apply 'HASH_CODE' to arguments of type"):
        environment().sql_query(f"SELECT HASH_CODE({text})")


def test_a_function_gets_all_digits_of_a_decimal_constant():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_system_function("shown", udf(lambda value: str(value), result_type=DataTypes.STRING()))
    query = "SELECT shown(CAST(1.05 AS DECIMAL)), shown(CAST(123.4 AS DECIMAL(2, 0))), CAST(1.05 AS DECIMAL)"
    t_env.to_data_stream(t_env.sql_query(query)).collect_async()
    assert [tuple(row) for row in run_local(env).elements] == [("1.05", "None", Decimal(1))]


def test_entries_of_a_map_view_are_removed_on_the_way():
    view = MapView()
    view.put_all({"a": 1, "b": 2, "c": 3})
    keys = iter(view.keys())
    with pytest.raises(RuntimeError, match="next"):
        keys.remove()
    for key in keys:
        if key != "b":
            keys.remove()
    assert list(view.items()) == [("b", 2)]
    assert list(view.values()) == [2]


def test_a_schema_shows_types_as_they_were_given():
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.INT().not_null())
        .column("payload", "ROW<name STRING, age INT>")
        .column_by_metadata("topic", DataTypes.STRING(), None, True)
        .column_by_metadata("ts", DataTypes.TIMESTAMP(3), "timestamp")
        .column_by_expression("before", call_sql("ts - INTERVAL '1' DAY"))
        .column_by_expression("next", col("id") + 1)
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .build()
    )
    assert str(schema).splitlines()[1:-1] == [
        "  `id` INT NOT NULL,",
        "  `payload` [ROW<name STRING, age INT>],",
        "  `topic` STRING METADATA VIRTUAL,",
        "  `ts` TIMESTAMP(3) METADATA FROM 'timestamp',",
        "  `before` AS [ts - INTERVAL '1' DAY],",
        "  `next` AS plus(id, 1),",
        "  WATERMARK FOR `ts` AS [ts - INTERVAL '5' SECOND]",
    ]


def test_descriptors_show_their_options_in_order():
    form = FormatDescriptor.for_format("csv").option("b", "x").option("a", "false").build()
    assert str(form) == "csv[{a=false, b=x}]"
    table = TableDescriptor.for_connector("x").option("b", "1").option("a", "2").build()
    assert str(table).splitlines()[-4:] == ["  'a' = '2',", "  'b' = '1',", "  'connector' = 'x'", ")"]


def test_the_text_of_a_type_is_its_name_and_its_repr_tells_all():
    assert (str(DataTypes.STRING()), repr(DataTypes.STRING())) == ("VARCHAR", "VarCharType(2147483647, true)")
    assert str(infer_type(array.array("u", "a")).element_type) == "CHAR"


@pytest.mark.parametrize(("names", "part"), [(("", "t"), "databaseName"), (("d", " "), "objectName")])
def test_paths_of_objects_have_two_names(names, part):
    with pytest.raises(ValueError, match=f"{part} cannot be null or empty"):
        ObjectPath(*names)


def test_paths_of_objects_are_ordered_and_only_compared_with_paths():
    first, second = ObjectPath("a", "t"), ObjectPath("b", "t")
    assert first <= second
    assert second >= first
    for other in (3, ["a", "t"]):
        with pytest.raises(TypeError, match="not supported between"):
            assert first < other


def test_the_text_of_a_view_is_parsed_when_the_view_is_used():
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    catalog = t_env.get_catalog("default_catalog")
    schema = TableSchema(["a"], [DataTypes.INT()])
    for name, text in (("one", "SELECT 1 AS a"), ("none", "SELECT * FROM test-catalog.db.t"), ("ddl", "SHOW TABLES")):
        view = CatalogBaseTable.create_view(text, text, schema, {})
        catalog.create_table(ObjectPath("default_database", name), view, False)
    assert t_env.from_path("one").get_schema().get_field_names() == ["a"]
    with pytest.raises(SqlParserException, match='Encountered "-"'):
        t_env.from_path("none")
    with pytest.raises(ValidationException, match="A view needs a query"):
        t_env.from_path("ddl")


def test_former_descriptors_name_types_as_flink_serializes_them():
    schema = LegacySchema().field("a", DataTypes.STRING()).field("b", "SQL_TIMESTAMP").field("c", "VARCHAR")
    types = [schema.to_properties()[f"schema.{place}.data-type"] for place in range(3)]
    assert types == ["VARCHAR(2147483647)", "TIMESTAMP(3)", "VARCHAR"]


def test_functions_get_instants_as_datetimes_in_the_zone_of_the_session():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("Asia/Shanghai")
    t_env.create_temporary_system_function("shown", udf(lambda value: str(value), result_type=DataTypes.STRING()))
    t_env.create_temporary_system_function("last", udaf(Last()))
    t_env.create_temporary_system_function("parts", udtf(lambda v: [str(v)], result_types=[DataTypes.STRING()]))
    instant = "TO_TIMESTAMP_LTZ(123, 3)"
    t_env.execute_sql(f"CREATE TEMPORARY VIEW x AS SELECT {instant} AS a, ROW({instant}, 1) AS r")
    query = "SELECT last(a), MAX(shown(r)), MAX(shown(ARRAY[a])), MAX(w) FROM x, LATERAL TABLE(parts(a)) AS q (w)"
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    (row,) = run_local(env).elements
    text = "1970-01-01 08:00:00.123000+08:00"
    assert (row[0], row[3]) == (text, text)
    assert "tzinfo=zoneinfo.ZoneInfo(key='Asia/Shanghai')" in row[1]
    assert "tzinfo=zoneinfo.ZoneInfo(key='Asia/Shanghai')" in row[2]


class Last(AggregateFunction):
    def create_accumulator(self):
        return Row("")

    def accumulate(self, accumulator, value):
        accumulator[0] = str(value)

    def get_value(self, accumulator):
        return accumulator[0]

    def get_accumulator_type(self):
        return DataTypes.ROW([DataTypes.FIELD("f", DataTypes.STRING())])

    def get_result_type(self):
        return DataTypes.STRING()


class Both(TableAggregateFunction):
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, value):
        accumulator[:] = [*accumulator, value][-2:]

    def emit_value(self, accumulator):
        yield from accumulator


def test_a_system_function_replaces_the_operator_of_its_name_in_the_table_api_alone():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    less = udf(lambda a, b: a + b - 1, result_type=DataTypes.BIGINT())
    t_env.create_temporary_system_function("plus", less)
    numbers = t_env.from_elements([(1, 2)], ["a", "b"])
    t_env.create_temporary_view("numbers", numbers)
    t_env.to_data_stream(numbers.select(col("a") + col("b"), call("plus", col("a"), col("b")))).collect_async()
    t_env.to_data_stream(t_env.sql_query("SELECT a + b, plus(a, b) FROM numbers")).collect_async()
    assert sorted(tuple(row) for row in run_local(env).elements) == [(2, 2), (3, 2)]


def test_plan_advice():
    t_env = environment()
    rows = t_env.from_elements([(1, "x")], ["a", "b"])
    text = rows.group_by(col("b")).select(col("a").sum).explain(ExplainDetail.PLAN_ADVICE)
    assert "== Optimized Physical Plan With Advice ==" in text
    assert "GroupAggregate(advice=[1], groupBy=[b]" in text
    assert "advice[1]: [ADVICE] You might want to enable local-global two-phase optimization" in text
    assert "No available advice..." in rows.select(col("a")).explain(ExplainDetail.PLAN_ADVICE)


def test_arrays_of_numbers_have_element_types():
    assert infer_type(array.array("i", [1, 2])) == DataTypes.ARRAY(DataTypes.INT(False))
    with pytest.raises(TypeError, match="not supported type"):
        infer_type(array.array("L", [1]))


def test_what_pyflink_refuses():
    with pytest.raises(TypeError, match="Pandas UDAF doesn't support DataType type MAP"):
        udaf(lambda v: v, result_type=DataTypes.MAP(DataTypes.INT(), DataTypes.INT()), func_type="pandas")
    with pytest.raises(TypeError, match="Expected field index or field name"):
        TableSchema(["a"], [DataTypes.INT()]).get_field_data_type(None)


@pytest.fixture
def partitions():
    t_env = environment()
    t_env.execute_sql("CREATE TABLE plain (k STRING) WITH ('connector' = 'blackhole')")
    t_env.execute_sql("CREATE TABLE parts (a INT, k STRING) PARTITIONED BY (k) WITH ('connector' = 'blackhole')")
    return t_env.get_catalog("default_catalog")


def test_partitions_need_a_partitioned_table_and_its_keys(partitions):
    plain, parts, none = (ObjectPath("default_database", name) for name in ("plain", "parts", "none"))
    good, bad = CatalogPartitionSpec({"k": "1"}), CatalogPartitionSpec({"k": "1", "a": "2"})
    for path in (plain, none):
        assert not partitions.partition_exists(path, good)
        with pytest.raises(
            TableNotPartitionedException, match=r"Table default_database\.\w+ in catalog .* partitioned"
        ):
            partitions.list_partitions(path, good)
        with pytest.raises(PartitionNotExistException):
            partitions.drop_partition(path, good, False)
    with pytest.raises(TableNotPartitionedException):
        partitions.create_partition(plain, good, CatalogPartition.create_instance({}, ""), True)
    with pytest.raises(TableNotExistException):
        partitions.list_partitions(none)
    match = r"CatalogPartitionSpec\{\{a=2, k=1\}\} does not match partition keys \[k\] of table default_database\.parts"
    with pytest.raises(PartitionSpecInvalidException, match=match):
        partitions.create_partition(parts, bad, CatalogPartition.create_instance({}, ""), True)
    partitions.create_partition(parts, good, CatalogPartition.create_instance({}, ""), False)
    assert partitions.partition_exists(parts, good)
    assert partitions.list_partitions(parts, bad) == []


def test_paths_are_ordered_by_their_full_names():
    paths = [ObjectPath("b", "a"), ObjectPath("a", "z"), ObjectPath("a", "b")]
    assert list(map(str, sorted(paths))) == ["a.b", "a.z", "b.a"]


def test_the_watermark_of_a_printed_schema_has_the_plain_type(capsys):
    t_env = environment()
    t_env.execute_sql("CREATE TABLE w (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')")
    t_env.from_path("w").print_schema()
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "  `ts` TIMESTAMP(3) *ROWTIME*,",
        "  WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts`",
    ]


def test_structured_objects_are_refused():
    with pytest.raises(ValidationException, match="OBJECT_OF"):
        environment().from_elements([(1,)], ["a"]).select(object_of("com.example.User", "a", col("a")))


def test_operators_that_call_python_functions_say_so():
    t_env = environment()
    rows = t_env.from_elements([(1, "x")], ["a", "b"])
    one = udf(lambda value: value, result_type=DataTypes.BIGINT(), name="one")
    assert "PythonCalc(select=[one(a) AS _c0])" in rows.select(one(col("a"))).explain()
    assert "PythonGroupAggregate(groupBy=[b], " in rows.group_by(col("b")).select(udaf(Last())(col("a"))).explain()
    assert "+- GroupAggregate(groupBy=[b], " in rows.group_by(col("b")).select(col("b"), col("a").sum).explain()


def test_plans_call_functions_of_the_program_by_their_names():
    """Flink shows a hash instead, as in `*org.apache.flink.table.functions.python.PythonAggregateFunction$bcd8...*`."""
    rows = environment().from_elements([(1, "x")], ["a", "b"])
    last, most = udaf(Last()), udaf(lambda values: values.max(), result_type=DataTypes.BIGINT(), func_type="pandas")
    own = udaf(Last(), name="own")
    both = udtaf(Both(), None, DataTypes.BIGINT(), DataTypes.ARRAY(DataTypes.BIGINT()))
    by_b = rows.group_by(col("b"))
    assert "select=[b, Last(a) AS " in by_b.select(last(col("a"))).explain()
    assert "select=[b, <lambda>(a) AS " in by_b.select(most(col("a"))).explain()
    assert "select=[b, own(a) AS " in by_b.aggregate(own(col("a")).alias("x")).select(col("x")).explain()
    assert "select=[b, Both(a) AS " in by_b.flat_aggregate(both(col("a")).alias("x")).select(col("x")).explain()


def test_plans_call_registered_functions_by_their_names():
    t_env = environment()
    t_env.create_temporary_view("t", t_env.from_elements([(1, "x")], ["a", "b"]))
    one = udf(lambda value: value, result_type=DataTypes.BIGINT(), name="one")
    t_env.create_temporary_system_function("AddOne", one)
    t_env.create_temporary_function("plain_one", one)
    t_env.create_temporary_function("last_one", udaf(Last()))
    assert "PythonCalc(select=[addone(a) AS x, plain_one(a) AS y])" in t_env.explain_sql(
        "SELECT AddOne(a) AS x, plain_one(a) AS y FROM t"
    )
    assert "last_one(a) AS EXPR$1" in t_env.explain_sql("SELECT b, last_one(a) AS n FROM t GROUP BY b")
    assert "select=[one(a) AS _c0]" in t_env.from_path("t").select(one(col("a"))).explain()


@pytest.mark.parametrize(
    ("connector", "option", "message"),
    [("nowhere", {}, "Could not find any factory"), ("datagen", {"nonsense": "1"}, "Unsupported options")],
)
def test_a_table_asks_its_connector_when_it_is_used(connector, option, message):
    schema = Schema.new_builder().column("f0", DataTypes.INT()).build()
    builder = TableDescriptor.for_connector(connector).schema(schema)
    for key, value in option.items():
        builder.option(key, value)
    t_env = environment()
    table = t_env.from_descriptor(builder.build())
    assert Schema.new_builder().from_resolved_schema(table.get_resolved_schema()).build() == schema
    t_env.create_temporary_table("t", builder.build())
    assert t_env.from_path("t").get_schema().get_field_names() == ["f0"]
    for use in (table.explain, lambda: table.select(col("f0")), lambda: t_env.sql_query("SELECT * FROM t")):
        with pytest.raises(ValidationException, match=message):
            use()


def test_map_takes_a_function_that_returns_a_single_value():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    doubled = t_env.from_elements([(1, "a"), (2, "b")], ["n", "s"]).map(
        udf(lambda row: row.n * 2, result_type=DataTypes.BIGINT())
    )
    assert doubled.get_schema().get_field_names() == ["f0"]
    t_env.to_data_stream(doubled).collect_async()
    assert sorted(row.f0 for row in run_local(env).elements) == [2, 4]


def test_options_of_a_descriptor_are_printed_in_the_order_of_java():
    file_format = FormatDescriptor.for_format("test-format").option("a", "false").build()
    made = TableDescriptor.for_connector("test-connector").option("a", "true").format(file_format).build()
    keys = [line.split("'")[1] for line in str(made).splitlines() if "=" in line]
    assert keys == ["a", "connector", "test-format.a", "format"]
