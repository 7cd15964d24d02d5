"""Each format has one codec: rows of DataStreams and columns of tables write and read the same."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow, to_python
from firesteel.common import Instant, Row, Types
from firesteel.common.typeinfo import LocalTimeTypeInfo, TypeInformation
from firesteel.connectors.formats.avro.derived_schema import Timestamps, derived_schema
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.table_options import Options
from firesteel.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from firesteel.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema


@dataclass
class Kind:
    column: str
    type_info: TypeInformation[Any]
    values: st.SearchStrategy[Any]


def instant(moment: datetime.datetime) -> Instant:
    return Instant.of_epoch_milli(round(moment.replace(tzinfo=datetime.UTC).timestamp() * 1000))


MOMENTS = st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, fold=0)
)
WORDS = st.text(st.sampled_from(" aé\"',#\\\n\r\t|😀0"), max_size=30)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
KINDS = {
    "STRING": Kind("STRING", Types.STRING(), WORDS),
    "INT": Kind("INT", Types.INT(), NUMBERS),
    "BIGINT": Kind("BIGINT", Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    "BOOLEAN": Kind("BOOLEAN", Types.BOOLEAN(), st.booleans()),
    "DOUBLE": Kind("DOUBLE", Types.DOUBLE(), st.floats(allow_nan=False)),
    "FLOAT": Kind("FLOAT", Types.FLOAT(), st.floats(width=32, allow_nan=False)),
    "DECIMAL": Kind("DECIMAL(20, 5)", Types.BIG_DEC(), st.decimals(-(10**14), 10**14, places=5)),
    "DATE": Kind("DATE", Types.SQL_DATE(), st.dates(datetime.date(1000, 1, 1))),
    "BYTES": Kind("BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=30)),
    "ARRAY": Kind("ARRAY<INT>", Types.OBJECT_ARRAY(Types.INT()), st.lists(NUMBERS, max_size=3)),
    "ROW": Kind(
        "ROW<a INT, b STRING>",
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
        st.builds(lambda a, b: Row(a=a, b=b), NUMBERS, WORDS),
    ),
}
CSV_KINDS = KINDS | {
    "TIMESTAMP": Kind("TIMESTAMP(3)", LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), MOMENTS),
    "SQL_TIMESTAMP": Kind("TIMESTAMP(3)", Types.SQL_TIMESTAMP(), MOMENTS),
    "TIMESTAMP_LTZ": Kind("TIMESTAMP_LTZ(3)", Types.INSTANT(), MOMENTS.map(instant)),
}
JSON_KINDS = KINDS | {
    "TIMESTAMP_LTZ": Kind("TIMESTAMP_LTZ(3)", Types.INSTANT(), MOMENTS.map(instant)),
    "MAP": Kind(
        "MAP<STRING, DOUBLE>",
        Types.MAP(Types.STRING(), Types.DOUBLE()),
        st.dictionaries(WORDS, st.floats(allow_nan=False), max_size=2),
    ),
    "NESTED": Kind(
        "ARRAY<ROW<a INT, b STRING>>",
        Types.OBJECT_ARRAY(KINDS["ROW"].type_info),
        st.lists(st.none() | KINDS["ROW"].values, max_size=3),
    ),
}
AVRO_KINDS = KINDS | {
    "TIMESTAMP": Kind("TIMESTAMP(3)", Types.SQL_TIMESTAMP(), MOMENTS),
    "TIME": Kind("TIME(3)", Types.SQL_TIME(), MOMENTS.map(lambda moment: moment.time())),
    "MAP": JSON_KINDS["MAP"],
    "NESTED": JSON_KINDS["NESTED"],
}


class Both:
    """The writers and readers of a format for one kind of value."""

    def __init__(self, name: str, kind: Kind, options: dict[str, str], rows: Callable[[Any, Columns], Any]) -> None:
        self._type = parse_type(kind.column)
        columns = Columns(("id", "x"), (parse_type("INT"), self._type))
        self._columns: Format = make_format(name, columns, Options(options, name), "messages")
        row_type = Types.ROW_NAMED(["id", "x"], [Types.INT(), kind.type_info])
        self._write, self._read = rows(row_type, columns)

    def check(self, values: list[Any]) -> None:
        """Check that both readers return the values from what each writer has written."""
        by_rows = [self._write.serialize(Row(index, value)) for index, value in enumerate(values)]
        ids = to_arrow(list(range(len(values))), parse_type("INT"))
        by_columns = self._columns.encode(ColumnBatch((ids, to_arrow(values, self._type)), len(values)))
        wanted = [repr(_plain(value)) for value in values]
        for messages in (by_rows, by_columns):
            assert [repr(_plain(row[1])) for row in self._read.deserialize_all(messages)] == wanted, messages
            assert [repr(_plain(self._read.deserialize(message)[1])) for message in messages] == wanted, messages
            batch = self._columns.decode_messages(list(messages))
            assert [repr(_plain(one)) for one in to_python(batch.columns[1], self._type)] == wanted, messages
        self._check_blocks(by_columns, wanted)

    def _check_blocks(self, lines: list[bytes], wanted: list[str]) -> None:
        if self._columns.is_text:
            batch = self._columns.decode_block(b"".join(line + b"\n" for line in lines))
            assert [repr(_plain(one)) for one in to_python(batch.columns[1], self._type)] == wanted, lines


def _plain(value: Any) -> Any:
    """Return a value in a form in which both kinds of readers agree: decimals by their number, rows as tuples."""
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, Row):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    return value


def csv_rows(row_type: Any, columns: Columns) -> tuple[Any, Any]:
    write = CsvRowSerializationSchema.Builder(row_type).set_line_delimiter("").set_null_literal("N")
    return write.build(), CsvRowDeserializationSchema.Builder(row_type).set_null_literal("N").build()


def escaping_csv_rows(row_type: Any, columns: Columns) -> tuple[Any, Any]:
    write = CsvRowSerializationSchema.Builder(row_type).set_line_delimiter("").set_escape_character("\\")
    write.set_quote_character("'").set_field_delimiter("|").set_null_literal("N")
    read = CsvRowDeserializationSchema.Builder(row_type).set_escape_character("\\")
    return write.build(), read.set_quote_character("'").set_field_delimiter("|").set_null_literal("N").build()


def json_rows(row_type: Any, columns: Columns) -> tuple[Any, Any]:
    write = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
    return write, JsonRowDeserializationSchema.builder().type_info(row_type).build()


def avro_rows(row_type: Any, columns: Columns) -> tuple[Any, Any]:
    schema = json.dumps(derived_schema(columns, Timestamps.LEGACY))
    return AvroRowSerializationSchema(avro_schema_string=schema), AvroRowDeserializationSchema(None, schema)


def nullable(kind: Kind) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | kind.values, max_size=4)


@pytest.mark.parametrize("name", CSV_KINDS)
@given(st.data())
def test_csv_of_rows_and_of_columns_is_one(name: str, data: st.DataObject) -> None:
    kind = CSV_KINDS[name]
    # An array or row that is NULL is written as one with a NULL in it, as in Flink.
    values = data.draw(st.lists(kind.values, max_size=4) if name in ("ARRAY", "ROW") else nullable(kind))
    Both("csv", kind, {"null-literal": "N"}, csv_rows).check(values)
    other = {"null-literal": "N", "escape-character": "\\", "quote-character": "'", "field-delimiter": "|"}
    Both("csv", kind, other, escaping_csv_rows).check(values)


@pytest.mark.parametrize("name", JSON_KINDS)
@given(st.data())
def test_json_of_rows_and_of_columns_is_one(name: str, data: st.DataObject) -> None:
    options = {"timestamp-format.standard": "ISO-8601"}
    Both("json", JSON_KINDS[name], options, json_rows).check(data.draw(nullable(JSON_KINDS[name])))


@pytest.mark.parametrize("name", AVRO_KINDS)
@given(st.data())
def test_avro_of_rows_and_of_columns_is_one(name: str, data: st.DataObject) -> None:
    pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    Both("avro", AVRO_KINDS[name], {}, avro_rows).check(data.draw(nullable(AVRO_KINDS[name])))
