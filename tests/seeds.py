"""How many seeds and examples of a test run: a part with each change, all of them each night."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from itertools import cycle, islice, product
from typing import TypeVar

Case = TypeVar("Case")

ALL = bool(os.environ.get("FIRESTEEL_ALL_SEEDS"))


def seeds(few: int, many: int) -> range:
    """Return the seeds that run."""
    return range(many if ALL else few)


def examples(many: int) -> int:
    """Return how many examples of Hypothesis run."""
    return many if ALL else many // 3


def on_spark(cases: Iterable[Case], every: int) -> list[Case]:
    """Return the cases that run on Spark, too, where all of them run without it: each N-th by day."""
    return list(cases)[:: 1 if ALL else every]


def combinations(*values: Collection[object]) -> list[tuple[object, ...]]:
    """Return all combinations of the values of some parameters, or so few that each value is in one of them."""
    if ALL:
        return list(product(*values))
    length = max(map(len, values))
    return list(zip(*(islice(cycle(some), length) for some in values), strict=True))


def steps(few: int, many: int) -> int:
    """Return how many random steps a test takes in each of its many cases."""
    return many if ALL else few
