import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.cast_rules import can_cast
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.accumulators import fit_decimal
from firesteel.columns.functions.cast_parsing import CastError
from firesteel.columns.functions.casts import array_cast
from firesteel.columns.type_text import parse_type
from firesteel.columns.value_text import time_zone
from tests.columns.rexes import cast, column, lit, run

MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 678900)


@pytest.mark.parametrize(
    ("source", "value", "target", "result"),
    [
        ("STRING", "12", "INT", 12),
        ("STRING", " 12 ", "INT", 12),
        ("STRING", "12.7", "INT", 12),
        ("DECIMAL(3, 1)", Decimal("12.7"), "INT", 12),
        ("DECIMAL(3, 1)", Decimal("-12.7"), "INT", -12),
        ("DOUBLE", 12.7, "INT", 12),
        ("DOUBLE", 1e10, "INT", 2**31 - 1),
        ("DOUBLE", 1e20, "BIGINT", 2**63 - 1),
        ("DOUBLE", -1e20, "BIGINT", -(2**63)),
        ("DOUBLE", float("nan"), "INT", 0),
        ("STRING", "1.5", "DOUBLE", 1.5),
        ("INT", 300, "TINYINT", 44),
        ("DECIMAL(4, 3)", Decimal("2.345"), "DECIMAL(3, 2)", Decimal("2.35")),
        ("DECIMAL(4, 3)", Decimal("-2.345"), "DECIMAL(3, 2)", Decimal("-2.35")),
        ("DECIMAL(6, 2)", Decimal("9999.99"), "DECIMAL(4, 1)", None),
        ("INT", 12345, "DECIMAL(3, 0)", None),
        ("DOUBLE", 2.345, "DECIMAL(3, 2)", Decimal("2.35")),
        ("INT", 1, "STRING", "1"),
        ("DECIMAL(3, 2)", Decimal("1.50"), "STRING", "1.50"),
        ("DOUBLE", 1e20, "STRING", "1.0E20"),
        ("BOOLEAN", True, "STRING", "TRUE"),
        ("DATE", MOMENT.date(), "STRING", "2024-01-02"),
        ("TIMESTAMP(0)", MOMENT.replace(microsecond=0), "STRING", "2024-01-02 03:04:05"),
        ("TIMESTAMP(3)", MOMENT.replace(microsecond=120000), "STRING", "2024-01-02 03:04:05.120"),
        ("TIME(0)", datetime.time(1, 2, 3), "STRING", "01:02:03"),
        ("STRING", "abcdef", "VARCHAR(3)", "abc"),
        ("CHAR(2)", "ab", "CHAR(4)", "ab  "),
        ("CHAR(2)", "ab", "VARCHAR(4)", "ab"),
        ("STRING", "true", "BOOLEAN", True),
        ("INT", 1, "BOOLEAN", True),
        ("BOOLEAN", True, "INT", 1),
        ("BOOLEAN", True, "DECIMAL(3, 1)", Decimal("1.0")),
        ("STRING", "2024-01-02", "DATE", MOMENT.date()),
        ("STRING", "2024-1-2 10:00:00", "DATE", MOMENT.date()),
        ("STRING", "2024-01-02 03:04:05.6789", "TIMESTAMP(3)", MOMENT.replace(microsecond=678000)),
        ("STRING", "2024-01-02", "TIMESTAMP(3)", datetime.datetime(2024, 1, 2)),
        ("TIMESTAMP(6)", MOMENT, "TIMESTAMP(3)", MOMENT.replace(microsecond=678000)),
        ("TIMESTAMP(3)", MOMENT, "DATE", MOMENT.date()),
        ("TIMESTAMP(3)", datetime.datetime(1969, 12, 31, 23), "DATE", datetime.date(1969, 12, 31)),
        ("TIMESTAMP(3)", datetime.datetime(1969, 12, 31, 23), "TIME(0)", datetime.time(23)),
        ("DATE", MOMENT.date(), "TIMESTAMP(3)", datetime.datetime(2024, 1, 2)),
        ("STRING", "03:04", "TIME(0)", datetime.time(3, 4)),
        ("STRING", "03:04:05.678", "TIME(0)", datetime.time(3, 4, 5)),
        ("TIMESTAMP(3)", MOMENT.replace(microsecond=678000), "TIME(0)", MOMENT.time().replace(microsecond=0)),
        ("TIMESTAMP(3)", MOMENT.replace(microsecond=678000), "TIME(2)", MOMENT.time().replace(microsecond=670000)),
        ("ARRAY<INT>", [1, None], "STRING", "[1, NULL]"),
        ("MAP<STRING, INT>", {"k": 1}, "STRING", "{k=1}"),
        ("ROW<`a` INT, `b` STRING, `c` INT>", (1, "x", None), "STRING", "(1, x, NULL)"),
        ("ROW<`a` INT, `b` STRING>", (1, "2"), "ROW<`p` BIGINT, `q` INT>", {"p": 1, "q": 2}),
        ("ARRAY<STRING>", ["1", None], "ARRAY<INT>", [1, None]),
        ("MAP<INT, STRING>", {1: "2"}, "MAP<STRING, INT>", [("1", 2)]),
        ("STRING", "abc", "BYTES", b"abc"),
        ("STRING", "abc", "BINARY(4)", b"abc\0"),
        ("BYTES", b"abc", "STRING", "abc"),
        ("NULL", None, "DATE", None),
        ("INTERVAL SECOND(3)", datetime.timedelta(days=1), "STRING", "+1 00:00:00.000"),
    ],
)
def test_cast(source, value, target, result):
    assert run(cast(lit(value, source), target)) == [result]
    rows = [value, None, value] if value is not None else [None]
    assert run(cast(column(0, source), target), (source, rows)) == [None if v is None else result for v in rows]


@pytest.mark.parametrize(
    ("value", "target"),
    [("x", "INT"), ("", "INT"), ("99999999999", "INT"), ("maybe", "BOOLEAN"), ("2024-13-01", "DATE"), ("1,5", "DOUBLE"),
     ("inf", "DOUBLE"), ("2024-01-02T00:00:00", "TIMESTAMP(3)"), ("1x", "DECIMAL(3, 1)"), ("25:00", "TIME(0)")],
)  # fmt: skip
def test_cast_refuses_what_try_cast_makes_null(value, target):
    with pytest.raises(CastError, match=r"input string|parse"):
        run(cast(lit(value, "STRING"), target))
    rex = cast(column(0, "STRING"), target, "TRY_CAST")
    assert rex.type.is_nullable
    assert run(rex, ("STRING", [None, value, value])) == [None, None, None]


def test_try_cast_keeps_good_values():
    assert run(cast(column(0, "STRING"), "INT", "TRY_CAST"), ("STRING", ["1", "x", "3"])) == [1, None, 3]


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "GMT+08:00"])
def test_local_zoned_timestamps_use_the_zone(zone):
    context = EvaluationContext(time_zone=time_zone(zone))
    instant = lit(datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), "TIMESTAMP_LTZ(3)")
    assert run(cast(instant, "TIMESTAMP(3)"), context=context) == [datetime.datetime(1970, 1, 1, 8)]
    assert run(cast(instant, "STRING"), context=context) == ["1970-01-01 08:00:00.000"]
    local = lit(datetime.datetime(1970, 1, 1, 8), "TIMESTAMP(3)")
    assert run(cast(local, "TIMESTAMP_LTZ(3)"), context=context) == [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)]


SAMPLES = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "VARIANT"),
    *("CHAR(3)", "VARCHAR(3)", "STRING", "BINARY(2)", "VARBINARY(3)", "BYTES"),
    *("DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH"),
    *("ARRAY<INT>", "MULTISET<STRING>", "MAP<STRING, INT>", "ROW<`a` INT>", "ARRAY<INTERVAL DAY TO SECOND>"),
]


@pytest.mark.parametrize("source", SAMPLES)
def test_what_a_plan_may_cast_can_be_computed(source):
    for target in map(parse_type, SAMPLES):
        if can_cast(parse_type(source), target):
            array_cast(parse_type(source), target, EvaluationContext())


NEAR_THE_MIDDLE = st.builds(
    lambda n, scale: (2 * n + 1) / (2 * 10**scale), st.integers(-(10**6), 10**6), st.integers(0, 6)
)


@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False) | NEAR_THE_MIDDLE, max_size=8),
    st.sampled_from(["DECIMAL(10, 2)", "DECIMAL(3, 3)", "DECIMAL(38, 0)", "DECIMAL(38, 20)", "DECIMAL(1, 0)"]),
)
def test_doubles_become_the_decimals_that_their_digits_say(numbers, target):
    kind = parse_type(target)
    array = pa.array([None, *numbers], pa.float64()).slice(1)
    found = array_cast(parse_type("DOUBLE"), kind, EvaluationContext())(array)
    wanted = [None if number is None else fit_decimal(Decimal(repr(number)), kind) for number in numbers]
    assert found.to_pylist() == wanted
