"""CSV and JSON texts as Flink 2.3 reads them, by the schemas of DataStreams (`row`) and of tables (`column`)."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.columns import column_types as t
from firesteel.columns.type_text import parse_type
from firesteel.common import Row, Types
from firesteel.common.typeinfo import LocalTimeTypeInfo
from firesteel.common.values.java_text import to_java_string
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.table_options import Options
from firesteel.datastream.formats.csv import CsvRowDeserializationSchema
from firesteel.datastream.formats.json import JsonRowDeserializationSchema

RECORDED: dict[str, dict[str, str | None]] = json.loads(Path(__file__).with_name("format_texts.json").read_text())
LOCAL = LocalTimeTypeInfo.TimeType
TYPES = {
    "Byte": Types.BYTE(),
    "Integer": Types.INT(),
    "Long": Types.LONG(),
    "Double": Types.DOUBLE(),
    "BigDecimal": Types.BIG_DEC(),
    "BigInteger": Types.BIG_INT(),
    "Boolean": Types.BOOLEAN(),
    "String": Types.STRING(),
    "Date": Types.SQL_DATE(),
    "Time": Types.SQL_TIME(),
    "Timestamp": Types.SQL_TIMESTAMP(),
    "LocalDate": LocalTimeTypeInfo(LOCAL.LOCAL_DATE),
    "LocalTime": LocalTimeTypeInfo(LOCAL.LOCAL_TIME),
    "LocalDateTime": LocalTimeTypeInfo(LOCAL.LOCAL_DATE_TIME),
    "Instant": Types.INSTANT(),
    "byte[]": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "ObjectArrayTypeInfo<Integer>": Types.OBJECT_ARRAY(Types.INT()),
    "BasicArrayTypeInfo<String>": Types.OBJECT_ARRAY(Types.STRING()),
    "List<Integer>": Types.LIST(Types.INT()),
    "Map<String, Integer>": Types.MAP(Types.STRING(), Types.INT()),
    "Row(f0: Integer, f1: String)": Types.ROW([Types.INT(), Types.STRING()]),
}
BLANKS = "blanks around a value are ignored, as Flink does around numbers and timestamps"
LOCAL_TIMES = "the text of a LocalTime that Flink writes but does not read"
PRECISE = "Python has microseconds, and these schemas milliseconds"
EXACT = "a BigDecimal keeps its digits; Flink parses a double"
UTC_TIMES = "the fraction of a time, and other ISO texts of an instant, are read"
TUPLES = "a JSON array is read as a row, as the types of JSON schemas with tuples need it"
STRICT = "fails instead of losing what was written"
TIME_PRECISION = "TIME(6) is read with milliseconds; Flink refuses the type"


def each(*cases: str, texts: list[str]) -> dict[str, list[str]]:
    return {**dict.fromkeys(cases, texts), **{f"{case} ignoring": texts for case in cases}}


OTHERWISE = {
    BLANKS: {
        **each("csv column DECIMAL(5, 2)", texts=[" 1.50 "]),
        **each("csv row Date", "csv row LocalDate", "csv column DATE", texts=[" 2024-01-09 "]),
        **each("csv row Time", "csv column TIME(0)", "csv column TIME(3)", texts=[" 01:02:03 "]),
        **each("csv row LocalTime", texts=[" 01:02:03 "]),
        **each("csv row Instant", texts=[" 2024-01-09 01:02:03.5Z "]),
    },
    LOCAL_TIMES: each("csv row LocalTime", texts=["01:02", "01:02:03.5", "01:02:03.123456"]),
    PRECISE: each(
        *("csv row Timestamp", "csv row LocalDateTime", "csv column TIMESTAMP(3)"),
        texts=["2024-01-09 01:02:03.123456789"],
    ),
    EXACT: each("json row BigDecimal", texts=["1.10"]),
    UTC_TIMES: {
        **each("json row Time", "json row LocalTime", texts=['"01:02:03.5Z"']),
        **each("json row Instant", texts=['"2024-01-09 01:02:03Z"', '"2024-01-09T01:02Z"']),
    },
    TUPLES: each("json row Row(f0: Integer, f1: String)", texts=['[1,"x"]']),
    STRICT: {
        **each("csv column ROW<`f0` INT, `f1` VARCHAR(10)>", texts=["1;x;y"]),
        "json row byte[]": ["1"],
        **each("json row Map<String, Integer>", texts=["1", "[]"]),
        **each("json column BOOLEAN", texts=["[]"]),
    },
    TIME_PRECISION: each(
        "csv column TIME(6)", texts=["01:02:03", " 01:02:03 ", "01:02", "01:02:03.5", "01:02:03.123456"]
    ),
}
"""Texts that are read otherwise than by Flink, by reason."""


def row_answer(form: str, kind: str, ignores: bool, text: str) -> str | None:
    row_type = Types.ROW_NAMED(["a"], [TYPES[kind]])
    if form == "csv":
        schema: Any = CsvRowDeserializationSchema.Builder(row_type).set_ignore_parse_errors(ignores).build()
    else:
        builder = JsonRowDeserializationSchema.builder().type_info(row_type)
        schema = (builder.ignore_parse_errors() if ignores else builder).build()
    message = text if form == "csv" else f'{{"a":{text}}}'
    row = schema.deserialize(message.encode())
    assert repr(schema.deserialize_all([message.encode()] * 2)) == repr([row] * 2)
    return "null" if row is None else f"Row[{shown(row[0], kind)}]"


def shown(value: Any, kind: str) -> str:
    if isinstance(value, bytes):
        return f"bytes{list(value)}"
    if isinstance(value, Row):
        return f"Row[{', '.join(shown(one, name) for one, name in zip(value, ('Integer', 'String'), strict=True))}]"
    return "null" if value is None else to_java_string(value, TYPES[kind])


def column_answer(form: str, kind: str, ignores: bool, text: str) -> str | None:
    options = Options({"ignore-parse-errors": str(ignores).lower()}, form)
    reader = make_format(form, Columns(("a",), (parse_type(kind),)), options, "messages")
    message = text if form == "csv" else f'{{"a":{text}}}'
    batch = reader.decode_messages([message.encode()])
    if not batch.length:
        return "null"
    value = batch.columns[0].to_pylist()[0]
    return f"row({internal(value, parse_type(kind), form)})"


def internal(value: Any, kind: t.DataType, form: str) -> str:
    """Return a value as Flink's internal data structures print it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case bytes():
            return f"bytes{list(value)}" if form == "csv" else str(list(value))
        case float():
            return to_java_string(value, Types.FLOAT() if isinstance(kind, t.FloatType) else Types.DOUBLE())
        case datetime.datetime():
            local = LocalTimeTypeInfo(LOCAL.LOCAL_DATE_TIME)
            return to_java_string(value.replace(tzinfo=None), local)
        case datetime.date():
            return str(value.toordinal() - 719163)
        case datetime.time():
            clock = (value.hour * 60 + value.minute) * 60 + value.second
            return str(clock * 1000 + value.microsecond // 1000)
        case dict():
            return f"+I({','.join(internal(one, kind, form) for one in value.values())})"
    return str(value)


@pytest.mark.parametrize("case", RECORDED)
def test_texts_are_read_as_flink_reads_them(case: str) -> None:
    form, rows, kind = case.removesuffix(" ignoring").split(" ", 2)
    answer: Callable[..., str | None] = row_answer if rows == "row" else column_answer
    found: dict[str, str | None] = {}
    for text in RECORDED[case]:
        try:
            found[text] = answer(form, kind, case.endswith(" ignoring"), text)
        except ValueError:
            found[text] = None
    different = {text for text, wanted in RECORDED[case].items() if found[text] != wanted}
    assert different == {text for texts in OTHERWISE.values() for text in texts.get(case, [])}
