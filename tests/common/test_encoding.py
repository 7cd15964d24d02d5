"""Values as bytes that are data: all come back as they were, and what is no data is pickled, or refused."""

from __future__ import annotations

import datetime
import math
import os
import pickle
import random
import uuid
import zoneinfo
from collections import Counter, OrderedDict
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.rows import batch_of, rows_of
from firesteel.common import Instant, Row, RowKind
from firesteel.common.encoding import (
    NotDataError,
    decoded,
    decoded_entries,
    encoded,
    encoded_data,
    encoded_entries,
    is_encoded,
)
from firesteel.common.encoding.kinds import Kind
from firesteel.common.encoding.program_values import program_value
from firesteel.common.keys.canonical_keys import canonical_key

UTC = datetime.UTC
ZONE = zoneinfo.ZoneInfo("Europe/Berlin")
FIXED = datetime.timezone(datetime.timedelta(hours=-3, seconds=7), "here")
TIME = datetime.datetime(2026, 11, 27, 4, 5, 6, 789001)

COLUMNS = [pa.int64(), pa.string()]

VALUES: dict[Kind, list[Any]] = {
    Kind.NONE: [None],
    Kind.BOOL: [True, False],
    Kind.INT: [0, -1, 255, -(2**63), 2**63 - 1],
    Kind.BIG_INT: [2**63, -(2**200)],
    Kind.FLOAT: [0.1, -0.0, math.inf],
    Kind.JOINED_TEXT: ["", "é", "\ud800", "\U0001f600"],
    Kind.TEXT: ["a\0b", "\0"],
    Kind.BYTES: [b"", b"\x80\x05"],
    Kind.BYTE_ARRAY: [bytearray(b"ab")],
    Kind.TUPLE: [(), (1, "a"), (1, (2, (3,)))],
    Kind.LIST: [[], [1, None, "a", [2.5]]],
    Kind.SET: [set(), {1, 2}],
    Kind.FROZEN_SET: [frozenset({"a"})],
    Kind.DICT: [{}, {"b": 1, "a": {2: [3]}}],
    Kind.ORDERED_DICT: [OrderedDict(b=1, a=2)],
    Kind.COUNTER: [Counter("aab")],
    Kind.DECIMAL: [Decimal("1.50"), Decimal("-0"), Decimal("Infinity"), Decimal("1E+9")],
    Kind.DATE: [datetime.date(1, 1, 1), datetime.date.max],
    Kind.DATETIME: [TIME, datetime.datetime.min, datetime.datetime.max],
    Kind.ZONED_DATETIME: [TIME.replace(tzinfo=UTC), TIME.replace(tzinfo=ZONE, fold=1), TIME.replace(fold=1)],
    Kind.TIME: [TIME.time(), datetime.time.min, datetime.time.max],
    Kind.ZONED_TIME: [TIME.time().replace(tzinfo=FIXED), TIME.time().replace(fold=1)],
    Kind.TIMEDELTA: [datetime.timedelta.min, datetime.timedelta.max],
    Kind.TIMEZONE: [UTC, FIXED],
    Kind.ZONE_INFO: [ZONE],
    Kind.UUID: [uuid.UUID(int=7)],
    Kind.COMPLEX: [1 + 2j],
    Kind.ARRAY: [np.arange(6).reshape(2, 3), np.array(["a", None], object), np.array([], "<M8[us]")],
    Kind.SCALAR: [np.float32(0.1), np.datetime64("2026-11-27")],
    Kind.ROW: [Row(), Row(1, "a"), Row(b=1, a=[2]), Row.of_kind(RowKind.DELETE, None)],
    Kind.INSTANT: [Instant(-5, 7)],
    Kind.VALUE_KEY: [canonical_key(1.5), canonical_key(math.nan), canonical_key([1, {2}]), canonical_key(Decimal(1))],
    Kind.RECORD: [RowKind.UPDATE_AFTER],
}
MANY = {
    Kind.SHORT_LIST: [[1, "a", [2.5]], [2, "b", []], [3, None, [0.5]]],
    Kind.TUPLES: [(), (1,), (1, 2)],
    Kind.JOINED: [batch_of([(1, "a"), (2, None)], COLUMNS), batch_of([], COLUMNS), batch_of([(3, "b")], COLUMNS)],
    Kind.SHARED: ["x" * 100] * 9,
    Kind.MIXED: [1, "a", None, 2.5, (1,), 2],
}
"""Columns of several values."""


def text(value: object) -> str:
    """Return what tells values apart that are equal."""
    if isinstance(value, ColumnBatch):
        return f"{rows_of(value)} {[column.type for column in value.columns]}"
    if isinstance(value, list):
        return f"{list(map(text, value))}"
    kinds = getattr(value, "_row_kind", None), getattr(value, "tzinfo", None), getattr(value, "fold", None)
    return f"{type(value)} {value!r} {kinds} {getattr(value, 'dtype', None)}"


def kind_of(value: object) -> Kind:
    """Return the kind of the column with a value alone."""
    return Kind(encoded(value)[1])


def test_each_kind_of_column_has_a_case() -> None:
    assert {*VALUES, *MANY, Kind.OPAQUE} == set(Kind)


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_each_kind_come_back(kind: Kind) -> None:
    for value in VALUES[kind]:
        assert kind_of(value) is kind
        assert text(decoded(encoded(value))) == text(value)
        assert text(decoded(encoded_data(value))) == text(value)


@pytest.mark.parametrize("kind", MANY)
def test_columns_of_each_kind_come_back(kind: Kind) -> None:
    values = MANY[kind]
    data = encoded(values)
    assert kind in data
    assert text(decoded(data)) == text(values)
    assert len(data) < (900 if kind is Kind.JOINED else 300)


@pytest.mark.parametrize("size", [1, 7, 64, 65, 1000])
def test_many_values_of_all_kinds_come_back_in_their_order(size: int) -> None:
    chosen = random.Random(size)
    for values in [*VALUES.values(), *MANY.values(), [value for found in VALUES.values() for value in found]]:
        column = [chosen.choice(values) for _ in range(size)]
        assert list(map(text, decoded(encoded(column)))) == list(map(text, column))


NUMBERS = st.one_of(st.integers(), st.integers(-300, 300), st.integers(-(2**63), 2**63 - 1))
PLAIN: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(), st.text(), st.binary(), st.decimals(), st.datetimes()),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner), st.builds(Row, inner, inner)
    ),
    max_leaves=30,
)


@given(PLAIN)
@settings(deadline=None)
def test_any_plain_value_comes_back(value: Any) -> None:
    assert text(decoded(encoded(value))) == text(value)


@given(st.lists(NUMBERS, min_size=1, max_size=200))
@settings(deadline=None)
def test_integers_of_all_sizes_come_back(values: list[int]) -> None:
    assert decoded(encoded(values)) == values
    assert decoded(encoded(values * 40)) == values * 40


@given(st.dictionaries(st.one_of(NUMBERS, st.text(), st.tuples(NUMBERS, st.text())), PLAIN, max_size=30))
def test_entries_come_back_in_their_order(entries: dict[Any, Any]) -> None:
    name, found = decoded_entries(encoded_entries("state", entries))
    assert name == "state"
    assert text(list(found.items())) == text(list(entries.items()))


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("evil",)


def test_other_classes_are_pickled_and_left_to_the_reader() -> None:
    data = encoded_entries("state", {1: Point(1), 2: 7, 3: Point(3)})
    with pytest.raises(NotDataError, match="a pickle where data is expected"):
        decoded_entries(data)
    handed: list[bytes] = []
    _, found = decoded_entries(data, lambda part: handed.append(part) or pickle.loads(part))
    assert [found[1].x, found[2], found[3].x] == [1, 7, 3]
    assert [[point.x for point in pickle.loads(part)] for part in handed] == [[1, 3]]
    with pytest.raises(NotDataError, match=r"test_encoding\.Point"):
        encoded_data([1, Point(1)])


def test_what_is_shared_stays_shared() -> None:
    one, other = [1], [1]
    found = program_value(encoded([one, one, other]))
    assert found == [[1], [1], [1]]
    assert found[0] is found[1]
    assert found[0] is not found[2]
    found = program_value(encoded({"a": one, "b": ([one], 1)}))
    assert found["a"] is found["b"][0][0]
    loop: list[Any] = [1]
    loop.append(loop)
    found = program_value(encoded(loop))
    assert found[1] is found


def test_windows_share_their_elements() -> None:
    elements = [(number, f"element {number}") for number in range(1000)]
    once, thrice = {1: elements}, {1: elements, 2: [*elements], 3: [*elements]}
    sizes = [len(encoded_entries("windows", entries)) for entries in (once, thrice)]
    assert sizes[1] < sizes[0] + 3 * 2 * 1000 + 100
    assert decoded_entries(encoded_entries("windows", thrice))[1] == thrice


def test_long_tuples_and_lists_make_no_column_for_each_place() -> None:
    for value in (tuple(range(100_000)), [tuple(range(1000))] * 3, [list(range(1000)), list(range(1000))]):
        data = encoded(value)
        assert len(data) < 500_000
        assert decoded(data) == value


def test_tuples_that_grow_without_bound_are_pickled() -> None:
    value: tuple[Any, ...] = ()
    for _ in range(40):
        value = (value,)
    assert kind_of(value) is Kind.OPAQUE
    assert program_value(encoded(value)) == value


def test_no_code_is_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data in (encoded(Evil()), encoded([1, Evil()]), pickle.dumps(Evil()), b"", b"\xf1"):
        with pytest.raises(NotDataError):
            decoded(data)
    form = ("reduce", ("global", "os", "mkdir"), ("tuple", "evil"), None, None, None)
    for bad in (form, ("float", b"1"), ()):
        data = bytearray(encoded(bad))
        data.insert(1, Kind.VALUE_KEY)
        with pytest.raises(NotDataError):
            decoded(bytes(data))
    assert list(tmp_path.iterdir()) == []


def test_damaged_data_is_an_error() -> None:
    chosen = random.Random(7)
    data = encoded_entries("state", dict(enumerate(value for values in VALUES.values() for value in values)))
    for cut in range(1, len(data), 5):
        with pytest.raises(NotDataError):
            decoded_entries(data[:cut])
    for _ in range(2000):
        changed = bytearray(data)
        changed[chosen.randrange(1, len(data))] ^= 1 << chosen.randrange(8)
        try:
            decoded_entries(bytes(changed))
        except NotDataError:
            continue


def test_a_pickle_is_not_taken_for_data() -> None:
    assert is_encoded(encoded(1))
    assert is_encoded(encoded_entries("s", {}))
    assert not any(is_encoded(pickle.dumps(1, protocol)) for protocol in range(6))


def test_classes_and_fields_of_later_releases_are_named() -> None:
    data = encoded(RowKind.INSERT)
    with pytest.raises(NotDataError, match="class 'RowKinx', which this release does not know"):
        decoded(data.replace(b"RowKind", b"RowKinx"))
    with pytest.raises(NotDataError, match="field 'namx' of RowKind, which this release does not know"):
        decoded(data.replace(b"name", b"namx"))
