"""Programs of PyFlink 1 with tables, on today's API."""

from __future__ import annotations

import datetime
import logging
import subprocess
import sys
import textwrap
from datetime import timedelta

import pytest

from firesteel.common import Configuration
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.typeinfo import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.pyflink1.dataset import ExecutionEnvironment
from firesteel.pyflink1.modules import REMOVED_MODULES
from firesteel.pyflink1.tables.csv_sink import CsvTableSink, WriteMode
from firesteel.pyflink1.tables.csv_source import CsvTableSource
from firesteel.pyflink1.tables.descriptors.formats import OldCsv
from firesteel.pyflink1.tables.environments import BatchTableEnvironment
from firesteel.pyflink1.tables.names import TABLE_NAMES
from firesteel.table import (
    DataTypes,
    EnvironmentSettings,
    StreamTableEnvironment,
    TableConfig,
    TableEnvironment,
    TableSchema,
)
from firesteel.table import udf as functions
from firesteel.table.catalog import CatalogBaseTable, CatalogFunction
from firesteel.table.expressions import CURRENT_ROW, UNBOUNDED_RANGE, col, lit, row_interval
from firesteel.table.table_parts import group_window_of, over_window_of
from firesteel.table.window import Over, Session, Slide, Tumble
from firesteel.testing import run_local

ROWS = [(1, "a", 10), (2, "b", 20), (3, "a", 30)]


@pytest.fixture
def env():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


@pytest.fixture
def t_env(env, old_names):
    return StreamTableEnvironment.create(env, environment_settings=EnvironmentSettings.in_batch_mode())


@pytest.fixture
def rows(t_env):
    return t_env.from_elements(ROWS, ["id", "name", "amount"])


def result(env, t_env, table):
    t_env.to_data_stream(table).collect_async()
    return [tuple(row) for row in run_local(env, default_parallelism=1).elements]


def lines(path):
    """Return the lines of a file, or of the files of a directory."""
    files = [path] if path.is_file() else path.rglob("part-*")
    return sorted(line for file in files for line in file.read_text().splitlines())


def program(text, *arguments):
    code = "from firesteel.compat import alias_pyflink; alias_pyflink()\n" + textwrap.dedent(text)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- names ---------------------------------------------------------------------------------------------------------


def test_every_name_says_what_takes_its_place():
    assert all(one.instead for one in TABLE_NAMES)


def test_no_name_is_there_twice():
    places = [(place, one.name) for one in TABLE_NAMES for place in one.places]
    assert sorted(set(places)) == sorted(places)


@pytest.mark.slow
def test_the_names_come_with_the_import_of_tables():
    done = program(
        f"""
        import importlib, inspect, pyflink.datastream
        from firesteel.table import Table
        assert not hasattr(Table.select, "__wrapped__")
        import pyflink.table
        assert hasattr(Table.select, "__wrapped__")
        from firesteel.pyflink1.names import owner_of
        from firesteel.pyflink1.tables.names import TABLE_NAMES
        for one in TABLE_NAMES:
            for place in one.places:
                assert inspect.getattr_static(owner_of(place), one.name) is one.value, (place, one.name)
        for module, ours in {REMOVED_MODULES!r}.items():
            assert importlib.import_module("pyflink." + module) is importlib.import_module(ours)
        from pyflink.table import BatchTableEnvironment, CsvTableSink, CsvTableSource, WriteMode
        from pyflink.table.udf import ACC, T
        from pyflink.table.descriptors import Avro, Csv, Elasticsearch, FileSystem, Json, Kafka, OldCsv, Rowtime, Schema
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_program_of_pyflink_1_9_runs(tmp_path):
    (tmp_path / "in.csv").write_text("1,a,10\n2,b,20\n3,a,30\n")
    done = program(
        """
        import sys
        from pyflink.dataset import ExecutionEnvironment
        from pyflink.datastream import StreamExecutionEnvironment
        from pyflink.table import BatchTableEnvironment, CsvTableSink, CsvTableSource, DataTypes
        from firesteel.testing import run_local
        StreamExecutionEnvironment.execute = lambda env, name: run_local(env, default_parallelism=1)
        b_env = ExecutionEnvironment.get_execution_environment()
        b_env.set_parallelism(1)
        t_env = BatchTableEnvironment.create(b_env)
        types = [DataTypes.INT(), DataTypes.STRING(), DataTypes.INT()]
        t_env.register_table_source("orders", CsvTableSource(sys.argv[1], ["id", "name", "amount"], types))
        sink = CsvTableSink(["name", "total"], [DataTypes.STRING(), DataTypes.INT()], sys.argv[2])
        t_env.register_table_sink("totals", sink)
        t_env.scan("orders").group_by("name").select("name, amount.sum as total").insert_into("totals")
        t_env.execute("totals")
        """,
        tmp_path / "in.csv",
        tmp_path / "out",
    )
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path / "out") == ["a,40", "b,20"]
    assert "CsvTableSource is from PyFlink 1 and was removed; use TableDescriptor.for_connector" in done.stderr


@pytest.mark.slow
def test_a_program_with_changed_imports_adds_the_names_itself():
    code = """
        from firesteel.pyflink1.tables.names import add_table_names
        add_table_names()
        from firesteel.pyflink1.dataset import ExecutionEnvironment
        from firesteel.table import BatchTableEnvironment
        from firesteel.table.descriptors import Kafka
        t_env = BatchTableEnvironment.create(ExecutionEnvironment.get_execution_environment())
        print(t_env.from_elements([(1, 2)], ["a", "b"]).select("a + b as c").get_schema().get_field_names())
        """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "['c']\n", done.stderr


def test_a_replacement_is_suggested_once_per_name(rows, caplog):
    with caplog.at_level(logging.WARNING):
        rows.select("id").select("id")
    assert [record.getMessage() for record in caplog.records] == [
        "an expression as text is from PyFlink 1 and was removed; use col('name') and operators of expressions"
    ]


# --- settings and environments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("planner", ["use_blink_planner", "use_old_planner", "use_any_planner"])
def test_every_planner_is_the_same(old_names, planner):
    settings = getattr(EnvironmentSettings.new_instance(), planner)().in_batch_mode().build()
    assert not settings.is_streaming_mode()
    assert isinstance(TableEnvironment.create(settings), TableEnvironment)


def test_settings_are_made_of_a_configuration_and_become_one(old_names):
    configuration = Configuration.from_dict({"execution.runtime-mode": "BATCH"})
    settings = EnvironmentSettings.from_configuration(configuration)
    assert settings.to_configuration().to_dict() == {"execution.runtime-mode": "BATCH"}


def test_a_table_config_is_shared_with_the_environment(env, old_names):
    config = TableConfig()
    config.set_built_in_catalog_name("shop")
    config.set_built_in_database_name("orders")
    config.set_idle_state_retention_time(timedelta(hours=1), timedelta(hours=2))
    t_env = StreamTableEnvironment.create(env, config)
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("shop", "orders")
    assert t_env.get_config().get("table.exec.state.ttl", "") == "3600000 ms"
    config.set("table.exec.state.ttl", "1 s")
    assert t_env.get_config().get_min_idle_state_retention_time() == 1000
    assert t_env.get_config().get_max_idle_state_retention_time() == 1500


def test_a_table_config_and_settings_exclude_each_other(env, old_names):
    with pytest.raises(ValueError, match="cannot be used at the same time"):
        StreamTableEnvironment.create(env, TableConfig(), EnvironmentSettings.in_batch_mode())


@pytest.mark.parametrize(
    "arguments", [(), (None, EnvironmentSettings.in_streaming_mode()), (EnvironmentSettings.in_streaming_mode(),)]
)
def test_the_arguments_of_pyflink_2_still_create_an_environment(env, old_names, arguments):
    first = (env,) if len(arguments) != 2 else ()
    assert isinstance(StreamTableEnvironment.create(*first, *arguments), StreamTableEnvironment)


def test_a_batch_table_environment_is_in_batch_mode(old_names):
    env = ExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    t_env = BatchTableEnvironment.create(env)
    assert isinstance(t_env, BatchTableEnvironment)
    assert t_env.get_config().get("execution.runtime-mode", "") == "BATCH"
    assert (env.get_parallelism(), env.stream_environment.get_parallelism()) == (3, 3)
    with pytest.raises(ValueError, match="must be set to batch mode"):
        BatchTableEnvironment.create(environment_settings=EnvironmentSettings.in_streaming_mode())


def test_one_table_config_serves_a_streaming_and_a_batch_environment(env, old_names):
    config = TableConfig()
    streaming = StreamTableEnvironment.create(env, config)
    batch = BatchTableEnvironment.create(ExecutionEnvironment.get_execution_environment(), config)
    modes = [one.get_config().get("execution.runtime-mode", "STREAMING") for one in (streaming, batch)]
    assert modes == ["STREAMING", "BATCH"]


def test_null_checks_are_not_switched_off(old_names):
    config = TableConfig()
    config.set_null_check(True)
    assert config.get_null_check() is True
    with pytest.raises(NotImplementedError, match="NULL is always checked"):
        config.set_null_check(False)


def test_state_is_kept_for_a_minimum_below_the_maximum(old_names):
    with pytest.raises(ValueError, match="at least 5 minutes"):
        TableConfig().set_idle_state_retention_time(timedelta(hours=1), timedelta(hours=1))


def test_the_time_zone_has_another_name(old_names):
    config = TableConfig()
    config.set_timezone("Asia/Tokyo")
    assert (config.get_timezone(), config.get_local_timezone()) == ("Asia/Tokyo", "Asia/Tokyo")


# --- registrations -------------------------------------------------------------------------------------------------


def test_functions_and_tables_are_registered(env, t_env, rows):
    t_env.register_function("twice", functions.udf(lambda n: n * 2, [DataTypes.BIGINT()], DataTypes.BIGINT()))
    t_env.register_table("some.orders", rows)
    found = t_env.scan("some.orders").where("name == 'a'").select("twice(amount) as amount")
    assert result(env, t_env, found) == [(20,), (60,)]


def test_java_functions_are_refused(t_env):
    with pytest.raises(NotImplementedError, match="write Twice in Python"):
        t_env.register_java_function("twice", "Twice")


def test_a_table_is_found_by_the_components_of_its_path(t_env, rows):
    t_env.create_temporary_view("orders", rows)
    assert t_env.scan("default_catalog", "default_database", "orders").get_schema() == rows.get_schema()


def test_a_source_is_a_table(env, t_env, tmp_path):
    (tmp_path / "in.csv").write_text("# orders\n1|'a'\nx|'b'\n2|'c'\n")
    types = [DataTypes.INT(), DataTypes.STRING()]
    source = CsvTableSource(str(tmp_path / "in.csv"), ["id", "name"], types, "|", "\n", "'", False, "#", True)
    assert result(env, t_env, t_env.from_table_source(source)) == [(1, "a"), (None, "b"), (2, "c")]


def test_a_header_is_left_out_of_each_file(env, t_env, tmp_path):
    (tmp_path / "in").mkdir()
    for name, line in (("a.csv", "1"), ("b.csv", "2")):
        (tmp_path / "in" / name).write_text(f"id\n{line}\n")
    source = CsvTableSource(str(tmp_path / "in"), ["id"], [DataTypes.INT()], ignore_first_line=True)
    assert sorted(result(env, t_env, t_env.from_table_source(source))) == [(1,), (2,)]
    assert OldCsv().ignore_first_line().to_properties()["format.ignore-first-line"] == "true"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"line_delim": ";"}, "line delimiter ';'"),
        ({"ignore_comments": "//"}, "comment prefix '//'"),
    ],
)
def test_options_that_csv_does_not_have_are_refused(options, found):
    with pytest.raises(NotImplementedError, match=found):
        CsvTableSource("in.csv", ["id"], [DataTypes.INT()], **options)


def test_objects_of_catalogs_have_methods_of_other_names(old_names):
    schema = TableSchema(["id"], [DataTypes.INT()])
    table = CatalogBaseTable.create_table(schema, [], {"connector": "datagen"}, "numbers")
    assert table.get_properties() == table.get_options()
    assert table.get_schema() == schema
    assert CatalogFunction.create_instance("module.f").is_generic()


# --- inserts -------------------------------------------------------------------------------------------------------


def test_inserts_wait_for_execute(t_env, rows, runs_locally, tmp_path):
    for name in ("x", "y", "z"):
        types = [DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.BIGINT()]
        t_env.register_table_sink(name, CsvTableSink(["id", "name", "amount"], types, str(tmp_path / name), "|"))
    t_env.register_table("orders", rows)
    rows.insert_into("x")
    t_env.insert_into("y", rows.where("id > 1"))
    t_env.sql_update("INSERT INTO z SELECT * FROM orders WHERE id > 2")
    assert all(path in t_env.explain() for path in ("[default_catalog.default_database.x]", "database.y]"))
    t_env.execute("copies")
    assert runs_locally == ["copies"]
    assert lines(tmp_path / "x") == ["1|a|10", "2|b|20", "3|a|30"]
    assert lines(tmp_path / "y") == ["2|b|20", "3|a|30"]
    assert lines(tmp_path / "z") == ["3|a|30"]
    assert t_env.explain(rows.select("id")).startswith("== Abstract Syntax Tree")
    assert "changelogMode" in t_env.explain(rows.select("id"), extended=True)


def test_a_path_in_components_is_one_path(t_env, rows):
    t_env.execute_sql("CREATE TABLE `my.sink` (id BIGINT) WITH ('connector' = 'blackhole')")
    pipeline = rows.select("id").insert_into("default_catalog", "default_database", "my.sink")
    assert pipeline.get_sink_identifier().get_object_name() == "my.sink"


def test_sql_update_executes_other_statements_immediately(t_env):
    t_env.sql_update("CREATE TABLE sink (id BIGINT) WITH ('connector' = 'blackhole')")
    assert t_env.list_tables() == ["sink"]


def test_existing_files_are_kept_or_overwritten(t_env, rows, runs_locally, tmp_path):
    def write(name, mode):
        sink = CsvTableSink(["id"], [DataTypes.BIGINT()], str(tmp_path / "out"), write_mode=mode)
        t_env.register_table_sink(name, sink)
        rows.select("id").insert_into(name)
        t_env.execute("copy")

    write("first", None)
    with pytest.raises(TableException, match="not overwritten in NO_OVERWRITE mode"):
        write("second", WriteMode.NO_OVERWRITE)
    write("third", WriteMode.OVERWRITE)
    assert lines(tmp_path / "out") == ["1", "2", "3"]


def test_tables_of_one_name_have_files_of_their_own(t_env, rows, runs_locally, tmp_path):
    def described(name):
        return f"('connector.type' = 'filesystem', 'connector.path' = '{tmp_path / name}', 'format.type' = 'csv')"

    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql(f"CREATE TABLE sink (id BIGINT) WITH {described('here')}")
    t_env.execute_sql(f"CREATE TABLE other.sink (id BIGINT) WITH {described('there')}")
    (tmp_path / "there").write_text("old")
    rows.select("id").insert_into("sink")
    with pytest.raises(TableException, match="there' exists already"):
        rows.select("id").insert_into("other.sink")
    t_env.execute("copy")
    assert lines(tmp_path / "here") == ["1", "2", "3"]
    t_env.execute_sql("DROP TABLE sink")
    t_env.execute_sql("CREATE TABLE sink (id BIGINT) WITH ('connector' = 'blackhole')")
    rows.select("id").insert_into("sink")


def test_files_stay_if_an_insert_is_refused(t_env, rows, runs_locally, tmp_path):
    (tmp_path / "out").write_text("old")
    sink = CsvTableSink(["id"], [DataTypes.BIGINT()], str(tmp_path / "out"), write_mode=WriteMode.OVERWRITE)
    t_env.register_table_sink("sink", sink)
    rows.select("id").insert_into("sink")
    t_env.execute_sql("CREATE TABLE refused (id BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv')")
    rows.select("id").insert_into("refused")
    with pytest.raises(TableException):
        t_env.execute("copy")
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize(("parallelism", "num_files", "is_file"), [(1, -1, True), (2, -1, False), (2, 1, True)])
def test_one_subtask_writes_one_file(env, t_env, rows, runs_locally, tmp_path, parallelism, num_files, is_file):
    env.set_parallelism(parallelism)
    for mode in (WriteMode.NO_OVERWRITE, WriteMode.OVERWRITE):
        sink = CsvTableSink(["id"], [DataTypes.BIGINT()], str(tmp_path / "out"), ",", num_files, mode)
        t_env.register_table_sink(f"sink{mode}", sink)
        rows.select("id").insert_into(f"sink{mode}")
        t_env.execute("copy")
        assert (tmp_path / "out").is_file() == is_file
        assert lines(tmp_path / "out") == ["1", "2", "3"]


def test_files_are_not_overwritten_in_streaming_mode(env, old_names, tmp_path):
    t_env = StreamTableEnvironment.create(env)
    sink = CsvTableSink(["id"], [DataTypes.BIGINT()], str(tmp_path), write_mode=WriteMode.OVERWRITE)
    with pytest.raises(NotImplementedError, match="needs batch mode"):
        t_env.register_table_sink("sink", sink)


def test_a_sink_of_pyflink_1_9_gets_its_columns_when_it_is_registered(t_env, tmp_path):
    sink = CsvTableSink([], [], str(tmp_path / "out"), num_files=2)
    t_env.register_table_sink("sink", ["id"], [DataTypes.BIGINT()], sink)
    assert t_env.from_path("sink").get_schema().get_field_names() == ["id"]
    assert sink.descriptor.get_options()["sink.parallelism"] == "2"


# --- functions and expressions -----------------------------------------------------------------------------------


def test_the_type_of_a_function_has_another_name(old_names):
    made = functions.udf(lambda n: n + 1, [DataTypes.BIGINT()], DataTypes.BIGINT(), udf_type="pandas")
    assert made.func_type == "pandas"

    @functions.udf(input_types=[DataTypes.BIGINT()], result_type=DataTypes.BIGINT(), udf_type="general")
    def add_one(n):
        return n + 1

    assert add_one.func_type == "general"


def test_methods_of_tables_take_texts(env, t_env, rows):
    names = t_env.from_elements([("a", 1.5)], ["n", "rate"])
    found = (
        rows.alias("id, name, total")
        .add_columns("total + 1 as more")
        .add_or_replace_columns("concat(name, '!') as name2")
        .rename_columns("more as most")
        .drop_columns("name2")
        .join(names, "name = n")
        .filter("id < 3 && rate > 1.0")
        .select("id, name, most, rate")
        .order_by("id.desc")
    )
    assert result(env, t_env, found) == [(1, "a", 11, 1.5)]


def test_named_arguments_may_be_texts(env, t_env, rows):
    names = t_env.from_elements([("a",)], ["n"])
    found = rows.left_outer_join(names, join_predicate="name = n").where(predicate="n.isNull").select("id")
    assert result(env, t_env, found) == [(2,)]


def test_a_name_of_a_column_is_that_column(t_env):
    table = t_env.from_elements([(1, 2)], ["a b", "c"])
    assert table.select("a b").get_schema().get_field_names() == ["a b"]


def test_a_table_is_the_argument_of_in(env, t_env, rows):
    t_env.register_table("names", t_env.from_elements([("b",)], ["n"]))
    found = rows.where("name.in(names)").union_all(rows.where(f"name.in({t_env.from_path('names')})"))
    assert result(env, t_env, found.select("id")) == [(2,), (2,)]


def test_the_rows_of_a_table_function_are_joined(env, t_env, rows):
    def letters(name, amount):
        yield name, amount

    types = [DataTypes.STRING(), DataTypes.BIGINT()]
    t_env.register_function("letters", functions.udtf(letters, [types[0], types[1]], types))
    found = rows.join_lateral("letters(name, amount) as (letter, number)").select("id, letter, number")
    assert sorted(result(env, t_env, found)) == [(1, "a", 10), (2, "b", 20), (3, "a", 30)]


def test_windows_take_texts(env, t_env):
    stamps = [(datetime.datetime(2020, 1, 1, 0, minute), minute) for minute in (1, 4, 12)]
    kind = DataTypes.ROW([DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)), DataTypes.FIELD("n", DataTypes.INT())])
    table = t_env.from_elements(stamps, kind)
    window = Tumble.over("10.minutes").on("ts").alias("w")
    found = table.window(window).group_by("w").select("w.start as since, n.sum as total")
    assert sorted(result(env, t_env, found)) == [
        (datetime.datetime(2020, 1, 1, 0, 0), 5),
        (datetime.datetime(2020, 1, 1, 0, 10), 12),
    ]


@pytest.mark.parametrize(
    ("old", "today"),
    [
        (
            lambda: Slide.over("10.minutes").every("5.minutes").on("ts"),
            lambda: Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("ts")),
        ),
        (
            lambda: Session.with_gap("10.minutes").on("ts"),
            lambda: Session.with_gap(lit(10).minutes).on(col("ts")),
        ),
    ],
)
def test_windows_of_groups_take_texts(old_names, old, today):
    assert group_window_of(old().alias("w")) == group_window_of(today().alias("w"))


@pytest.mark.parametrize(
    ("old", "today"),
    [
        (
            lambda: Over.partition_by("a, b").order_by("ts").preceding("2.rows").following("current_row"),
            lambda: (
                Over.partition_by(col("a"), col("b"))
                .order_by(col("ts"))
                .preceding(row_interval(2))
                .following(CURRENT_ROW)
            ),
        ),
        (
            lambda: Over.order_by("ts").preceding("unbounded_range"),
            lambda: Over.order_by(col("ts")).preceding(UNBOUNDED_RANGE),
        ),
    ],
)
def test_windows_around_rows_take_texts(old_names, old, today):
    assert _same_ints(over_window_of(old().alias("w"))) == _same_ints(over_window_of(today().alias("w")))


def _same_ints(window):
    return repr(window).replace(", type=DataTypes.INT(False)", "")


def test_columns_of_a_stream_may_be_a_text(env, t_env):
    stream = env.from_collection([(1, "a")], Types.ROW([Types.INT(), Types.STRING()]))
    table = t_env.from_data_stream(stream, "id, name")
    assert table.get_schema().get_field_names() == ["id", "name"]


def test_errors_in_texts_show_where(rows):
    with pytest.raises(ValidationException, match="at column 9: name expected at 'end of expression'"):
        rows.where("name == ")
