"""A part of a pattern with its neighbours, which decide how it is compiled."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.functions.cep.parts import Part
from firesteel.functions.cep.quantifier import ConsumingStrategy

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """A part within its sequence.

    Attributes:
        parts: The sequence.
        index: The position of the part in it.
        group: The group that the sequence belongs to, if any.
        is_first: Whether these are the states of the group's first occurrence.
        after: The part after the group.
    """

    parts: tuple[Part, ...]
    index: int
    group: Part | None
    is_first: bool
    after: Part | None

    @property
    def part(self) -> Part:
        """The part itself."""
        return self.parts[self.index]

    @property
    def following(self) -> Part | None:
        """The next part, also if that is after the group."""
        return self.parts[self.index + 1] if self.index + 1 < len(self.parts) else self.after

    @property
    def is_head(self) -> bool:
        """Whether the part begins a group, so that the group's strategies apply to it."""
        return self.group is not None and self.index == 0

    @property
    def begins_optional_group(self) -> bool:
        """Whether the part begins the first occurrence of a group that may be missing."""
        return self.is_head and self.is_first and self.group is not None and self.group.quantifier.is_optional

    def strategy(self) -> ConsumingStrategy:
        """Return which events are skipped before the part's first event."""
        if self.group is not None and self.is_head:
            return self.group.quantifier.strategy if self.is_first else self.group.quantifier.inner
        return self.part.quantifier.strategy

    def inner_strategy(self) -> ConsumingStrategy:
        """Return which events are skipped between the part's events."""
        return self.group.quantifier.inner if self.group is not None and self.is_head else self.part.quantifier.inner

    def nots(self) -> list[Part]:
        """Return the parts that must not occur before this one, also across optional parts."""
        found, index = [], self.index - 1
        while index >= 0:
            quantifier = self.parts[index].quantifier
            if quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
                found.append(self.parts[index])
            elif not quantifier.is_optional:
                break
            index -= 1
        return found
