from __future__ import annotations

import datetime

import pytest

from firesteel.common import Instant, Row, RowKind, Types
from firesteel.common.values.java_text import to_java_string


@pytest.mark.parametrize(
    ("value", "type_info", "text"),
    [
        (Row("a", 1), Types.ROW([Types.STRING(), Types.INT()]), "+I[a, 1]"),
        (Row.of_kind(RowKind.DELETE, None), Types.ROW([Types.STRING()]), "-D[null]"),
        (("a", 1), Types.TUPLE([Types.STRING(), Types.INT()]), "(a,1)"),
        (True, Types.BOOLEAN(), "true"),
        (None, Types.INT(), "null"),
        (b"fl\xff", Types.PRIMITIVE_ARRAY(Types.BYTE()), "[102, 108, -1]"),
        ([1, 2], Types.LIST(Types.INT()), "[1, 2]"),
        ({"a": 1}, Types.MAP(Types.STRING(), Types.INT()), "{a=1}"),
        (datetime.datetime(2021, 1, 9, 12, 0, 0, 11_000), Types.SQL_TIMESTAMP(), "2021-01-09 12:00:00.011"),
        (datetime.datetime(2021, 1, 9, 12), Types.SQL_TIMESTAMP(), "2021-01-09 12:00:00.0"),
        (datetime.date(2021, 1, 9), Types.SQL_DATE(), "2021-01-09"),
        (datetime.time(1, 2, 3), Types.SQL_TIME(), "01:02:03"),
        (Instant.of_epoch_milli(11), Types.INSTANT(), "1970-01-01T00:00:00.011Z"),
        (1e10, Types.DOUBLE(), "1.0E10"),
        (1e7, Types.DOUBLE(), "1.0E7"),
        (9999999.0, Types.DOUBLE(), "9999999.0"),
        (0.001, Types.DOUBLE(), "0.001"),
        (1e-4, Types.DOUBLE(), "1.0E-4"),
        (100.0, Types.DOUBLE(), "100.0"),
        (-0.0, Types.DOUBLE(), "-0.0"),
        (float("nan"), Types.DOUBLE(), "NaN"),
        (float("-inf"), Types.FLOAT(), "-Infinity"),
        (5e-324, Types.DOUBLE(), "4.9E-324"),
        (-1e-323, Types.DOUBLE(), "-9.9E-324"),
        (2.2250738585072014e-308, Types.DOUBLE(), "2.2250738585072014E-308"),
        (2.0**-149, Types.FLOAT(), "1.4E-45"),
        (datetime.datetime(1, 2, 3), Types.SQL_TIMESTAMP(), "0001-02-03 00:00:00.0"),
        (Instant(-60_000_000_000, 0), Types.INSTANT(), "0068-09-03T13:20:00Z"),
        (110.0999984741211, Types.FLOAT(), "110.1"),
        (Row(a=1), None, "Row(a=1)"),
        (None, None, "None"),
    ],
)
def test_text_is_that_of_java(value, type_info, text):
    assert to_java_string(value, type_info) == text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("banana apple cherry", "{banana=0, apple=1, cherry=2}"),
        ("a b", "{a=0, b=1}"),
        ("one two three four five six", "{six=5, two=1, three=2, five=4, four=3, one=0}"),
        ("one two three four five six seven", "{six=5, four=3, one=0, seven=6, two=1, three=2, five=4}"),
        (
            "zeta Alpha \u03b4 eps x yy zzz k10 k11",
            "{zeta=0, yy=5, \u03b4=2, Alpha=1, x=4, eps=3, k11=8, zzz=6, k10=7}",
        ),
    ],
)
def test_a_map_has_the_order_of_a_hash_map(keys, text):
    # As printed by java.util.HashMap, made for that many entries.
    value = {key: index for index, key in enumerate(keys.split())}
    assert to_java_string(value, Types.MAP(Types.STRING(), Types.INT())) == text


def test_a_map_of_numbers_has_the_order_of_a_hash_map():
    value = dict.fromkeys((-5, 100_000_000_000, 7, 3, 33), 1)
    text = to_java_string(value, Types.MAP(Types.LONG(), Types.INT()))
    assert text == "{100000000000=1, 33=1, 3=1, -5=1, 7=1}"


def test_a_map_whose_keys_java_hashes_by_identity_keeps_its_order():
    value = {(2,): 1, (1,): 2}
    assert to_java_string(value, Types.MAP(Types.PICKLED_BYTE_ARRAY(), Types.INT())) == "{(2,)=1, (1,)=2}"
