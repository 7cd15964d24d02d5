"""The formats `avro` and `avro-confluent`, checked against fastavro and the schemas that Flink documents."""

from __future__ import annotations

import datetime
import io
import json
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")

import fastavro

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.common.files.file_systems import LOCAL_FILES
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.table_options import Options
from firesteel.table.errors import ValidationException
from tests.kafka import schema_registry

UTC = datetime.UTC
LOCAL_TIMES = {"timestamp_mapping.legacy": "false"}


def format_of(name, columns, use="messages", **options):
    types = tuple(parse_type(text) for text in columns.values())
    found = make_format(name, Columns(tuple(columns), types), Options(options, name), use)
    return pickle.loads(pickle.dumps(found))


def batch_of(columns, *rows):
    kinds = [parse_type(text) for text in columns.values()]
    arrays = [to_arrow(list(values), kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    return ColumnBatch(tuple(arrays), len(rows))


def rows_of(batch):
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def schema_of(found):
    return json.loads(found.schema.json_schema)


def fields_of(found):
    return {field["name"]: field["type"] for field in schema_of(found)["fields"]}


# --- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT", "int"),
        ("SMALLINT", "int"),
        ("INT", "int"),
        ("BIGINT", "long"),
        ("FLOAT", "float"),
        ("DOUBLE", "double"),
        ("CHAR(3)", "string"),
        ("VARCHAR(3)", "string"),
        ("STRING", "string"),
        ("BINARY(3)", "bytes"),
        ("BYTES", "bytes"),
        ("DATE", {"type": "int", "logicalType": "date"}),
        ("TIME", {"type": "int", "logicalType": "time-millis"}),
        ("TIMESTAMP(3)", {"type": "long", "logicalType": "timestamp-millis"}),
        ("DECIMAL(10, 2)", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
        ("ARRAY<INT>", {"type": "array", "items": ["null", "int"]}),
        ("ARRAY<INT NOT NULL>", {"type": "array", "items": "int"}),
        ("MAP<STRING, BIGINT>", {"type": "map", "values": ["null", "long"]}),
        ("MULTISET<STRING>", {"type": "map", "values": ["null", "int"]}),
    ],
)
def test_types_become_those_of_flink(text, schema):
    assert fields_of(format_of("avro", {"f": text})) == {"f": ["null", schema]}
    assert fields_of(format_of("avro", {"f": f"{text} NOT NULL"})) == {"f": schema}


def test_records_are_named_by_their_fields():
    columns = {"id": "BIGINT NOT NULL", "r": "ROW<a INT, b ROW<c STRING> NOT NULL>", "rs": "ARRAY<ROW<d INT>>"}
    assert schema_of(format_of("avro", columns)) == {
        "type": "record",
        "name": "record",
        "namespace": "org.apache.flink.avro.generated",
        "fields": [
            {"name": "id", "type": "long"},
            {
                "name": "r",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "record_r",
                        "fields": [
                            {"name": "a", "type": ["null", "int"], "default": None},
                            {
                                "name": "b",
                                "type": {
                                    "type": "record",
                                    "name": "record_r_b",
                                    "fields": [{"name": "c", "type": ["null", "string"], "default": None}],
                                },
                            },
                        ],
                    },
                ],
                "default": None,
            },
            {
                "name": "rs",
                "type": [
                    "null",
                    {
                        "type": "array",
                        "items": [
                            "null",
                            {
                                "type": "record",
                                "name": "record_rs",
                                "fields": [{"name": "d", "type": ["null", "int"], "default": None}],
                            },
                        ],
                    },
                ],
                "default": None,
            },
        ],
    }


def test_timestamps_without_the_legacy_mapping():
    kinds = ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)")
    fields = fields_of(format_of("avro", {f"f{i}": f"{kind} NOT NULL" for i, kind in enumerate(kinds)}, **LOCAL_TIMES))
    assert list(fields.values()) == [
        {"type": "long", "logicalType": "local-timestamp-millis"},
        {"type": "long", "logicalType": "local-timestamp-micros"},
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
    ]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"t": "TIMESTAMP(9)"},
            "TIMESTAMP type with precision: 9, .* or equal to 6$",
        ),
        ({"t": "TIMESTAMP"}, r"precision: 6, .* to 3; .*'avro.timestamp_mapping.legacy' = 'false'"),
        ({"t": "TIME(6)"}, "does not support TIME type with precision: 6"),
        ({"t": "TIMESTAMP_LTZ(3)"}, r"TIMESTAMP_LTZ\(3\).*'avro.timestamp_mapping.legacy' = 'false'"),
        ({"m": "MAP<INT, INT>"}, "doesn't support non-string as key type of map. The key type is: INT"),
        ({"i": "INTERVAL DAY TO SECOND"}, "Unsupported to derive Schema for type: INTERVAL DAY"),
        ({"a b": "INT"}, "Illegal character in: a b"),
        ({"r": "ROW<`1a` INT>"}, "Illegal character in: 1a"),
    ],
)
def test_columns_that_avro_does_not_have_are_refused(columns, says):
    with pytest.raises(ValidationException, match=says):
        format_of("avro", columns)


# --- there and back --------------------------------------------------------------------------------------------------

ALL = {
    "id": "BIGINT NOT NULL",
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "s": "STRING",
    "b": "BYTES",
    "price": "DECIMAL(10, 2)",
    "day": "DATE",
    "time": "TIME(3)",
    "at": "TIMESTAMP(3)",
    "exact": "TIMESTAMP(6)",
    "r": "ROW<x INT, at TIMESTAMP(3), inner ROW<ys ARRAY<STRING>>>",
    "xs": "ARRAY<INT>",
    "rs": "ARRAY<ROW<n DECIMAL(5, 1)>>",
    "m": "MAP<STRING, ROW<day DATE>>",
    "ms": "MULTISET<STRING>",
}
FULL = (
    7,
    True,
    -3,
    0.5,
    1e300,
    "dé",
    b"\0\xff",
    Decimal("-12345678.90"),
    datetime.date(1969, 12, 31),
    datetime.time(23, 59, 59, 999000),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
    {"x": 1, "at": datetime.datetime(2024, 1, 1), "inner": {"ys": ["p", None]}},
    [1, None, -2],
    [{"n": Decimal("0.1")}, None],
    [("k", {"day": datetime.date(2024, 1, 1)}), ("l", None)],
    [("e", 2)],
)
EMPTY = (8, *[None] * (len(ALL) - 1))


@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_messages_there_and_back(encoding):
    found = format_of("avro", ALL, encoding=encoding, **LOCAL_TIMES)
    messages = found.encode(batch_of(ALL, FULL, EMPTY))
    assert rows_of(found.decode_messages([messages[0], None, messages[1]])) == [FULL, EMPTY]
    assert found.encode(batch_of(ALL, FULL).slice(0, 0)) == []
    assert rows_of(found.decode_messages([])) == []


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz"])
def test_files_there_and_back(tmp_path, codec):
    found = format_of("avro", ALL, "files", codec=codec, **LOCAL_TIMES)
    found.check_sink()
    with open(tmp_path / "a", "wb") as file:
        found.write_file(file, [batch_of(ALL, FULL), batch_of(ALL, EMPTY)])
    (batch,) = found.read_file(str(tmp_path / "a"), LOCAL_FILES)
    assert rows_of(batch) == [FULL, EMPTY]
    with open(tmp_path / "a", "rb") as file:
        reader = fastavro.reader(file)
        assert reader.codec == codec
        first, second = reader
    assert (first["id"], first["price"], first["m"]["l"], second["s"]) == (7, Decimal("-12345678.90"), None, None)
    assert first["exact"] == datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)


NESTED = {"r": "ROW<n BIGINT, xs ARRAY<ROW<at TIMESTAMP(6), s STRING>>, m MAP<STRING, DECIMAL(20, 3)>>"}
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.none() | st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))
TEXTS = st.text(max_size=3)
KEYS = st.text(min_size=1, max_size=3)  # fastavro can't write empty keys as JSON
DECIMALS = st.none() | st.integers(-(10**19), 10**19).map(lambda n: Decimal(n).scaleb(-3))
INNER = st.none() | st.fixed_dictionaries({"at": MOMENTS, "s": st.none() | TEXTS})
LISTS = st.none() | st.lists(INNER, max_size=2)
MAPS = st.none() | st.dictionaries(KEYS, DECIMALS, max_size=2)
ROWS = st.none() | st.fixed_dictionaries({"n": NUMBERS, "xs": LISTS, "m": MAPS})


@settings(max_examples=100)
@given(st.lists(ROWS, min_size=1, max_size=2), st.sampled_from(["binary", "json"]))
def test_nested_rows_there_and_back(values, encoding):
    found = format_of("avro", NESTED, encoding=encoding, **LOCAL_TIMES)
    batch = batch_of(NESTED, *[(value,) for value in values])
    again = found.decode_messages(found.encode(batch))
    assert again.columns == batch.columns


def test_instants_and_local_timestamps_there_and_back():
    columns = {"local": "TIMESTAMP(3)", "instant": "TIMESTAMP_LTZ(3)"}
    found = format_of("avro", columns, **LOCAL_TIMES)
    row = (datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 1, 1, 12, tzinfo=UTC))
    (message,) = found.encode(batch_of(columns, row))
    assert rows_of(found.decode_messages([message])) == [row]
    record = fastavro.schemaless_reader(io.BytesIO(message), schema_of(found), None)
    assert (record["local"], record["instant"]) == row


def test_json_is_that_of_avro():
    found = format_of("avro", {"a": "INT", "b": "STRING NOT NULL", "r": "ROW<x BYTES>"}, encoding="json")
    row = b'{"org.apache.flink.avro.generated.record_r": {"x": {"bytes": "\xc3\xbf"}}}'
    message = b'{"a": {"int": 1},\n "b": "x", "r": ' + row + b"}"
    assert rows_of(found.decode_messages([message, b'{"a":null,"b":"y","r":null}'])) == [
        (1, "x", {"x": b"\xff"}),
        (None, "y", None),
    ]
    again = found.encode(found.decode_messages([message]))
    assert [json.loads(one) for one in again] == [json.loads(message)]


def test_messages_of_other_writers_are_read_and_ours_by_other_readers():
    found = format_of("avro", {"id": "INT NOT NULL", "name": "STRING"})
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema_of(found), {"id": 1, "name": "x"})
    assert found.encode(found.decode_messages([buffer.getvalue()])) == [buffer.getvalue()] == [b"\2\2\2x"]


# --- files of other writers ------------------------------------------------------------------------------------------


def written(path, schema, *records):
    with open(path, "wb") as file:
        fastavro.writer(
            file, {"type": "record", "name": "com.example.Order", "fields": schema}, records, codec="deflate"
        )
    return str(path)


def test_files_of_other_writers_are_read_by_name(tmp_path):
    decimal = {"logicalType": "decimal", "precision": 8, "scale": 1}
    address = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    fields = [
        {"name": "extra", "type": address},
        {"name": "small", "type": "int"},
        {"name": "home", "type": "Address"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "price", "type": {"type": "fixed", "name": "Price", "size": 5, **decimal}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "millis", "type": ["long", "null"]},
        {"name": "unscaled", "type": "bytes"},
        {"name": "days", "type": "int"},
    ]  # fmt: skip
    record = {
        "extra": {"city": "Rome"},
        "small": 1,
        "home": {"city": "Oslo"},
        "kind": "B",
        "key": "5ad6a7ef-7d2b-4f9c-9c3f-111111111111",
        "price": Decimal("2.5"),
        "at": datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, UTC),
        "millis": 1000,
        "unscaled": (-125).to_bytes(2, "big", signed=True),
        "days": 1,
    }
    path = written(tmp_path / "a.avro", fields, record)
    columns = {
        "absent": "ROW<x INT>",
        "days": "DATE",
        "unscaled": "DECIMAL(5, 2)",
        "millis": "TIMESTAMP(3)",
        "at": "TIMESTAMP(3)",
        "price": "DECIMAL(10, 2)",
        "key": "STRING",
        "kind": "STRING",
        "home": "ROW<city STRING, zip INT>",
        "small": "BIGINT NOT NULL",
    }
    (batch,) = format_of("avro", columns, "files").read_file(path, LOCAL_FILES)
    assert rows_of(batch) == [
        (
            None,
            datetime.date(1970, 1, 2),
            Decimal("-1.25"),
            datetime.datetime(1970, 1, 1, 0, 0, 1),
            datetime.datetime(2024, 1, 1, 0, 0, 0, 123000),
            Decimal("2.50"),
            "5ad6a7ef-7d2b-4f9c-9c3f-111111111111",
            "B",
            {"city": "Oslo", "zip": None},
            1,
        )
    ]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ({"b": "INT NOT NULL"}, "found the fields a, missing required field b"),
        ({"a": "INT"}, r"field 'a': .*declared as INT, found str 'x'"),
        ({"a": "ARRAY<STRING>"}, "field 'a': expected an array, found x"),
        ({"a": "ROW<b INT>"}, "field 'a': expected a record, found x"),
        ({"a": "TIMESTAMP(3)"}, "field 'a': expected a timestamp, found x"),
    ],
)
def test_files_that_do_not_fit_name_the_field(tmp_path, column, says):
    path = written(tmp_path / "a.avro", [{"name": "a", "type": "string"}], {"a": "x"})
    with pytest.raises(ValueError, match=says):
        list(format_of("avro", column, "files").read_file(path, LOCAL_FILES))


def test_null_does_not_fit_a_column_that_is_not_null(tmp_path):
    path = written(tmp_path / "a.avro", [{"name": "a", "type": ["null", "int"]}], {"a": None})
    with pytest.raises(ValueError, match="field 'a': found null in a column that is NOT NULL"):
        list(format_of("avro", {"a": "INT NOT NULL"}, "files").read_file(path, LOCAL_FILES))
    found = format_of("avro", {"a": "INT NOT NULL"})
    with pytest.raises(ValueError, match="Failed to serialize row"):
        found.encode(batch_of({"a": "INT"}, (None,)))


def test_a_file_that_is_not_avro_is_refused(tmp_path):
    (tmp_path / "a.avro").write_bytes(b"no avro")
    with pytest.raises(ValueError, match="Failed to read Avro file"):
        list(format_of("avro", {"a": "INT"}, "files").read_file(str(tmp_path / "a.avro"), LOCAL_FILES))


def test_the_default_codec_is_installed():
    format_of("avro", {"a": "INT"}, "files").check_sink()


def test_a_codec_without_its_package_is_refused_when_a_table_is_written():
    try:
        fastavro.writer(io.BytesIO(), "null", [None], codec="zstandard")
    except ValueError:
        found = format_of("avro", {"a": "INT"}, "files", codec="zstandard")
        with pytest.raises(ValidationException, match=r"'avro\.codec' = 'zstandard'.*null, deflate, bzip2 and xz"):
            found.check_sink()
    else:
        pytest.skip("the package of zstandard is installed")


def test_unknown_codecs_name_what_there_is():
    with pytest.raises(ValidationException, match="one of null, deflate, snappy, bzip2, xz, zstandard"):
        format_of("avro", {"a": "INT"}, "files", codec="lz4")


@pytest.mark.parametrize(
    ("use", "option"), [("messages", "codec"), ("files", "encoding"), ("messages", "ignore-parse-errors")]
)
def test_options_belong_to_files_or_messages(use, option):
    with pytest.raises(ValidationException, match=f"Unsupported options:\n\n{option}\n"):
        format_of("avro", {"a": "INT"}, use, **{option: "null"})


def test_a_message_that_is_not_avro_is_refused():
    for encoding, message in (("binary", b"\2\x10x"), ("json", b"{"), ("json", b""), ("json", b'{"a": 1}')):
        found = format_of("avro", {"a": "STRING"}, encoding=encoding)
        with pytest.raises(ValueError, match="Failed to deserialize Avro record"):
            found.decode_messages([message])


# --- schema registry -------------------------------------------------------------------------------------------------


@pytest.fixture
def registry():
    with schema_registry.running() as server:
        yield server


def confluent(registry, columns, **options):
    return format_of("avro-confluent", columns, url=registry.url, **options)


def test_rows_are_registered_and_read_with_the_schema_of_their_writer(registry):
    columns = {"id": "INT NOT NULL", "name": "STRING"}
    old = confluent(registry, columns, subject="a-value")
    (message,) = old.encode(batch_of(columns, (1, "x")))
    assert message == b"\0\0\0\0\1\2\2\2x"
    assert registry.schemas[1] == old.schema.json_schema
    new = confluent(registry, {"name": "STRING", "added": "ARRAY<INT>", "id": "BIGINT"})
    assert rows_of(new.decode_messages([message, None])) == [("x", None, 1)]
    assert registry.asked == ["/subjects/a-value/versions", "/schemas/ids/1"]


def test_a_given_schema_is_registered_and_its_defaults_are_read(registry):
    fields = [
        {"name": "id", "type": "int"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "default": "B"},
        {"name": "key", "type": ["null", {"type": "bytes"}], "default": None},
    ]
    schema = json.dumps({"type": "record", "name": "com.example.Order", "doc": "An order.", "fields": fields})
    columns = {"id": "INT NOT NULL", "kind": "STRING NOT NULL", "key": "BYTES"}
    found = confluent(registry, columns, schema=schema, subject="orders")
    (message,) = found.encode(batch_of(columns, (1, "A", b"k")))
    assert rows_of(found.decode_messages([message])) == [(1, "A", b"k")]
    assert registry.schemas[1] == schema
    other = confluent(registry, {"id": "INT NOT NULL"}, subject="orders")
    assert rows_of(found.decode_messages(other.encode(batch_of({"id": "INT"}, (2,))))) == [(2, "B", None)]
    assert (found.reads_fields, other.reads_fields) == (False, True)


def test_a_given_schema_may_have_instants_in_microseconds(registry):
    instant = {"type": "long", "logicalType": "timestamp-micros"}
    schema = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "at", "type": instant}]})
    columns = {"at": "TIMESTAMP(6) NOT NULL"}
    found = confluent(registry, columns, schema=schema, subject="orders")
    row = (datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),)
    assert rows_of(found.decode_messages(found.encode(batch_of(columns, row)))) == [row]
    with pytest.raises(ValidationException, match="does not support TIMESTAMP type with precision: 6"):
        confluent(registry, columns)


@pytest.mark.parametrize("field", [{"name": "id", "type": "long"}, {"name": "no", "type": "int"}])
def test_a_given_schema_that_does_not_match_is_refused(registry, field):
    schema = json.dumps({"type": "record", "name": "Order", "fields": [field]})
    with pytest.raises(ValidationException, match="does not match the table schema"):
        confluent(registry, {"id": "INT NOT NULL"}, schema=schema)


def test_older_option_names_and_credentials(registry):
    registry.authorization = "Basic YW5uOnMzY3JldA=="
    options = {
        "schema-registry.url": registry.url,
        "schema-registry.subject": "older",
        "basic-auth.credentials-source": "USER_INFO",
        "basic-auth.user-info": "ann:s3cret",
    }
    found = format_of("avro-confluent", {"id": "INT"}, **options)
    found.encode(batch_of({"id": "INT"}, (1,)))
    found = format_of("avro-confluent", {"id": "INT"}, **options, subject="newer")
    found.encode(batch_of({"id": "INT"}, (1,)))
    assert registry.asked == ["/subjects/older/versions", "/subjects/newer/versions"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "Missing required options are:\n\nurl"),
        ({"url": "http://r", "ssl.truststore.location": "x"}, "Unsupported options:\n\nssl.truststore.location"),
        ({"url": "http://r", "basic-auth.credentials-source": "SASL_INHERIT"}, "SASL_INHERIT"),
        ({"url": "http://r", "properties.max.schemas": "1"}, "max.schemas is not supported"),
        ({"url": "http://r", "schema": "{"}, "Invalid Avro schema of format 'avro-confluent'"),
    ],
)
def test_options_of_the_registry_are_checked(options, says):
    with pytest.raises(ValidationException, match=says):
        format_of("avro-confluent", {"id": "INT"}, **options)


def test_a_sink_needs_a_subject():
    with pytest.raises(ValidationException, match=r"Option avro-confluent\.subject is required for serialization"):
        format_of("avro-confluent", {"id": "INT"}, url="http://r").check_sink()


def test_changes_of_debezium(registry):
    columns = {"id": "INT NOT NULL", "name": "STRING"}
    found = format_of("debezium-avro-confluent", columns, url=registry.url, subject="t-value")
    kinds = np.array([Kind.INSERT, Kind.UPDATE_BEFORE, Kind.UPDATE_AFTER, Kind.DELETE], np.int8)
    batch = batch_of(columns, (1, "a"), (1, "a"), (1, None), (1, None))
    messages = found.encode(ColumnBatch(batch.columns, batch.length, kinds))
    fields = json.loads(registry.schemas[1])["fields"]
    assert [(field["name"], field["type"][0]) for field in fields] == [
        ("before", "null"), ("after", "null"), ("op", "null"),
    ]  # fmt: skip
    assert messages[0] == b"\0\0\0\0\1" + b"\0" + b"\2\2\2\2a" + b"\2\2c"
    read = found.decode_messages([*messages, None, b""])
    assert rows_of(read) == rows_of(batch)
    assert read.kinds.tolist() == [Kind.INSERT, Kind.DELETE, Kind.INSERT, Kind.DELETE]
    part = format_of("debezium-avro-confluent", {"name": "STRING"}, url=registry.url)
    assert rows_of(part.decode_messages(messages)) == [("a",), ("a",), (None,), (None,)]


def test_updates_of_debezium_need_the_row_before(registry):
    fields = [
        {
            "name": "before",
            "type": ["null", {"type": "record", "name": "V", "fields": [{"name": "id", "type": "int"}]}],
        },
        {"name": "after", "type": ["null", "V"]},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
    ]
    registry.schemas.append(json.dumps({"type": "record", "name": "Envelope", "fields": fields}))
    found = format_of("debezium-avro-confluent", {"id": "INT"}, url=registry.url)
    update = found.decode_messages([b"\0\0\0\0\1\2\2\2\4\2u\0"])
    assert (rows_of(update), update.kinds.tolist()) == ([(1,), (2,)], [Kind.UPDATE_BEFORE, Kind.UPDATE_AFTER])
    for message, says in ((b"\0\2\4\2u\0", "REPLICA IDENTITY"), (b"\0\2\4\2x\0", 'Unknown "op" value "x"')):
        with pytest.raises(ValueError, match=rf"Can't deserialize Debezium Avro message: .*{says}"):
            found.decode_messages([b"\0\0\0\0\1" + message])


def test_messages_without_a_known_schema_are_refused(registry):
    found = confluent(registry, {"id": "INT"})
    for message, says in ((b"\1\0\0\0\1", "first byte"), (b"\0", "5 bytes"), (b"\0\0\0\0\7", "404.*Schema not found")):
        with pytest.raises(ValueError, match=f"Failed to deserialize Avro record.*{says}"):
            found.decode_messages([message])
    unreachable = format_of("avro-confluent", {"id": "INT"}, url="http://127.0.0.1:9")
    with pytest.raises(OSError, match="refused"):
        unreachable.decode_messages([b"\0\0\0\0\1\2"])
