"""Stable orders of integers."""

from __future__ import annotations

import numpy as np
import pytest

from firesteel.columns.cells import Array
from firesteel.columns.orders import lexical_order, stable_order

_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_COUNTS = [0, 1, 2, 128, 129, 1000, 5000]


def _kinds(count: int) -> dict[str, Array]:
    random = np.random.default_rng(count)
    wide = random.integers(_LEAST, _MOST, count, endpoint=True)
    return {
        "few values": random.integers(-3, 3, count),
        "codes": random.integers(0, max(count, 1), count),
        "wide, all different": wide,
        "wide, again and again": wide[random.integers(0, max(count // 3, 1), count)] if count else wide,
        "the limits": random.choice([_LEAST, _LEAST + 1, -1, 0, _MOST], count),
        "hashes": random.integers(0, 2**64 - 1, count, np.uint64, endpoint=True),
        "hashes with equal ones": random.choice(np.array([0, 1, 2**63, 2**64 - 1], np.uint64), count),
        "narrow": random.integers(-100, 100, count).astype(np.int16),
        "flags": random.integers(0, 2, count).astype(bool),
        "ascending": np.arange(count) // 3,
        "two ascending runs": np.concatenate([np.arange(count // 2), np.arange(count - count // 2)]),
        "descending": np.arange(count)[::-1] // 3,
        "one value": np.full(count, 7),
    }


@pytest.mark.parametrize("count", _COUNTS)
def test_the_order_is_that_of_a_stable_sort(count: int) -> None:
    for name, numbers in _kinds(count).items():
        np.testing.assert_array_equal(stable_order(numbers), np.argsort(numbers, kind="stable"), name)


@pytest.mark.parametrize("count", _COUNTS)
def test_an_order_by_several_keys_is_that_of_numpy(count: int) -> None:
    kinds = _kinds(count)
    for major, high in kinds.items():
        np.testing.assert_array_equal(lexical_order([high]), np.lexsort([high]), major)
        for minor, low in kinds.items():
            expected = np.lexsort((low, high))
            np.testing.assert_array_equal(lexical_order([high, low]), expected, f"{major}, {minor}")
            three = (kinds["few values"], high, low)
            np.testing.assert_array_equal(lexical_order(three), np.lexsort(three[::-1]), f"{major}, {minor}")
