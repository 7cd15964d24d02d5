"""A rule about options that firesteel does not read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OptionRule"]


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
