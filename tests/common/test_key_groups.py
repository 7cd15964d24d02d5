from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.common.keys.canonical_keys import canonical_key
from firesteel.common.keys.key_groups import (
    default_max_parallelism,
    java_hash_of_key,
    java_hasher,
    key_group_assigner,
    key_group_range,
    murmur_hash,
    operator_index,
)

ZONE = ZoneInfo("Europe/Zurich")
PAIR = [Types.STRING(), Types.INT()]


# Answers of Flink 2.3.0 for PyFlink's keys: (type, key, Java hash of Row.of(key), key group of 128).
@pytest.mark.parametrize(
    ("key_type", "key", "java_hash", "group"),
    [
        (Types.STRING(), "", 62, 33),
        (Types.STRING(), "hello world", 1794106114, 51),
        (Types.STRING(), "Zürich", -1482116100, 113),
        (Types.STRING(), "😀", 1772961, 19),
        (Types.INT(), -1, 61, 62),
        (Types.INT(), 2147483647, -2147483587, 59),
        (Types.LONG(), -1000, 1061, 68),
        (Types.LONG(), 2**40, 318, 83),
        (Types.DOUBLE(), 3.14159, -1340954667, 99),
        (Types.BOOLEAN(), True, 1293, 67),
        (Types.ROW(PAIR), ("a", 1), 5023, 75),
        (Types.TUPLE(PAIR), ("a", 1), 3070, 44),
    ],
)
def test_keys_are_assigned_to_the_same_subtasks_as_in_flink(key_type, key, java_hash, group):
    assert java_hash_of_key(key, key_type) == java_hash
    assert key_group_assigner(key_type, 128)(key) == group


def test_pickled_key_is_hashed_as_its_bytes():
    hash_bytes = java_hasher(Types.PRIMITIVE_ARRAY(Types.BYTE()))
    # Answers of Flink 2.3.0 for two byte arrays.
    assert [murmur_hash(62 + hash_bytes(bytes.fromhex(d))) % 128 for d in ("80044b012e", "010203")] == [102, 28]


@pytest.mark.parametrize(
    "key",
    [
        *(1, -1, 300, 10**30, "a", "hello", "", b"x", b"bytes", None, True, 1.5, -0.0, math.inf, math.nan),
        *(("a", 1), ("ab", "cd", 1), ("a", "a"), (1, 2, 3, 4), (), (("ab", 1), 2.5), [1, "ab"], {"ab": 1}),
        *(Decimal("1.00"), Fraction(1, 3), complex(1, 2), UUID(int=5), (UUID(int=5), UUID(int=6)), ZONE),
        *(date(2020, 1, 1), datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, fold=1)),
    ],
)
def test_key_without_type_is_routed_by_the_bytes_of_cloudpickle(key):
    hash_bytes = java_hasher(Types.PRIMITIVE_ARRAY(Types.BYTE()))
    expected = murmur_hash(62 + hash_bytes(cloudpickle.dumps(key)))
    assert key_group_assigner(None, 32768)(key) == key_group_assigner(None, 32768)(canonical_key(key))
    assert key_group_assigner(None, 32768)(key) == expected % 32768


def test_murmur_hash_is_flinks():
    assert [murmur_hash(code) for code in (0, 1, -1, 2)] == [593689054, 68075478, 1982413648, 1085422463]


def test_default_max_parallelism_is_a_power_of_two_within_bounds():
    assert [default_max_parallelism(p) for p in (1, 85, 86, 200, 30_000)] == [128, 128, 256, 512, 32768]


@pytest.mark.parametrize(("parallelism", "maximum"), [(1, 128), (3, 128), (7, 100), (128, 128)])
def test_ranges_cover_every_key_group_of_their_subtask(parallelism, maximum):
    for subtask in range(parallelism):
        for group in key_group_range(subtask, parallelism, maximum):
            assert operator_index(group, parallelism, maximum) == subtask
    assert sum(len(key_group_range(i, parallelism, maximum)) for i in range(parallelism)) == maximum


def test_equal_untyped_keys_share_a_group_whatever_their_identity():
    assign, again = key_group_assigner(None, 128), key_group_assigner(None, 128)
    text = "".join(["x", "y"])
    assert assign((text, text)) == again(("xy", "".join(["x", "y"])))
    assert assign("x" * 2) == again("xx")
    assert len({assign(key) for key in (1, 1.0, True)}) == 3


@given(st.text(max_size=1000))
def test_java_hash_of_text_is_that_of_its_utf_16_units(text):
    units = text.encode("utf-16-be", "surrogatepass")
    expected = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        expected = (expected * 31 + high * 256 + low) % 2**32
    assert java_hasher(Types.STRING())(text) == expected


@given(st.binary(max_size=1000))
def test_java_hash_of_bytes_is_that_of_arrays(data):
    expected = 1
    for byte in data:
        expected = (expected * 31 + byte - (byte > 127) * 256) % 2**32
    assert java_hasher(Types.PRIMITIVE_ARRAY(Types.BYTE()))(data) == expected
