"""Rows that are retracted are found among many: as a search from the front finds them, and without one."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from firesteel.columns.kernels.row_places import RowPlaces
from firesteel.columns.row_keys import NAN
from tests.columns.counting import calls_made

VALUES = {"hashed": [1, 2, None, NAN, 0.0, -0.0, "a", (1, NAN)], "unhashed": [1, [1, 2], {"a": 1}, "a"]}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", VALUES)
def test_random_rows_come_and_go(kind, seed):
    choose, places, entries = random.Random(seed), RowPlaces(), []
    growth = choose.choice([0.5, 0.6, 0.9])
    for number in range(1200):
        row = (choose.choice(VALUES[kind]), choose.randrange(choose.choice([3, 40])))
        if choose.random() < growth:
            entries.append([row, number])
        else:
            before = list(entries)
            entry = places.pop((0, "k"), entries, row)
            assert (entry is None) == all(kept[0] != row for kept in before)
            assert entry is None or (entry[0] == row and entry in before)
            left = Counter(kept[1] for kept in before)
            assert Counter(kept[1] for kept in entries) == (left - Counter([] if entry is None else [entry[1]]))
        if choose.random() < 0.01:
            entries = list(entries)  # as after some rows expired


def test_a_row_is_found_in_many_as_in_few():
    calls = []
    for count in (1000, 8000):
        places, entries = RowPlaces(), [[(number,), 0] for number in range(count)]
        places.pop("k", entries, (count // 2,))
        calls.append(calls_made(lambda: places.pop("k", entries, (count // 3,))))  # noqa: B023
    assert calls[0] == calls[1]


def test_equal_rows_are_removed_in_time_that_hardly_grows():
    places, entries = RowPlaces(), [[("a",), number] for number in range(1000)]
    assert [places.pop("k", entries, ("a",))[1] for _ in range(3)] == [999, 998, 997]
    assert places.pop("k", entries, ("b",)) is None
    assert len(entries) == 997
