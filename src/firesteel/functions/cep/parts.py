"""The parts of a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from firesteel.functions.cep.conditions import Clause
from firesteel.functions.cep.quantifier import Quantifier

__all__ = ["Part", "WithinType", "may_be_missing"]


class WithinType(Enum):
    """The events between which the time of `Pattern.within` counts."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


@dataclass(eq=False)
class Part:
    """One part of a pattern.

    Attributes:
        name: Name of its events in a match; empty for a group.
        quantifier: How often it occurs.
        members: The parts of a group; empty for a part with a name.
        condition: The condition of its events; None takes all.
        until: The condition of the event that ends a loop.
        within_ms: Maximum time from the first to the last event of the match, exclusive; None if there is no limit.
        within_previous_ms: The same from the previous event to the one of this part.
    """

    name: str
    quantifier: Quantifier
    members: tuple[Part, ...] = ()
    condition: Clause | None = None
    until: Clause | None = None
    within_ms: int | None = None
    within_previous_ms: int | None = None

    def text(self) -> str:
        """Return how messages name the part."""
        return "a group of " + ", ".join(member.text() for member in self.members) if self.members else repr(self.name)


def may_be_missing(part: Part) -> bool:
    """Return whether a match may have no event of a part."""
    if part.quantifier.is_optional or part.quantifier.strategy.is_not:
        return True
    return bool(part.members) and all(may_be_missing(member) for member in part.members)
