"""Avro messages are read and written as columns as fastavro reads and writes them one by one."""

from __future__ import annotations

import datetime
import random
import re
from decimal import Decimal

import pytest

pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.avro import column_records
from firesteel.connectors.formats.avro.avro_type import avro_type
from firesteel.connectors.formats.avro.binary_columns import READERS, read_columns
from firesteel.connectors.formats.avro.binary_messages import WRITERS
from firesteel.connectors.formats.avro.column_records import expanded_schema, parsed_schema
from firesteel.connectors.formats.avro.derived_schema import _PLAIN, row_type
from firesteel.connectors.formats.avro.message_bytes import Messages, NotColumnarError
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.table_options import Options

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000)
VALUES = {
    "TINYINT": [-128, 127, 0],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INT": [-(2**31), 2**31 - 1, 63, 64, -64, -65],
    "BIGINT": [-(2**63), 2**63 - 1, 0, 1, -1, 2**34],
    "FLOAT": [0.5, -0.0, float("inf")],
    "DOUBLE": [0.1, -0.0, 1e300, float("-inf")],
    "BOOLEAN": [True, False],
    "STRING": ["", "a", "é\n" * 70, "x" * 64],
    "BYTES": [b"", b"\x00\xff", bytes(200)],
    "DATE": [datetime.date.min, datetime.date.max, datetime.date(1970, 1, 1)],
    "TIME(3)": [datetime.time(0), datetime.time(23, 59, 59, 999000)],
    "TIMESTAMP(3)": [MOMENT, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999000)],
    "TIMESTAMP(0)": [MOMENT.replace(microsecond=0)],
    "DECIMAL(5, 2)": [Decimal("-999.99"), Decimal("0.00"), Decimal("1.27"), Decimal("1.28"), Decimal("-1.29")],
    "DECIMAL(18, 0)": [Decimal(10**18 - 1), Decimal(1 - 10**18), Decimal(255)],
    "ROW<a INT, b STRING>": [(1, "x"), (None, None)],
    "ROW<r ROW<d DECIMAL(4, 1), t TIMESTAMP(3)> NOT NULL, f DOUBLE>": [
        ((Decimal("1.5"), None), 2.0),
        ((None, MOMENT), None),
    ],
}
BY_ROWS = {"ARRAY<INT>": [[1, 2], []], "MAP<STRING, INT>": [{"a": 1}], "DECIMAL(30, 2)": [Decimal("12.50")]}


def random_table(chance, known):
    texts = [chance.choice(list(known)) + chance.choice(["", " NOT NULL"]) for _ in range(chance.randrange(1, 6))]
    length = chance.randrange(0, 40)
    arrays = []
    for text in texts:
        values = known[text.removesuffix(" NOT NULL")]
        choices = values if text.endswith("NOT NULL") else [None, *values]
        arrays.append(to_arrow([chance.choice(choices) for _ in range(length)], parse_type(text)))
    columns = Columns(tuple(f"c{place}" for place in range(len(texts))), tuple(map(parse_type, texts)))
    return columns, ColumnBatch(tuple(arrays), length)


def random_messages(seed):
    """Return a format, rows, and their messages."""
    columns, batch = random_table(random.Random(seed), VALUES)
    found = make_format("avro", columns, Options({}, "avro"), "messages")
    return found, batch, found.encode(batch)


def without_columns(monkeypatch):
    def refuse(*_):
        raise NotColumnarError

    monkeypatch.setattr(column_records, "read_columns", refuse)
    monkeypatch.setattr(column_records, "messages_of", refuse)


def outcome(found, messages):
    try:
        batch = found.decode_messages(messages)
    except ValueError as error:
        return re.sub("0x[0-9a-f]+", "", str(error))
    return [repr(column.to_pylist()) for column in batch.columns]


@pytest.mark.parametrize("seed", range(60))
def test_columns_and_records_are_the_same_bytes(seed, monkeypatch):
    found, batch, messages = random_messages(seed)
    assert batch.length == 0 or found.columns_of(messages, found.schema) is not None
    read = outcome(found, messages)
    assert read == [repr(column.to_pylist()) for column in batch.columns]
    without_columns(monkeypatch)
    assert found.encode(batch) == messages
    assert outcome(found, messages) == read


@pytest.mark.parametrize("seed", range(40))
def test_damaged_messages_are_read_or_refused_as_by_fastavro(seed, monkeypatch):
    chance, damaged = random.Random(seed), []
    found, _, messages = random_messages(seed)
    for message in (message for message in messages for _ in range(3)):
        data = bytearray(message)
        for _ in range(chance.randrange(1, 3)):
            if data and chance.random() < 0.8:
                data[chance.randrange(len(data))] = chance.choice([0, 1, 2, 3, 127, 128, 255, chance.randrange(256)])
            else:
                data = data[: chance.randrange(len(data) + 1)]
        damaged.append(bytes(data))
    columnar = [outcome(found, [message]) for message in damaged]
    without_columns(monkeypatch)
    assert columnar == [outcome(found, [message]) for message in damaged]


@pytest.mark.parametrize("name", BY_ROWS)
def test_other_types_are_left_to_fastavro(name):
    columns = Columns(("a", "b"), (parse_type(name), parse_type("INT")))
    found = make_format("avro", columns, Options({}, "avro"), "messages")
    batch = ColumnBatch(
        (to_arrow(BY_ROWS[name], columns.types[0]), to_arrow([1] * len(BY_ROWS[name]), columns.types[1])),
        len(BY_ROWS[name]),
    )
    messages = found.encode(batch)
    assert found.columns_of(messages, found.schema) is None
    assert [column.to_pylist() for column in found.decode_messages(messages).columns] == [
        column.to_pylist() for column in batch.columns
    ]


def test_each_type_of_the_format_is_read_and_written_or_is_known_to_be_left():
    covered, written = ([kind for kinds, _ in table for kind in kinds] for table in (READERS, WRITERS))
    assert set(covered) == set(written)
    assert {kind.__name__ for kind in _PLAIN} - {kind.__name__ for kind in covered} == {"NullType"}


def written(fields, records):
    import io

    import fastavro

    schema = parsed_schema(
        {"type": "record", "name": "w", "fields": [{"name": n, "type": k} for n, k in fields]}, "avro"
    )
    messages = []
    for record in records:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, schema.parsed, record)
        messages.append(b"-----" + buffer.getvalue())
    return schema, messages


EXTRA = [
    ("n", ["null", "long"], 5),
    ("s", ["string", "null"], "skipped"),
    ("f", {"type": "fixed", "name": "F", "size": 3}, b"abc"),
    ("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    (
        "r",
        {"type": "record", "name": "R", "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "bytes"}]},
        {"x": 1.0, "y": b"z"},
    ),
    ("b", "boolean", True),
]


def test_fields_that_nobody_wants_are_skipped():
    fields = [("k", ["null", "string"]), *((name, kind) for name, kind, _ in EXTRA), ("v", "int")]
    extra = {name: value for name, _, value in EXTRA}
    schema, messages = written(
        fields, [{"k": key, "v": number, **extra} for number, key in enumerate(["a", None, "c"])]
    )
    kind = row_type(Columns(("v", "k", "new"), tuple(map(parse_type, ("BIGINT", "STRING", "INT")))))
    batch = read_columns(Messages(messages, 5), avro_type(expanded_schema(schema.json_schema)), kind, {"new": None})
    assert [column.to_pylist() for column in batch.columns] == [[0, 1, 2], ["a", None, "c"], [None] * 3]


@pytest.mark.parametrize(
    ("fields", "kind", "defaults"),
    [
        ([("a", "int")], "ROW<a STRING>", {}),
        ([("a", "double")], "ROW<a FLOAT>", {}),
        ([("a", ["null", "int", "string"])], "ROW<a INT>", {}),
        ([("a", {"type": "array", "items": "int"}), ("b", "int")], "ROW<b INT>", {}),
        ([("a", {"type": "long", "logicalType": "timestamp-nanos"})], "ROW<a TIMESTAMP(3)>", {}),
        ([("b", "int")], "ROW<a INT>", {}),
        ([("b", "int")], "ROW<a INT>", {"a": 3}),
        ([("a", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1})], "ROW<a DECIMAL(5, 2)>", {}),
    ],
)
def test_what_columns_do_not_follow_is_left(fields, kind, defaults):
    schema, _ = written(fields, [])
    with pytest.raises(NotColumnarError):
        read_columns(Messages([]), avro_type(expanded_schema(schema.json_schema)), parse_type(kind), defaults)


def test_decimals_take_as_many_bytes_as_in_java():
    """fastavro writes -128 in two bytes, `BigInteger.toByteArray` in one."""
    columns = Columns(("d",), (parse_type("DECIMAL(5, 2) NOT NULL"),))
    found = make_format("avro", columns, Options({}, "avro"), "messages")
    values = [Decimal("-1.28"), Decimal("1.27"), Decimal("1.28"), Decimal("-1.29"), Decimal("0.00")]
    messages = found.encode(ColumnBatch((to_arrow(values, columns.types[0]),), len(values)))
    assert messages == [b"\x02\x80", b"\x02\x7f", b"\x04\x00\x80", b"\x04\xff\x7f", b"\x02\x00"]
    assert found.decode_messages(messages).columns[0].to_pylist() == values
