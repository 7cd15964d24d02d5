from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal

import pytest

from firesteel.common import Row, Types

pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")

from firesteel.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)

PLACE = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}
FIELDS = [
    ("i", "int", Types.INT(), 1),
    ("l", "long", Types.LONG(), 2**40),
    ("f", "float", Types.FLOAT(), 1.5),
    ("d", "double", Types.DOUBLE(), 0.1),
    ("b", "boolean", Types.BOOLEAN(), True),
    ("s", ["null", "string"], Types.STRING(), "\u00e4"),
    ("n", ["null", "string"], Types.STRING(), None),
    ("raw", "bytes", Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    ("e", {"type": "enum", "name": "Color", "symbols": ["RED"]}, Types.STRING(), "RED"),
    ("a", {"type": "array", "items": "int"}, Types.OBJECT_ARRAY(Types.INT()), [1, 2]),
    ("m", {"type": "map", "values": "long"}, Types.MAP(Types.STRING(), Types.LONG()), {"k": 1}),
    ("at", PLACE, Types.ROW_NAMED(["city"], [Types.STRING()]), Row(city="Graz")),
    ("to", "Place", Types.ROW_NAMED(["city"], [Types.STRING()]), Row(city="Linz")),
    ("day", {"type": "int", "logicalType": "date"}, Types.SQL_DATE(), datetime.date(2021, 1, 9)),
    ("time", {"type": "int", "logicalType": "time-millis"}, Types.SQL_TIME(), datetime.time(1, 2, 3)),
    (
        "ts",
        {"type": "long", "logicalType": "timestamp-millis"},
        Types.SQL_TIMESTAMP(),
        datetime.datetime(2021, 7, 9, 1, 2, 3, 5000),
    ),
    (
        "dec",
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        Types.BIG_DEC(),
        Decimal("1.50"),
    ),
]
SCHEMA = json.dumps(
    {"type": "record", "name": "All", "fields": [{"name": name, "type": kind} for name, kind, _, _ in FIELDS]}
)
ROW = Row(**{name: value for name, _, _, value in FIELDS})


def read(text=SCHEMA):
    return AvroRowDeserializationSchema(avro_schema_string=text)


def write(text=SCHEMA):
    return AvroRowSerializationSchema(avro_schema_string=text)


def test_a_record_has_the_types_of_its_schema():
    expected = Types.ROW_NAMED([name for name, *_ in FIELDS], [type_info for _, _, type_info, _ in FIELDS])
    assert read().get_produced_type() == expected


def test_rows_are_written_and_read_again():
    message = write().serialize(ROW)
    assert read().deserialize(message) == ROW
    assert read().deserialize_all([message, message]) == [ROW, ROW]
    assert isinstance(read().deserialize(message)["at"], Row)


def test_rows_have_the_binary_encoding_of_avro():
    text = '{"type": "record", "name": "A", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}'
    assert write(text).serialize(Row(1, "ab")) == b"\x02\x04ab"


def test_schemas_can_be_pickled():
    writer, reader = pickle.loads(pickle.dumps((write(), read())))
    assert reader.deserialize(writer.serialize(ROW)) == ROW


def test_a_bad_message_is_named_by_its_position():
    message = write().serialize(ROW)
    with pytest.raises(ValueError, match=r"message 3 of 4: Failed to deserialize Avro b'\\x02': EOFError"):
        read().deserialize_all([message, message, b"\x02", message])


def test_times_have_milliseconds_and_ids_are_texts_as_in_flink():
    fields = [
        {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ]
    text = json.dumps({"type": "record", "name": "A", "fields": fields})
    at, uuid = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000), "16fd2706-8baf-433b-82eb-8c7fada847da"
    row = Row(time=datetime.time(1, 2, 3, 4567), id=uuid, at=at)
    assert read(text).deserialize(write(text).serialize(row)) == Row(time=datetime.time(1, 2, 3, 4000), id=uuid, at=at)


def test_a_record_may_have_no_fields():
    text = '{"type": "record", "name": "A", "fields": []}'
    assert read(text).deserialize(write(text).serialize(Row())) == Row()


def test_a_value_of_another_type_is_refused():
    text = '{"type": "record", "name": "A", "fields": [{"name": "n", "type": "long"}]}'
    with pytest.raises(ValueError, match=r"Failed to serialize <Row\('x'\)> as Avro: TypeError: .*field n"):
        write(text).serialize(Row("x"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "record_class or avro_schema_string should be specified"),
        ({"record_class": "a.B"}, NotImplementedError, "pass avro_schema_string"),
        ({"avro_schema_string": '"int"'}, ValueError, "rows need a record schema"),
        (
            {"avro_schema_string": '{"type":"record","name":"A","fields":[{"name":"u","type":["int","string"]}]}'},
            ValueError,
            "a union must have exactly one type besides null",
        ),
    ],
)
@pytest.mark.parametrize("schema", [AvroRowDeserializationSchema, AvroRowSerializationSchema])
def test_schemas_that_do_not_describe_rows_are_rejected(schema, arguments, error, message):
    with pytest.raises(error, match=message):
        schema(**arguments)


def test_a_schema_is_read_from_a_file(tmp_path):
    (tmp_path / "all.avsc").write_text(SCHEMA)
    schema = AvroSchema.parse_file(str(tmp_path / "all.avsc"))
    assert schema == AvroSchema.parse_string(SCHEMA) == pickle.loads(pickle.dumps(schema))
    assert GenericRecordAvroTypeInfo(schema).schema is schema
