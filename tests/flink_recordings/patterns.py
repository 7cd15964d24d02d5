"""Reads the recorded patterns: their text as a `Pattern`, and what an automaton finds as the text of the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.cep import AfterMatchSkipStrategy, IterativeCondition, Pattern, WithinType
from firesteel.common import Duration

Event = tuple[str, int]
"""Letter and number of an event, such as `b2`, and its time."""

FOLLOWING = {
    "next": Pattern.next,
    "followedBy": Pattern.followed_by,
    "followedByAny": Pattern.followed_by_any,
    "notNext": Pattern.not_next,
    "notFollowedBy": Pattern.not_followed_by,
}
QUANTIFIERS = {
    "oneOrMore": Pattern.one_or_more,
    "optional": Pattern.optional,
    "greedy": Pattern.greedy,
    "consecutive": Pattern.consecutive,
    "allowCombinations": Pattern.allow_combinations,
}


class AboveAll(IterativeCondition[str]):
    """Whether the number of an event is above those of the earlier events of a part."""

    def __init__(self, name: str) -> None:
        self.name = name

    def filter(self, value: str, context: Any) -> bool:
        return all(int(earlier[1:]) < int(value[1:]) for earlier in context.get_events_for_pattern(self.name))


def letters(allowed: str) -> Callable[[str], bool]:
    """Return the condition that the letter of an event is one of these."""
    return lambda event: event[0] in allowed


CALLS: dict[str, Callable[[Any, str], Any]] = {
    "where": lambda pattern, text: pattern.where(letters(text)),
    "or": lambda pattern, text: pattern.or_where(letters(text)),
    "until": lambda pattern, text: pattern.until(letters(text)),
    "iter": lambda pattern, text: pattern.where(AboveAll(text)),
    "times": lambda pattern, text: pattern.times(*map(int, text.split(","))),
    "timesOrMore": lambda pattern, text: pattern.times_or_more(int(text)),
    "within": lambda pattern, text: pattern.within(Duration.of_millis(int(text))),
    "withinPrev": lambda pattern, text: pattern.within(Duration.of_millis(int(text)), WithinType.PREVIOUS_AND_CURRENT),
}

SKIP_STRATEGIES: dict[str, Callable[[str], AfterMatchSkipStrategy]] = {
    "none": lambda name: AfterMatchSkipStrategy.no_skip(),
    "next": lambda name: AfterMatchSkipStrategy.skip_to_next(),
    "past": lambda name: AfterMatchSkipStrategy.skip_past_last_event(),
    "first": AfterMatchSkipStrategy.skip_to_first,
    "last": AfterMatchSkipStrategy.skip_to_last,
    "firstX": lambda name: AfterMatchSkipStrategy.skip_to_first(name).throw_exception_on_miss(),
    "lastX": lambda name: AfterMatchSkipStrategy.skip_to_last(name).throw_exception_on_miss(),
}


def pattern_of(text: str, skip: str = "none") -> Pattern[str]:
    """Return the pattern of its recorded text."""
    kind, _, name = skip.partition(":")
    words = text.split()
    return _parsed(iter(words), SKIP_STRATEGIES[kind](name))


def _parsed(words: Any, strategy: AfterMatchSkipStrategy | None) -> Pattern[str]:
    pattern: Any = None
    for word in words:
        if word == "]":
            break
        call, _, argument = word.partition(":")
        part: Any = argument
        if call.endswith("G"):
            assert next(words) == "["
            call, part = call[:-1], _parsed(words, None)
        if call == "begin":
            pattern = Pattern.begin(part, strategy)
        elif call in FOLLOWING:
            pattern = FOLLOWING[call](pattern, part)
        elif call in QUANTIFIERS:
            pattern = QUANTIFIERS[call](pattern)
        else:
            pattern = CALLS[call](pattern, argument)
    return pattern


def events_of(text: str) -> list[Event]:
    """Return the events of their recorded text."""
    return [(event, int(time)) for event, time in (word.split("@") for word in text.split())]


def match_text(match: dict[str, list[str]]) -> str:
    """Return the recorded text of a match."""
    return ";".join(f"{part}={','.join(events)}" for part, events in match.items())
