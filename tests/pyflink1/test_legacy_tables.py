"""Tables that are described by properties of Flink up to 1.10, in DDL and by `connect()`."""

from __future__ import annotations

import datetime
import inspect
import re

import pytest

from firesteel.common.table_errors import ValidationException
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.pyflink1.tables.descriptors.connect import BatchTableDescriptor, StreamTableDescriptor
from firesteel.pyflink1.tables.descriptors.connectors import CustomConnectorDescriptor, Elasticsearch, FileSystem, Kafka
from firesteel.pyflink1.tables.descriptors.formats import Avro, Csv, Json, OldCsv
from firesteel.pyflink1.tables.legacy_options import today_options
from firesteel.pyflink1.tables.legacy_rules import CONNECTORS, FORMATS
from firesteel.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, TableEnvironment, TableSchema
from firesteel.table.descriptors import Rowtime, Schema
from firesteel.testing import run_local

TIMED = Rowtime().timestamps_from_field("a").watermarks_periodic_ascending()
SERVERS = {"connector.properties.bootstrap.servers": "host:9092"}
KAFKA = {"connector.type": "kafka", "connector.version": "universal", "connector.topic": "t", **SERVERS}
TODAY = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "host:9092"}
RECORD = '{"time": "2020-01-01T00:00:01Z", "n": 1}'
FORMER_CSV = {
    "connector": "filesystem",
    "path": "/in",
    "format": "csv",
    "csv.ignore-additional-fields": "true",
}
JSON = {"format": "json", "json.timestamp-format.standard": "RFC-3339"}


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def t_env(env, old_names):
    return StreamTableEnvironment.create(env, environment_settings=EnvironmentSettings.in_batch_mode())


def result(env, t_env, table):
    t_env.to_data_stream(table).collect_async()
    return [tuple(row) for row in run_local(env, default_parallelism=1).elements]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (KAFKA, TODAY),
        (
            KAFKA | {"connector.startup-mode": "earliest-offset", "update-mode": "append"},
            TODAY | {"scan.startup.mode": "earliest-offset"},
        ),
        (
            {
                "connector.type": "kafka",
                "connector.topic": "t",
                "connector.properties.0.key": "bootstrap.servers",
                "connector.properties.0.value": "host:9092",
                "connector.specific-offsets.0.partition": "0",
                "connector.specific-offsets.0.offset": "42",
                "connector.specific-offsets.1.partition": "1",
                "connector.specific-offsets.1.offset": "7",
            },
            TODAY | {"scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:7"},
        ),
        (
            KAFKA | {"format.type": "json", "format.derive-schema": "true", "format.fail-on-missing-field": "true"},
            TODAY | JSON | {"json.fail-on-missing-field": "true"},
        ),
        (
            KAFKA | {"format.type": "csv", "format.field-delimiter": "|", "format.property-version": "1"},
            TODAY | {"format": "csv", "csv.field-delimiter": "|"},
        ),
        (
            {"connector.type": "filesystem", "connector.path": "/in", "format.type": "csv"},
            FORMER_CSV | {"csv.disable-quote-character": "true"},
        ),
        (
            {
                "connector.type": "filesystem",
                "connector.path": "/in",
                "format.type": "csv",
                "format.quote-character": '"',
                "format.comment-prefix": "#",
                "format.fields.0.name": "a",
                "format.fields.0.type": "INT",
            },
            FORMER_CSV | {"csv.quote-character": '"', "csv.allow-comments": "true"},
        ),
        (
            {
                "connector.type": "elasticsearch",
                "connector.version": "7",
                "connector.hosts.0.hostname": "host",
                "connector.hosts.0.port": "9200",
                "connector.hosts.0.protocol": "http",
                "connector.index": "i",
                "connector.document-type": "d",
                "connector.bulk-flush.interval": "5000",
                "connector.key-null-literal": "null",
                "update-mode": "upsert",
            },
            {
                "connector": "elasticsearch-7",
                "hosts": "http://host:9200",
                "index": "i",
                "sink.bulk-flush.interval": "5000 ms",
            },
        ),
        (
            {
                "connector.type": "jdbc",
                "connector.url": "jdbc:sqlite:x",
                "connector.table": "t",
                "connector.write.flush.max-rows": "1",
            },
            {"connector": "jdbc", "url": "jdbc:sqlite:x", "table-name": "t", "sink.buffer-flush.max-rows": "1"},
        ),
    ],
)
def test_properties_are_todays_options(properties, expected):
    assert today_options(properties) == expected


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"connector.type": "hbase"}, "'connector.type' = 'hbase' has no translation"),
        (KAFKA | {"connector.properties.0.key": "k"}, "an entry of 'connector.properties' has no 'value'"),
        (KAFKA | {"connector.unknown": "x"}, "'connector.unknown' has no translation for the connector 'kafka'"),
        (KAFKA | {"update-mode": "retract"}, "'update-mode' = 'retract' is not supported; the only values are append"),
        (
            KAFKA | {"format.type": "protobuf"},
            "'format.type' = 'protobuf' has no translation; known are avro",
        ),
        (KAFKA | {"format.null-literal": "n"}, "'format.null-literal' has no translation"),
        (KAFKA | {"schema.0.name": "a"}, "'schema.0.name' has no translation"),
    ],
)
def test_properties_without_a_rule_are_refused_by_name(properties, message):
    with pytest.raises(ValidationException) as found:
        today_options(properties)
    assert message in str(found.value)


def test_the_only_comments_begin_with_a_hash():
    with pytest.raises(NotImplementedError, match="knows only '#'"):
        today_options(KAFKA | {"format.type": "csv", "format.comment-prefix": "//"})


def test_rules_name_each_property_of_their_connector_or_format():
    for _, rules in CONNECTORS.values():
        assert all(key.startswith(("connector.", "format.", "update-mode")) for key in rules)
    assert all(key.startswith("format.") for rules in FORMATS.values() for key in rules)


def test_ddl_takes_properties_of_flink_1(env, t_env, tmp_path):
    (tmp_path / "in.csv").write_text("1,'a'\n2,b\n")
    for execute, name in ((t_env.execute_sql, "x"), (t_env.sql_update, "y")):
        execute(
            f"CREATE TABLE {name} (id INT, name STRING) WITH ('connector.type' = 'filesystem', "
            f"'connector.path' = '{tmp_path}', 'format.type' = 'csv', 'format.derive-schema' = 'true')"
        )
    found = t_env.from_path("x").union_all(t_env.from_path("y")).order_by("id")
    assert result(env, t_env, found) == [(1, "'a'"), (1, "'a'"), (2, "b"), (2, "b")]


def test_ddl_with_a_property_that_has_no_rule_is_refused(t_env):
    with pytest.raises(ValidationException, match=r"'connector\.nothing' has no translation"):
        t_env.execute_sql("CREATE TABLE x (id INT) WITH ('connector.type' = 'filesystem', 'connector.nothing' = '1')")


# --- connect() -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        (
            Kafka().version("0.11").topic("t").start_from_earliest().property("bootstrap.servers", "host:9092"),
            TODAY | {"scan.startup.mode": "earliest-offset"},
        ),
        (
            Kafka().topic("t").properties({"bootstrap.servers": "host:9092"}).start_from_latest(),
            TODAY | {"scan.startup.mode": "latest-offset"},
        ),
        (
            Kafka().topic("t").property("bootstrap.servers", "host:9092").start_from_timestamp(7),
            TODAY | {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "7"},
        ),
        (
            Kafka().topic("t").property("bootstrap.servers", "host:9092").start_from_group_offsets(),
            TODAY | {"scan.startup.mode": "group-offsets"},
        ),
        (
            Kafka().topic("t").property("bootstrap.servers", "host:9092").start_from_specific_offset(1, 5),
            TODAY | {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:1,offset:5"},
        ),
        (
            Kafka().topic("t").property("bootstrap.servers", "host:9092").sink_partitioner_round_robin(),
            TODAY | {"sink.partitioner": "round-robin"},
        ),
        (FileSystem().path("/in"), {"connector": "filesystem", "path": "/in"}),
        (
            CustomConnectorDescriptor("jdbc", 1, False).property("connector.url", "u").property("connector.table", "t"),
            {"connector": "jdbc", "url": "u", "table-name": "t"},
        ),
        (
            Elasticsearch()
            .version("6")
            .host("a", 1, "http")
            .host("b", 2, "http")
            .index("i")
            .document_type("d")
            .key_delimiter("_")
            .key_null_literal("null")
            .failure_handler_ignore()
            .disable_flush_on_checkpoint()
            .bulk_flush_max_actions(2)
            .bulk_flush_max_size("1 mb")
            .bulk_flush_interval(5000)
            .bulk_flush_backoff_exponential()
            .bulk_flush_backoff_max_retries(3)
            .bulk_flush_backoff_delay(10),
            {
                "connector": "elasticsearch-6",
                "hosts": "http://a:1;http://b:2",
                "index": "i",
                "document-type": "d",
                "document-id.key-delimiter": "_",
                "failure-handler": "ignore",
                "sink.flush-on-checkpoint": "false",
                "sink.bulk-flush.max-actions": "2",
                "sink.bulk-flush.max-size": "1 mb",
                "sink.bulk-flush.interval": "5000 ms",
                "sink.bulk-flush.backoff.strategy": "exponential",
                "sink.bulk-flush.backoff.max-retries": "3",
                "sink.bulk-flush.backoff.delay": "10 ms",
            },
        ),
    ],
)
def test_a_connector_is_todays_options(descriptor, expected):
    assert today_options(descriptor.to_properties()) == expected


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        (Json().fail_on_missing_field(True).derive_schema(), JSON | {"json.fail-on-missing-field": "true"}),
        (Json("{}", "ROW<a INT>", True).ignore_parse_errors(False), JSON | {"json.ignore-parse-errors": "false"}),
        (
            Csv("ROW<a INT>").field_delimiter(";").line_delimiter("\n").allow_comments().null_literal("n"),
            {"format": "csv", "csv.field-delimiter": ";", "csv.allow-comments": "true", "csv.null-literal": "n"},
        ),
        (
            Csv().quote_character("'").ignore_parse_errors().array_element_delimiter("|").escape_character("\\"),
            {
                "format": "csv",
                "csv.quote-character": "'",
                "csv.ignore-parse-errors": "true",
                "csv.array-element-delimiter": "|",
                "csv.escape-character": "\\",
            },
        ),
        (Csv().disable_quote_character(), {"format": "csv", "csv.disable-quote-character": "true"}),
        (
            OldCsv(TableSchema(["a"], [DataTypes.INT()]), {"b": "INT"}).field_delimiter("|").comment_prefix("#"),
            {"format": "csv", "csv.field-delimiter": "|", "csv.allow-comments": "true"},
        ),
        (
            OldCsv().fields({"a": "INT"}).quote_character("'").ignore_parse_errors().line_delimiter("\n"),
            {"format": "csv", "csv.quote-character": "'", "csv.ignore-parse-errors": "true"},
        ),
        (Avro(avro_schema="{}"), {"format": "avro"}),
    ],
)
def test_a_format_is_todays_options(descriptor, expected):
    assert today_options(KAFKA | descriptor.to_properties()) == TODAY | expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Kafka().sink_partitioner_custom("org.P"), "use sink_partitioner_round_robin"),
        (lambda: Elasticsearch().failure_handler_custom("org.H"), "use failure_handler_fail"),
        (lambda: Avro("org.Record"), "use avro_schema"),
    ],
)
def test_java_classes_are_refused(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_a_table_of_files_is_written_and_read(env, t_env, runs_locally, tmp_path):
    def described(t_env):
        schema = Schema().field("id", DataTypes.BIGINT()).field("name", "STRING")
        schema.field("now", "TIMESTAMP(3)").proctime()
        return t_env.connect(FileSystem().path(str(tmp_path / "out"))).with_format(OldCsv()).with_schema(schema)

    env.set_parallelism(1)
    described(t_env).in_append_mode().register_table_sink("a sink")
    t_env.from_elements([(1, "a"), (2, '"b"')], ["id", "name"]).insert_into("`a sink`")
    t_env.execute("copy")
    assert (tmp_path / "out").read_text() == '1,a\n2,"b"\n'
    other = StreamExecutionEnvironment.get_execution_environment()
    reading = StreamTableEnvironment.create(other, environment_settings=EnvironmentSettings.in_batch_mode())
    described(reading).register_table_source_and_sink("both")
    assert result(other, reading, reading.scan("both").select("id, name")) == [(1, "a"), (2, '"b"')]
    assert reading.scan("both").get_schema().get_field_names() == ["id", "name", "now"]


@pytest.mark.parametrize(
    ("format", "record"),
    [
        (Json().schema("ROW<time STRING, n INT>"), '{"time": "2020-01-01T00:00:01Z", "n": 1}'),
        (
            Json("{properties: {time: {type: 'string', format: 'date-time'}}}"),
            '{"time": "2020-01-01T00:00:01Z", "n": 1}',
        ),
        (Json().derive_schema(), '{"time": "2020-01-01T00:00:01Z", "n": 1}'),
        (Json().schema("ROW<time BIGINT, n INT>"), '{"time": 1577836801000, "n": 1}'),
    ],
)
def test_a_rowtime_attribute_is_another_field_of_records(env, t_env, tmp_path, format, record):
    (tmp_path / "in.json").write_text(record + "\n")
    rowtime = Rowtime().timestamps_from_field("time").watermarks_periodic_bounded(1000)
    schema = Schema().field("rt", DataTypes.TIMESTAMP()).rowtime(rowtime).field("n", DataTypes.INT())
    table = t_env.connect(FileSystem().path(str(tmp_path))).with_format(format).with_schema(schema)
    table.in_append_mode().register_table_source("source")
    assert t_env.list_temporary_views() == ["source"]
    assert result(env, t_env, t_env.scan("source")) == [(datetime.datetime(2020, 1, 1, 0, 0, 1), 1)]


def test_timestamps_of_json_are_written_in_utc(t_env, runs_locally, tmp_path):
    t_env.execute_sql(
        "CREATE TABLE x (ts TIMESTAMP(3)) WITH ('connector.type' = 'filesystem', "
        f"'connector.path' = '{tmp_path}', 'format.type' = 'json')"
    )
    t_env.sql_update("INSERT INTO x VALUES (TIMESTAMP '2020-01-01 00:00:01.500')")
    t_env.execute("write")
    (file,) = tmp_path.rglob("part-*")
    assert file.read_text() == '{"ts":"2020-01-01T00:00:01.5Z"}\n'


def test_a_field_is_read_from_another_one(env, t_env, tmp_path):
    (tmp_path / "in.json").write_text('{"a": 1, "b": 2}\n')
    schema = Schema().field("x", DataTypes.INT()).from_origin_field("a").field("b", DataTypes.BIGINT())
    t_env.connect(FileSystem().path(str(tmp_path))).with_format(Json()).with_schema(schema).create_temporary_table("t")
    assert result(env, t_env, t_env.from_path("t")) == [(1, 2)]


def test_numbers_of_a_json_schema_keep_their_fractions(env, t_env, tmp_path):
    (tmp_path / "in.json").write_text('{"x": 1.5, "ms": 1577836801000}\n')
    format = Json("{properties: {x: {type: 'number'}, ms: {type: 'number'}}}")
    rowtime = Rowtime().timestamps_from_field("ms").watermarks_periodic_bounded(1000)
    schema = Schema().field("y", DataTypes.DOUBLE()).from_origin_field("x")
    schema.field("rt", DataTypes.TIMESTAMP()).rowtime(rowtime)
    t_env.connect(FileSystem().path(str(tmp_path))).with_format(format).with_schema(schema).create_temporary_table("t")
    assert result(env, t_env, t_env.from_path("t")) == [(1.5, datetime.datetime(2020, 1, 1, 0, 0, 1))]


@pytest.mark.parametrize(
    "call", [lambda schema: schema.from_origin_field("a"), Schema.proctime, lambda schema: schema.rowtime(TIMED)]
)
def test_a_setting_of_a_field_needs_one(call):
    with pytest.raises(ValidationException, match="No field previously defined"):
        call(Schema())


@pytest.mark.parametrize(
    "call",
    [
        lambda t_env: t_env.connect(None),
        lambda t_env: t_env.connect(FileSystem()).with_format(None),
        lambda t_env: t_env.connect(FileSystem()).with_schema(["a"]),
        lambda t_env: t_env.register_table_sink("sink", ["a"]),
        lambda t_env: t_env.register_table_source("source", ["a"]),
        lambda t_env: t_env.from_table_source("source"),
    ],
)
def test_objects_of_other_classes_are_refused(t_env, call):
    with pytest.raises(TypeError, match=r"\w+\(\) takes an? \w+; found "):
        call(t_env)


def test_a_rowtime_attribute_keeps_its_name_and_has_milliseconds(t_env):
    rowtime = Rowtime().timestamps_from_field("ts").watermarks_periodic_ascending()
    schema = Schema().field("ts", DataTypes.TIMESTAMP()).rowtime(rowtime)
    kafka = Kafka().topic("t").property("bootstrap.servers", "host:9092")
    t_env.connect(kafka).with_format(Json()).with_schema(schema).create_temporary_table("t")
    (mark,) = t_env.from_path("t").get_resolved_schema().get_watermark_specs()
    assert mark.get_rowtime_attribute() == "ts"
    assert "TIMESTAMP(3)" in str(t_env.from_path("t").get_schema())


def test_timestamps_of_the_source_are_metadata(t_env):
    rowtime = Rowtime().timestamps_from_source().watermarks_from_source()
    schema = Schema().field("rt", DataTypes.TIMESTAMP()).rowtime(rowtime).field("n", "INT")
    kafka = Kafka().topic("t").property("bootstrap.servers", "host:9092")
    t_env.connect(kafka).with_format(Json()).with_schema(schema).create_temporary_table("t")
    assert "`rt` TIMESTAMP_LTZ(3)" in str(t_env.from_path("t").get_resolved_schema())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema(), "call with_schema"),
        (
            Schema().field("a", "INT").rowtime(Rowtime().timestamps_from_field("a").watermarks_from_source()),
            "TIMESTAMP",
        ),
        (Schema().field("a", "TIMESTAMP(3)").rowtime(Rowtime().timestamps_from_field("a")), "has no watermarks"),
    ],
)
def test_schemas_without_what_a_table_needs_are_refused(t_env, schema, message):
    table = t_env.connect(FileSystem().path("/in")).with_format(Csv()).with_schema(schema)
    with pytest.raises(ValidationException, match=message):
        table.create_temporary_table("t")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (EnvironmentSettings.in_batch_mode(), BatchTableDescriptor),
        (EnvironmentSettings.in_streaming_mode(), StreamTableDescriptor),
    ],
)
def test_the_description_of_a_table_depends_on_the_mode(old_names, settings, expected):
    assert isinstance(TableEnvironment.create(settings).connect(FileSystem()), expected)


def test_properties_are_those_of_flink():
    assert Kafka().version("0.11").property("k", "v").to_properties() == {
        "connector.type": "kafka",
        "connector.property-version": "1",
        "connector.version": "0.11",
        "connector.properties.k": "v",
    }
    assert Json().fail_on_missing_field(True).to_properties() == {
        "format.type": "json",
        "format.property-version": "1",
        "format.fail-on-missing-field": "true",
    }


def test_a_mode_that_a_connector_does_not_have_is_refused(t_env):
    schema = Schema().field("a", "INT")
    table = t_env.connect(FileSystem().path("/in")).with_format(Csv()).with_schema(schema)
    with pytest.raises(ValidationException, match="'update-mode' = 'upsert' is not supported"):
        table.in_upsert_mode().create_temporary_table("t")
    with pytest.raises(ValidationException, match="'update-mode' = 'retract' is not supported"):
        table.in_retract_mode().create_temporary_table("t")
    assert table.to_properties()["update-mode"] == "retract"


OTHER_NAMES = {
    "start_from_specific_offsets_dict": "start_from_specific_offsets",
    "custom_partitioner_class_name": "sink_partitioner_custom",
    "custom_failure_handler_class_name": "failure_handler_custom",
}
GIVEN = {"properties": {"k": "v"}, "start_from_specific_offsets_dict": {0: 1}, "schema": DataTypes.ROW([]),
         "fields": {"a": "INT"}, "field_delimiter": "|", "quote_character": "'"}  # fmt: skip


@pytest.mark.parametrize("cls", [Kafka, FileSystem, Elasticsearch, Json, Csv, OldCsv, Avro])
def test_each_argument_of_a_constructor_is_a_call(old_names, cls):
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in ("hostname", "port", "protocol"):
            continue
        is_flag = str(parameter.annotation).startswith("bool")
        method = getattr(cls(), OTHER_NAMES.get(name, name))
        schema = TableSchema(["a"], [DataTypes.INT()]) if cls is OldCsv else GIVEN["schema"]
        value = True if is_flag else schema if name == "schema" else GIVEN.get(name, "7")
        try:
            expected = (method() if is_flag else method(value)).to_properties()
        except NotImplementedError as error:
            with pytest.raises(NotImplementedError, match=re.escape(str(error))):
                cls(**{name: value})
            continue
        more = {"start_from_group_offsets": False} if cls is Kafka and name != "start_from_group_offsets" else {}
        found = cls(**{name: value, **more}).to_properties()
        assert found == (expected if name != "start_from_group_offsets" else cls().to_properties())


def test_hosts_and_starts_of_constructors_are_those_of_pyflink(old_names):
    found = Elasticsearch(hostname="h", port=9200, protocol="http").to_properties()
    assert found["connector.hosts"] == "http://h:9200"
    with pytest.raises(ValueError, match="needs a port and a protocol"):
        Elasticsearch(hostname="h")
    assert Kafka(start_from_earliest=True).to_properties()["connector.startup-mode"] == "group-offsets"
    earliest = Kafka(start_from_earliest=True, start_from_group_offsets=False).to_properties()
    assert earliest["connector.startup-mode"] == "earliest-offset"
