import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_dates import finest_unit, java_formatter
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import time_zone
from firesteel.columns.years import OutOfYearsError
from tests.columns.rexes import call, column, lit, run

S = "STRING"
MOMENT = datetime.datetime(2024, 5, 17, 13, 45, 59, 123000)
DATE = MOMENT.date()
INSTANT = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
SHANGHAI = EvaluationContext(time_zone=time_zone("Asia/Shanghai"))


@pytest.mark.parametrize(
    ("unit", "result"),
    [
        ("YEAR", 2024),
        ("QUARTER", 2),
        ("MONTH", 5),
        ("WEEK", 20),
        ("DAY", 17),
        ("DOY", 138),
        ("DOW", 6),
        ("HOUR", 13),
        ("MINUTE", 45),
        ("SECOND", 59),
        ("DECADE", 202),
        ("CENTURY", 21),
        ("EPOCH", 1715953559),
    ],
)
def test_extract(unit, result):
    rex = call("EXTRACT", lit(unit, "CHAR(9)"), column(0, "TIMESTAMP(3)"))
    assert run(rex, ("TIMESTAMP(3)", [MOMENT, None])) == [result, None]
    assert type_text(rex.type) == "BIGINT"


def test_parts_of_dates_times_and_intervals_are_extracted():
    assert run(call("DAYOFWEEK", lit(DATE, "DATE"))) == [6]
    assert run(call("HOUR", lit(datetime.time(7, 8), "TIME(0)"))) == [7]
    assert run(call("HOUR", lit(INSTANT, "TIMESTAMP_LTZ(3)")), context=SHANGHAI) == [8]
    delta = lit(datetime.timedelta(days=1, hours=26), "INTERVAL SECOND(3)")
    assert run(call("EXTRACT", lit("HOUR", "CHAR(4)"), delta)) == [2]
    with pytest.raises(FunctionError, match="MONTH"):
        call("EXTRACT", lit("MONTH", "CHAR(5)"), lit(datetime.time(1), "TIME(0)"))


@pytest.mark.parametrize(
    ("name", "unit", "value", "result"),
    [
        ("FLOOR", "HOUR", MOMENT, datetime.datetime(2024, 5, 17, 13)),
        ("CEIL", "HOUR", MOMENT, datetime.datetime(2024, 5, 17, 14)),
        ("FLOOR", "WEEK", MOMENT, datetime.datetime(2024, 5, 12)),
        ("FLOOR", "QUARTER", MOMENT, datetime.datetime(2024, 4, 1)),
        ("CEIL", "MONTH", datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 1)),
        ("CEIL", "YEAR", MOMENT, datetime.datetime(2025, 1, 1)),
    ],
)
def test_rounding(name, unit, value, result):
    rex = call(name, column(0, "TIMESTAMP(3)"), lit(unit, "CHAR(7)"))
    assert run(rex, ("TIMESTAMP(3)", [value])) == [result]


def test_rounding_in_a_zone_and_of_dates():
    rex = call("FLOOR", lit(INSTANT, "TIMESTAMP_LTZ(3)"), lit("DAY", "CHAR(3)"))
    assert run(rex, context=SHANGHAI) == [INSTANT - datetime.timedelta(hours=8)]
    assert run(call("FLOOR", lit(DATE, "DATE"), lit("MONTH", "CHAR(5)"))) == [datetime.date(2024, 5, 1)]
    assert run(call("CEIL", lit(datetime.time(7, 8), "TIME(0)"), lit("HOUR", "CHAR(4)"))) == [datetime.time(8)]


@pytest.mark.parametrize(
    ("unit", "start", "end", "result"),
    [
        ("DAY", datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2, 23), 1),
        ("HOUR", datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 1, 22, 30), -1),
        ("MONTH", datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 29), 1),
        ("MONTH", datetime.datetime(2024, 1, 15), datetime.datetime(2024, 3, 14), 1),
        ("YEAR", datetime.datetime(2022, 6, 1), datetime.datetime(2024, 5, 1), 1),
        ("SECOND", datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 0, 1), 60),
    ],
)
def test_difference(unit, start, end, result):
    rex = call("TIMESTAMPDIFF", lit(unit, "CHAR(6)"), lit(start, "TIMESTAMP(6)"), lit(end, "TIMESTAMP(6)"))
    assert run(rex) == [result]


def test_addition():
    rex = call("TIMESTAMPADD", lit("MONTH", "CHAR(5)"), lit(1, "INT"), lit(datetime.date(2024, 1, 31), "DATE"))
    assert run(rex) == [datetime.date(2024, 2, 29)]
    rex = call("TIMESTAMPADD", lit("DAY", "CHAR(3)"), lit(-1, "INT"), lit(MOMENT, "TIMESTAMP(3)"))
    assert run(rex) == [MOMENT - datetime.timedelta(days=1)]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm", "2024-05-17 13:45"),
        ("yyyyMMdd", "20240517"),
        ("yy/M/d", "24/5/17"),
        ("EEE, dd MMM yyyy", "Fri, 17 May 2024"),
        ("hh:mm:ss.SSS a", "01:45:59.123 PM"),
        ("yyyy-MM-dd'T'HH:mm:ss''", "2024-05-17T13:45:59'"),
    ],
)
def test_formats(pattern, text):
    assert run(call("DATE_FORMAT", lit(MOMENT, "TIMESTAMP(3)"), lit(pattern, S))) == [text]
    parsed = run(call("DATE_FORMAT", call("TO_TIMESTAMP", lit(text, S), lit(pattern, S)), lit(pattern, S)))
    assert parsed == [text]


def test_conversions():
    assert run(call("TO_TIMESTAMP", lit("2024-05-17 13:45:59.1239", S))) == [MOMENT]
    assert run(call("TO_TIMESTAMP", lit("nonsense", S))) == [None]
    assert run(call("TO_DATE", lit("17.05.2024", S), lit("dd.MM.yyyy", S))) == [DATE]
    assert run(call("TO_TIMESTAMP_LTZ", lit(0, "INT"), lit(3, "INT"))) == [INSTANT]
    assert run(call("TO_TIMESTAMP_LTZ", lit(1.5, "DOUBLE"), lit(0, "INT"))) == [
        INSTANT + datetime.timedelta(seconds=1.5)
    ]
    assert run(call("FROM_UNIXTIME", lit(0, "BIGINT")), context=SHANGHAI) == ["1970-01-01 08:00:00"]
    assert run(call("UNIX_TIMESTAMP", lit("1970-01-01 08:00:00", S)), context=SHANGHAI) == [0]
    zones = lit("UTC", S), lit("America/Los_Angeles", S)
    assert run(call("CONVERT_TZ", lit("1970-01-01 00:00:00", S), *zones)) == ["1969-12-31 16:00:00"]
    with pytest.raises(FunctionError, match="letter 'X'"):
        run(call("DATE_FORMAT", lit(MOMENT, "TIMESTAMP(3)"), lit("X", S)))


def test_current_time_is_that_of_the_query_in_batch_mode():
    batch = EvaluationContext(streaming=False, query_start_us=5_000_999, clock_us=lambda: 9_000_000)
    assert run(call("CURRENT_TIMESTAMP"), context=batch) == [INSTANT + datetime.timedelta(seconds=5)]
    assert run(call("PROCTIME"), context=batch) == [INSTANT + datetime.timedelta(seconds=9)]
    stream = EvaluationContext(clock_us=lambda: 9_000_000, time_zone=time_zone("Asia/Shanghai"))
    assert run(call("LOCALTIMESTAMP"), context=stream) == [datetime.datetime(1970, 1, 1, 8, 0, 9)]
    assert type_text(call("PROCTIME").type) == "TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*"
    assert run(call("CURRENT_DATE"), ("INT", [1, 2]), context=stream) == [datetime.date(1970, 1, 1)] * 2


def test_watermark_and_typeof():
    rex = call("CURRENT_WATERMARK", column(0, "TIMESTAMP(3)"))
    assert run(rex, ("TIMESTAMP(3)", [MOMENT])) == [None]
    context = EvaluationContext(watermark_ms=lambda: 1000)
    assert run(rex, ("TIMESTAMP(3)", [MOMENT]), context=context) == [datetime.datetime(1970, 1, 1, 0, 0, 1)]
    assert run(call("TYPEOF", lit("x", "CHAR(1) NOT NULL"))) == ["CHAR(1) NOT NULL"]


LETTERS = "GyuYMLdDEecFwWqQaHhKkmsSnNA"
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))


@given(
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=3).map(" ".join),
    st.lists(st.none() | MOMENTS, min_size=1, max_size=5),
    st.booleans(),
)
def test_a_column_is_formatted_as_its_values_are(pattern, moments, zoned):
    moments = [moment and moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in moments]
    local = moments
    if zoned:
        moments = [moment and moment.replace(tzinfo=datetime.UTC) for moment in moments]
        local = [moment and moment.astimezone(SHANGHAI.time_zone).replace(tzinfo=None) for moment in moments]
    kind = "TIMESTAMP_LTZ(3)" if zoned else "TIMESTAMP(3)"
    rex = call("DATE_FORMAT", column(0, kind), lit(pattern, S))
    wanted = [moment and java_formatter(pattern)(moment) for moment in local]
    assert run(rex, (kind, moments * 60), context=SHANGHAI) == wanted * 60


def test_finest_units():
    found = {letter: finest_unit(f"yyyy 'H' {letter}") for letter in LETTERS}
    assert {letter for letter, unit in found.items() if unit is None} == set("SnNA")
    assert [letter for letter, unit in found.items() if unit == "hour"] == list("aHhKk")
    assert (found["m"], found["s"], found["d"], finest_unit("X"), finest_unit("'")) == (
        "minute",
        "second",
        "day",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("seconds", "pattern", "text"),
    [
        (253402300800, "yyyy-MM-dd HH:mm:ss", "10000-01-01 00:00:00"),
        (253402300800, "y-M-d EEE D w u YYYY yy", "10000-1-1 Sat 1 1 6 10000 00"),
        (-62135596801, "y-M-d EEE D w u", "1-1-2 Sun 2 2 7"),
        (-62167219201, "yyyy-MM-dd G yy", "0001-01-02 BC 01"),
        (-12219292800, "yyyy-MM-dd", "1582-10-15"),
        (-12219292801, "yyyy-MM-dd HH:mm:ss", "1582-10-04 23:59:59"),
        (-30000000000, "yyyy-MM-dd HH:mm:ss", "1019-04-28 18:40:00"),
        (2**63 - 1, "yyyy-MM-dd HH:mm:ss", "1969-12-31 23:59:59"),
        (9223372036854775, "yyyy-MM-dd HH:mm:ss", "292278994-08-17 07:12:55"),
        (9223372036854776, "yyyy-MM-dd HH:mm:ss", "292269055-12-02 16:47:04"),
    ],
)
def test_from_unixtime_has_all_years_and_the_julian_calendar(seconds, pattern, text):
    assert run(call("FROM_UNIXTIME", lit(seconds, "BIGINT"), lit(pattern, "STRING"))) == [text]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10000-01-01 00:00:00", 253402300800),
        ("0000-01-01 00:00:00", -62167392000),
        ("0001-01-01 00:00:00", -62135769600),
        ("1500-02-29 00:00:00", -14825894400),
        ("1582-10-04 00:00:00", -12219379200),
        ("1582-10-10 00:00:00", -12218860800),
        ("1582-10-15 00:00:00", -12219292800),
    ],
)
def test_unix_timestamp_has_all_years_and_the_julian_calendar(text, seconds):
    assert run(call("UNIX_TIMESTAMP", lit(text, "STRING"))) == [seconds]


@pytest.mark.parametrize(
    ("text", "source", "target", "expected"),
    [
        ("9999-12-31 23:00:00", "UTC", "Asia/Tokyo", "10000-01-01 08:00:00"),
        ("10000-07-01 12:00:00", "UTC", "America/New_York", "10000-07-01 08:00:00"),
        ("0001-01-01 00:00:00", "UTC", "America/New_York", "0001-12-31 19:00:00"),
        ("1850-06-01 00:00:00", "America/New_York", "UTC", "1850-06-01 05:00:00"),
        ("1850-06-01 00:00:00", "Europe/Dublin", "UTC", "1850-06-01 00:00:00"),
        ("1890-01-01 00:00:00", "UTC", "Europe/Moscow", "1890-01-01 03:00:00"),
    ],
)
def test_convert_tz_has_all_years(text, source, target, expected):
    assert run(call("CONVERT_TZ", *(lit(one, "STRING") for one in (text, source, target)))) == [expected]


@pytest.mark.parametrize(
    "rex",
    [
        call("TIMESTAMPADD", lit("MONTH", "STRING"), lit(12, "INT"), column(0, "TIMESTAMP(3)")),
        call("TIMESTAMPADD", lit("DAY", "STRING"), lit(2**31 - 1, "INT"), column(0, "TIMESTAMP(3)")),
        call("+", column(0, "TIMESTAMP(3)"), lit(12, "INTERVAL MONTH")),
        call("DATE_FORMAT", column(0, "TIMESTAMP(3)"), lit("YYYY", "STRING")),
    ],
    ids=["months", "days", "interval", "week year"],
)
def test_years_that_there_are_not_are_named(rex):
    with pytest.raises(OutOfYearsError, match="outside of the years 1 to 9999"):
        run(rex, ("TIMESTAMP(3)", [datetime.datetime(9999, 12, 31)]))
