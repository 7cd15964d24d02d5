"""How many seeds and examples of a test run: a part with each change, all of them each night."""

from __future__ import annotations

import os

ALL = bool(os.environ.get("FIRESTEEL_ALL_SEEDS"))


def seeds(few: int, many: int) -> range:
    """Return the seeds that run."""
    return range(many if ALL else few)


def examples(many: int) -> int:
    """Return how many examples of Hypothesis run."""
    return many if ALL else many // 2
