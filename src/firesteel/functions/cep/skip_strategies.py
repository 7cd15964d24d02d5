"""After a match: which other matches that have begun are dropped (Flink: `AfterMatchSkipStrategy`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from firesteel.functions.cep.cep_errors import MalformedPatternError

__all__ = ["AfterMatchSkipStrategy", "EventId", "MatchedIds"]

EventId = tuple[int, int]
"""Time of an event in ms and its number among the events of its key, so that ids are ordered as the events are."""

MatchedIds = dict[str, list[EventId]]
"""The ids of the events of a match by name of the part."""


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """Decides which partial and later matches a match drops; `Pattern.begin` takes it.

    Attributes:
        kind: Which events begin no further match.
        name: The part to skip to.
        throws: Whether a match without an event of that part fails the job.

    Example:
        >>> skipping = AfterMatchSkipStrategy.skip_past_last_event()
        >>> pairs = Pattern.begin("pair", skipping).times(2).consecutive()
        >>> matches = CEP.pattern(env.from_collection([1, 2, 3, 4], Types.INT()), pairs).in_processing_time()
        >>> _ = matches.select(lambda match: match["pair"]).collect_async()
        >>> run_local(env).elements
        [[1, 2], [3, 4]]
    """

    kind: Literal["none", "next", "last event", "first", "last"] = "none"
    name: str | None = None
    throws: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every match, which is the default."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop the other matches that begin with the same event."""
        return AfterMatchSkipStrategy("next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop the matches that begin with an event up to the last one of the match."""
        return AfterMatchSkipStrategy("last event")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop the matches that begin before the first event of a part."""
        return AfterMatchSkipStrategy("first", pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop the matches that begin before the last event of a part."""
        return AfterMatchSkipStrategy("last", pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Return a strategy that fails the job if a match has no event of the part, or begins with it.

        Raises:
            MalformedPatternError: the strategy does not skip to a part.
        """
        if self.name is None:
            raise MalformedPatternError("throw_exception_on_miss() belongs to skip_to_first() and skip_to_last()")
        return replace(self, throws=True)

    @property
    def is_skip_strategy(self) -> bool:
        """Whether a match may drop others, and therefore waits for those that began before it."""
        return self.kind != "none"

    def first_kept(self, matched: MatchedIds) -> EventId | None:
        """Return an id such that the matches that begin before it are dropped, or None if none are.

        Raises:
            RuntimeError: the match has no event of the part to skip to, or begins with it, and the strategy throws.
        """
        if self.kind == "next":
            return _after(min(ids[0] for ids in matched.values()))
        if self.kind == "last event":
            return _after(max(ids[-1] for ids in matched.values()))
        return self._part(matched) if self.kind != "none" else None

    def _part(self, matched: MatchedIds) -> EventId | None:
        assert self.name is not None
        ids = matched.get(self.name)
        if not ids:
            if self.throws:
                raise RuntimeError(f"could not skip to {self.name!r}: the match has events of {sorted(matched)} only")
            return None
        found = ids[0] if self.kind == "first" else ids[-1]
        if self.throws and found == min(ids[0] for ids in matched.values()):
            raise RuntimeError(f"could not skip to {self.name!r}, as it is the first event of the match")
        return found


def _after(event: EventId) -> EventId:
    return event[0], event[1] + 1
