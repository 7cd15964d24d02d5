"""What a run of a program with servers needs, and what it must leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.end_to_end.systems import Systems

__all__ = ["Prepare", "Prepared", "Run", "numbered"]


@dataclass(frozen=True)
class Prepared:
    """A run whose servers have their data.

    Attributes:
        arguments: The arguments of the program.
        left: Returns what the program has left, given what it has printed.
        expected: What must be left.
        batches: For programs without end: the number of batches after which everything is there.
        options: Options of the cluster.
        between: What happens then, before the job goes on for as many batches.
    """

    arguments: Mapping[str, object]
    left: Callable[[str], object]
    expected: object
    batches: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    between: Callable[[], object] | None = None


Prepare = Callable[[Systems, Path, Path], Prepared]
"""Prepares a run, given the systems, the directory of the inputs, and an empty one."""


@dataclass(frozen=True)
class Run:
    """A run of a program with servers.

    Attributes:
        systems: What the program uses.
        prepare: Prepares it.
        is_nightly: Whether it runs at night only, as it takes long.
    """

    systems: tuple[str, ...]
    prepare: Prepare
    is_nightly: bool = False


def numbered(values: list[Any]) -> list[str]:
    """Return each value with its running count, sorted: what counts of a stream are."""
    counts: Counter[Any] = Counter()
    found = []
    for value in values:
        counts[value] += 1
        found.append(f"{value} {counts[value]}")
    return sorted(found)
