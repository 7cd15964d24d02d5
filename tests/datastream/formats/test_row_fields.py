"""Rows with more or fewer fields than the schema of a format, for every format that writes rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.formats.parquet.files import _plain
from firesteel.datastream.connectors.kafka import KafkaRecordSerializationSchema
from firesteel.datastream.formats.avro import AvroRowSerializationSchema
from firesteel.datastream.formats.csv import CsvRowSerializationSchema
from firesteel.datastream.formats.json import JsonRowSerializationSchema

ROW = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
AVRO = (
    '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": "int"}, '
    '{"name": "c", "type": ["null", {"type": "record", "name": "I", "fields": [{"name": "x", "type": "int"}]}]}]}'
)
NESTED = Types.ROW_NAMED(["a", "b", "c"], [Types.STRING(), Types.INT(), Types.ROW_NAMED(["x"], [Types.INT()])])
WRITERS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "json": (JsonRowSerializationSchema.builder().with_type_info(NESTED).build().serialize, True),
    "avro": (AvroRowSerializationSchema(avro_schema_string=AVRO).serialize, True),
    "csv": (CsvRowSerializationSchema.Builder(ROW).build().serialize, False),
    "parquet and orc": (lambda row: _plain(row, ROW), False),
}


@pytest.mark.parametrize("name", WRITERS)
def test_further_fields_are_ignored_where_flink_ignores_them(name: str) -> None:
    write, takes_first = WRITERS[name]
    fields = ("a", 1, Row(7)) if takes_first else ("a", 1)
    expected = write(Row(*fields))
    if takes_first:
        assert write(Row(*fields, "more")) == write((*fields, "more", None)) == expected
        assert write(Row("a", 1, Row(7, 8))) == expected
    else:
        with pytest.raises(ValueError, match=r"Row length mismatch: 2 fields expected \(a, b\), found .*more"):
            write(Row(*fields, "more"))


@pytest.mark.parametrize("name", WRITERS)
def test_missing_fields_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=r"Row length mismatch: \d fields expected \(a, b.*\), found .*'a'"):
        WRITERS[name][0](Row("a"))


def test_the_first_fields_of_a_record_are_its_kafka_key() -> None:
    key = JsonRowSerializationSchema.builder().with_type_info(Types.ROW_NAMED(["a"], [Types.STRING()])).build()
    value = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    schema = builder.set_key_serialization_schema(key).set_value_serialization_schema(value).build()
    assert schema.records([Row("k", 1)], None) == [("t", b'{"a":"k"}', b'{"a":"k","b":1}', 0, None)]
