"""Texts as dates and times, and local times as instants, where Java and Python differ."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.time_zones import LOCAL, instant_datetime, to_instant
from firesteel.columns.value_text import time_zone
from firesteel.common.system_time_zone import system_time_zone
from firesteel.table.errors import ValidationException
from firesteel.table.table_config import TableConfig
from tests.columns.rexes import call, cast, column, lit, run

BERLIN = time_zone("Europe/Berlin")
S = "STRING"
FOREIGN = ["0x10", "0X1F", "-0x1", "\u0661\u0662", "\uff11", "1_000", "\u0662024-01-01", "1\u0662:00"]


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


@pytest.mark.parametrize("target", ["INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "DATE", "TIMESTAMP(3)", "TIME(0)"])
@pytest.mark.parametrize("text", FOREIGN)
def test_hexadecimal_numbers_and_foreign_digits_are_no_numbers(text: str, target: str) -> None:
    assert run(cast(column(0, S), target, "TRY_CAST"), (S, [text])) == [None]
    assert run(cast(column(0, S), target, "TRY_CAST"), (S, ["7", text, None]))[1:] == [None, None]


def test_hexadecimal_numbers_with_an_exponent_are_those_of_java() -> None:
    assert run(cast(column(0, S), "DOUBLE"), (S, ["0x1p3", "1.5d", "-Infinity"])) == [8.0, 1.5, float("-inf")]


@pytest.mark.parametrize(
    ("text", "target", "result"),
    [
        ("2024-02-29 24:00:00", "TIMESTAMP(3)", moment("2024-03-01")),
        ("2024-02-29 24:00:01", "TIMESTAMP(3)", None),
        ("24:00:00", "TIME(0)", None),
        ("12:60", "TIME(0)", datetime.time(13)),
        ("23:30+01:00", "TIME(0)", None),
        ("23:30-01:00", "TIME(0)", datetime.time(22, 30)),
        ("01:02:03.4566", "TIME(3)", datetime.time(1, 2, 3, 457000)),
        ("2024-1-5 noon", "DATE", datetime.date(2024, 1, 5)),
        ("2024", "DATE", datetime.date(2024, 1, 1)),
        ("2023-02-29", "DATE", None),
    ],
)
def test_texts_of_times(text: str, target: str, result: object) -> None:
    assert run(cast(column(0, S), target, "TRY_CAST"), (S, [text])) == [result]


@pytest.mark.parametrize(
    ("pattern", "text", "result"),
    [
        ("yyyy-MM-dd HH:mm", "2024-12-31 24:00", moment("2025-01-01")),
        ("yyyy-MM-dd HH:mm", "2024-12-31 24:01", None),
        ("yyyy/MM/dd", "1999-9-10 05:20:10", moment("1999-09-10T05:20:10")),
        ("yyyy/MM/dd", "1999-9-10", moment("1999-09-10")),
        ("yyyy/MM/dd", "\u0661999/09/10", None),
    ],
)
def test_texts_by_a_pattern(pattern: str, text: str, result: object) -> None:
    assert run(call("TO_TIMESTAMP", column(0, S), lit(pattern, S)), (S, [text])) == [result]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2024-10-27 01:59:59", "2024-10-26 23:59:59"),
        ("2024-10-27 02:30:00", "2024-10-27 01:30:00"),  # twice; SimpleDateFormat takes the later one
        ("2024-10-27 03:00:00", "2024-10-27 02:00:00"),
        ("2024-03-31 02:30:00", "2024-03-31 01:30:00"),  # skipped
        ("2024-03-30 24:00:00", "2024-03-30 23:00:00"),
        ("2024-01-01", None),
    ],
)
def test_conversions_between_zones(text: str, result: str | None) -> None:
    zones = lit("Europe/Berlin", S), lit("UTC", S)
    assert run(call("CONVERT_TZ", column(0, S), *zones), (S, [text])) == [result]
    context = EvaluationContext(time_zone=BERLIN)
    seconds = -(2**63) if result is None else int(moment(result + "+00:00").timestamp())
    assert run(call("UNIX_TIMESTAMP", column(0, S)), (S, [text]), context=context) == [seconds]


def test_local_times_become_instants_as_in_javas_zoned_date_time() -> None:
    texts = {
        "2024-10-27T02:30": "2024-10-27T00:30",  # twice: the earlier one
        "2024-03-31T02:30": "2024-03-31T01:30",  # skipped: by the clock before
        "2024-03-31T03:00": "2024-03-31T01:00",
        "2024-07-01T12:00": "2024-07-01T10:00",
    }
    local = [moment(text) for text in texts]
    instants = [moment(text).replace(tzinfo=datetime.UTC) for text in texts.values()]
    assert to_instant(pa.array(local, LOCAL), BERLIN).to_pylist() == instants
    assert [instant_datetime(one, BERLIN) for one in local] == instants
    assert to_instant(pa.scalar(local[1], LOCAL), BERLIN).as_py() == instants[1]


def test_the_zone_of_a_session_is_by_default_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    config = TableConfig()
    assert config.get_local_timezone() == "America/Los_Angeles" == system_time_zone()
    config.set_local_timezone("GMT-03:00")
    assert config.get_local_timezone() == "GMT-03:00"
    assert config.time_zone.utcoffset(None) == datetime.timedelta(hours=-3)


def test_a_zone_that_does_not_exist_is_refused() -> None:
    config = TableConfig().set("table.local-time-zone", "Europe/Nowhere")
    with pytest.raises(ValidationException, match="Invalid time zone 'Europe/Nowhere'"):
        config.get_local_timezone()
