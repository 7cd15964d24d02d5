from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.common.key_groups import (
    default_max_parallelism,
    java_hash_of_key,
    java_hasher,
    key_group_assigner,
    key_group_range,
    murmur_hash,
    operator_index,
)

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
        (None, 1, -89390159, 102),
    ],
)
def test_key_lands_where_flink_puts_it(key_type, key, java_hash, group):
    assert java_hash_of_key(key, key_type) == java_hash
    assert key_group_assigner(key_type, 128)(key) == group


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
    assert assign(1) == again(1.0) == again(True)


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
