"""Columns of texts are read and written as their values are, one by one."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.csv.table import CsvFormat
from firesteel.connectors.formats.json.table import JsonFormat, row_type
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.formats.text_columns import is_parsed, parsed, texts_of
from firesteel.connectors.formats.text_values import Style, reader_of, writer_of
from firesteel.connectors.table_options import Options
from tests.seeds import examples

TEXT = t.VarCharType(t.MAX_LENGTH)
MOMENTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 30))
FRACTIONS = st.sampled_from([0, 500_000, 678_000, 100, 123_456])
VALUES: dict[t.DataType, st.SearchStrategy[Any]] = {
    t.IntType(): st.integers(-(2**31), 2**31 - 1),
    t.BigIntType(): st.integers(-(2**63), 2**63 - 1),
    t.BooleanType(): st.booleans(),
    t.DoubleType(): st.floats() | st.integers(-(10**9), 10**9).map(lambda n: n / 1000),
    t.FloatType(): st.floats(width=32),
    t.DecimalType(20, 4): st.decimals(-(10**15), 10**15, places=4, allow_nan=False),
    t.DateType(): st.dates(datetime.date(1, 1, 1)),
    t.TimeType(6): st.times(),
    t.TimestampType(6): MOMENTS | st.builds(lambda at, us: at.replace(microsecond=us), MOMENTS, FRACTIONS),
    t.LocalZonedTimestampType(6): MOMENTS.map(lambda at: at.replace(tzinfo=datetime.UTC)),
    TEXT: st.text(st.characters(codec="utf-8"), max_size=30) | st.text('az"\\\n,; é', max_size=30),
    t.VarBinaryType(t.MAX_LENGTH): st.binary(max_size=9),
    t.ArrayType(t.IntType()): st.lists(st.integers(0, 9), max_size=3),
    t.RowType([t.RowField("a", TEXT)]): st.tuples(st.text('a,;"', max_size=3)),
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COLUMNS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(st.none() | VALUES[kind], min_size=1, max_size=6))
)
STYLES = st.sampled_from([Style.SQL, Style.ISO, Style.CSV])


@pytest.mark.parametrize("kind", list(filter(is_parsed, VALUES)), ids=type_text)
@pytest.mark.parametrize("style", [Style.SQL, Style.ISO, Style.CSV])
def test_columns_without_values_are_read_as_columns(kind: t.DataType, style: Style) -> None:
    found = parsed(pa.nulls(3, pa.string()), kind, style)
    assert found is not None
    assert found.null_count == 3


@settings(max_examples=examples(150))
@given(COLUMNS, STYLES)
def test_columns_are_written_as_values(column: tuple[t.DataType, list[Any]], style: Style) -> None:
    kind, values = column
    if isinstance(kind, (t.ArrayType, t.RowType)):
        return
    array, write = to_arrow(values, kind), writer_of(kind, style)
    assert pylist(texts_of(array, kind, style)) == [None if one is None else write(one) for one in pylist(array)]


@settings(max_examples=examples(250))
@given(COLUMNS, STYLES, st.integers(0, 25), st.sampled_from(" 09-:.TZe+tNx"), st.booleans(), st.integers(0, 6))
def test_columns_are_read_as_values(
    column: tuple[t.DataType, list[Any]], style: Style, place: int, other: str, is_changed: bool, precision: int
) -> None:
    kind, values = column
    if not is_parsed(kind):
        return
    texts = pylist(texts_of(to_arrow(values, kind), kind, style))
    if is_changed:
        texts = [text and text[:place] + other + text[place + 1 :] for text in texts]
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        kind = type(kind)(precision)
    found = parsed(pa.array(texts, pa.string()), kind, style)
    if found is None:
        return
    read = reader_of(kind, style)
    wanted = to_arrow([None if text is None else read(text) for text in texts], kind)
    assert str(pylist(found)) == str(pylist(wanted))
    assert found.type == wanted.type


def test_usual_texts_are_read_by_columns() -> None:
    usual = {
        t.DateType(): "2024-02-29",
        t.TimestampType(3): "2024-02-29 01:02:03.456",
        t.LocalZonedTimestampType(3): "2024-02-29 01:02:03.456Z",
        t.DoubleType(): "-1.5e3",
        t.FloatType(): "1.5",
        t.BooleanType(): "true",
    }
    for kind, text in usual.items():
        for texts in ([text, None], [text, text.replace(".456", "").replace("-1.5", "1")]):
            assert parsed(pa.array(texts), kind, Style.CSV) is not None
    assert parsed(pa.array(["01:02:03.4"]), t.TimeType(), Style.SQL) is not None


@settings(max_examples=examples(80))
@given(st.lists(COLUMNS, min_size=1, max_size=3))
def test_rows_are_written_as_their_values(columns: list[tuple[t.DataType, list[Any]]]) -> None:
    length = min(len(values) for _, values in columns)
    kinds = [kind for kind, _ in columns]
    arrays = tuple(to_arrow(values[:length], kind) for kind, values in columns)
    batch, names = ColumnBatch(arrays, length), tuple(f'c"{i}' for i in range(len(kinds)))
    rows = list(zip(*map(pylist, arrays), strict=True))

    json = JsonFormat(Columns(names, tuple(kinds)), Options({}, "json"))
    write = json.codec.writer(json.part)
    assert json.encode(batch) == [write(dict(zip(names, row, strict=True))).encode() for row in rows]

    for options in ({}, {"null-literal": "null", "field-delimiter": ";"}, {"escape-character": "\\"},
                    {"disable-quote-character": "true"}):  # fmt: skip
        csv = CsvFormat(Columns(names, tuple(kinds)), Options(options, "csv"))
        assert csv.encode(batch) == [csv.codec.line(row).encode() for row in rows]


@settings(max_examples=examples(80))
@given(
    st.lists(COLUMNS, min_size=1, max_size=3), st.sampled_from([b"", b" ", b"0", b"x", b'"', b"\n", b"\xef\xbb\xbf"])
)
def test_messages_are_read_together_as_one_by_one(columns: list[tuple[t.DataType, list[Any]]], other: bytes) -> None:
    length = min(len(values) for _, values in columns)
    kinds = tuple(kind for kind, _ in columns)
    arrays = tuple(to_arrow(values[:length], kind) for kind, values in columns)
    names = tuple(f"c{i}" for i in range(len(kinds)))
    for made in (
        JsonFormat(Columns(names, kinds), Options({}, "json")),
        CsvFormat(Columns(names, kinds), Options({}, "csv")),
    ):
        messages: list[bytes | None] = [*made.encode(ColumnBatch(arrays, length)), None]
        messages[0] = other + (messages[0] or b"")
        try:
            single = [rows_of(made.decode_messages([message])) for message in messages]
        except ValueError:
            with pytest.raises(ValueError, match="Failed to deserialize"):
                made.decode_messages(messages)
            continue
        assert rows_of(made.decode_messages(messages)) == [row for rows in single for row in rows]


def rows_of(batch: ColumnBatch) -> list[str]:
    columns = [pylist(column) for column in batch.columns]
    return [str(row) for row in zip(*columns, strict=True)]


def test_numbers_that_json_has_not_are_strings() -> None:
    found = JsonFormat(Columns(("x",), (t.DoubleType(),)), Options({}, "json"))
    batch = ColumnBatch((pa.array([math.nan, math.inf, 1.0, None]),), 4)
    assert found.encode(batch) == [b'{"x":"NaN"}', b'{"x":"Infinity"}', b'{"x":1.0}', b'{"x":null}']
    assert row_type(found.columns).field_names() == ["x"]
