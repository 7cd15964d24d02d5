"""Rules about options by key, or by the beginning of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["OptionRule", "closest"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OptionRule:
    """What is done about some of Flink's options, and why.

    Attributes:
        reason: Why firesteel does not read them, as the end of a sentence.
        patterns: Keys, or beginnings of keys (`metrics.*`), separated by blanks. The longest that fits a key counts.
        accepted: Values that ask for what happens anyway; their case does not matter.
    """

    reason: str
    patterns: str
    accepted: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """Return the patterns."""
        return self.patterns.split()


def closest(by_pattern: Mapping[str, T], key: str) -> T | None:
    """Return what the longest pattern that fits a key stands for, or None if none does.

    Example:
        >>> closest({"rest.*": 1, "rest.flamegraph.*": 2}, "rest.flamegraph.enabled")
        2
    """
    parts = key.split(".")
    beginnings = [".".join([*parts[:count], "*"]) for count in range(len(parts) - 1, 0, -1)]
    return next((by_pattern[pattern] for pattern in (key, *beginnings) if pattern in by_pattern), None)
