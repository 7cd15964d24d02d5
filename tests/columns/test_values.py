from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from firesteel.columns.json_text import json_writer
from firesteel.columns.type_text import parse_type
from firesteel.columns.value_text import cast_formatter, print_formatter, time_zone
from firesteel.columns.values import to_arrow, to_python
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.errors import TypeMismatchError

ROW = "ROW<`a` INT, `b` STRING>"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("BOOLEAN", True),
        ("TINYINT", -128),
        ("BIGINT", 2**62),
        ("DOUBLE", 1.5),
        ("DECIMAL(38, 18)", Decimal("1.500000000000000000")),
        ("STRING", "é"),
        ("BYTES", b"x"),
        ("DATE", date(2024, 1, 2)),
        ("TIME(0)", time(1, 2, 3)),
        ("TIMESTAMP(6)", datetime(2024, 1, 2, 3, 4, 5, 678901)),
        ("TIMESTAMP_LTZ(3)", Instant(-1, 5_000_000)),
        ("INTERVAL SECOND(3)", timedelta(days=-1, seconds=3)),
        ("INTERVAL MONTH", 14),
        ("ARRAY<TIMESTAMP_LTZ(3)>", [Instant(1, 0), None]),
        ("MAP<STRING, INT>", {"a": 1, "b": None}),
        ("MULTISET<STRING>", {"a": 2}),
        (ROW, Row(a=1, b=None)),
    ],
)
def test_values_survive_the_round_trip_through_arrow(text, value):
    data_type = parse_type(text)
    found = to_python(to_arrow([value, None], data_type), data_type)
    assert found == [value, None]
    assert type(found[0]) is type(value)


@pytest.mark.parametrize("row", [(1, "x"), [1, "x"], {"b": "x", "a": 1}, Row(b="x", a=1), Row(1, "x")])
def test_rows_may_be_written_in_several_forms(row):
    data_type = parse_type(ROW)
    assert to_python(to_arrow([row], data_type), data_type)[0].as_dict() == {"a": 1, "b": "x"}


def test_collected_values_have_milliseconds_and_rows_no_names():
    data_type = parse_type("ROW<`t` TIMESTAMP(6)>")
    row = to_python(to_arrow([(datetime(2024, 1, 1, 0, 0, 0, 123456),)], data_type), data_type, collected=True)[0]
    assert row[0].microsecond == 123000
    assert repr(row).startswith("<Row(")


@pytest.mark.parametrize(
    ("text", "value"),
    [("INT", "x"), ("TINYINT", 300), ("STRING", 1), (ROW, (1,)), ("DECIMAL(2, 1)", Decimal(100)), ("DATE", "x")],
)
def test_wrong_value_is_named(text, value):
    with pytest.raises(TypeMismatchError, match=type(value).__name__):
        to_arrow([None, value], parse_type(text))


def test_booleans_and_integers_stand_for_each_other():
    assert to_arrow([True, None, 2], parse_type("INT")).to_pylist() == [1, None, 2]
    assert to_arrow([0, None, 2, True], parse_type("BOOLEAN")).to_pylist() == [False, None, True, True]


def test_decimals_are_rounded_half_up():
    data_type = parse_type("DECIMAL(3, 1)")
    assert to_python(to_arrow([Decimal("0.25"), Decimal("-0.25")], data_type), data_type) == [
        Decimal("0.3"),
        Decimal("-0.3"),
    ]


INSTANT = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value", "cast", "printed"),
    [
        ("BOOLEAN", True, "TRUE", "true"),
        ("DOUBLE", 1e20, "1.0E20", "1.0E20"),
        ("FLOAT", 0.10000000149011612, "0.1", "0.1"),
        ("DECIMAL(3, 2)", Decimal("1.50"), "1.50", "1.50"),
        ("TIMESTAMP(0)", datetime(2024, 1, 1), "2024-01-01 00:00:00", "2024-01-01T00:00"),
        ("TIMESTAMP(3)", datetime(2024, 1, 1, 0, 0, 5, 120000), "2024-01-01 00:00:05.120", "2024-01-01T00:00:05.120"),
        ("TIMESTAMP_LTZ(3)", INSTANT, "1970-01-01 08:00:00.000", "1970-01-01T00:00:00Z"),
        ("TIME(0)", time(1, 2, 3), "01:02:03", "01:02:03"),
        ("INTERVAL SECOND(3)", timedelta(days=1), "+1 00:00:00.000", "PT24H"),
        ("INTERVAL MONTH", -3, "-0-03", "P-3M"),
        ("ARRAY<INT>", [1, None], "[1, NULL]", "[1, null]"),
        ("MAP<STRING, INT>", [("k", 1)], "{k=1}", "{k=1}"),
        (ROW, {"a": 1, "b": None}, "(1, NULL)", "+I[1, null]"),
        ("BYTES", b"ab\xff", "ab�", "[97, 98, -1]"),
    ],
)
def test_texts(text, value, cast, printed):
    data_type = parse_type(text)
    assert cast_formatter(data_type, ZoneInfo("Asia/Shanghai"))(value) == cast
    assert print_formatter(data_type)(value) == printed


def test_json_text():
    data_type = parse_type("ROW<`b` ARRAY<DECIMAL(3, 1)>, `a` MAP<STRING, BYTES>, `c` BOOLEAN>")
    value = {"b": [Decimal("1.5"), None], "a": [("k", b"x")], "c": True}
    assert json_writer(data_type)(value) == '{"a":{"k":"eA=="},"b":[1.5,null],"c":true}'


def test_time_zones():
    assert time_zone("GMT-08:00").utcoffset(None) == timedelta(hours=-8)
    with pytest.raises(ValueError, match="Nowhere"):
        time_zone("Nowhere")


@pytest.mark.parametrize("place", ["{}", "ARRAY<{}>", "MAP<STRING, {}>", "ROW<`n` {}>"])
@pytest.mark.parametrize(("text", "bits"), [("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64)])
def test_integers_out_of_range_are_refused_wherever_they_are(text, bits, place):
    data_type = parse_type(place.format(text))
    wrap = {"{}": int, "ARRAY<{}>": lambda n: [n], "MAP<STRING, {}>": lambda n: {"k": n}}.get(place, Row)
    half = 1 << (bits - 1)
    assert len(to_arrow([wrap(-half), wrap(half - 1)], data_type)) == 2
    for value in (-half - 1, half):
        with pytest.raises(OverflowError if place == "{}" else TypeMismatchError, match=text):
            to_arrow([wrap(value)], data_type)
