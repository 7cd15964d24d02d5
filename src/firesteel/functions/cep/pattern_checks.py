"""Checks of patterns as a whole; those of single calls are in `pattern` and `quantifier`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from firesteel.functions.cep.cep_errors import MalformedPatternError
from firesteel.functions.cep.parts import Part, may_be_missing
from firesteel.functions.cep.pattern import Pattern
from firesteel.functions.cep.quantifier import ConsumingStrategy

__all__ = ["all_parts", "check_pattern", "smallest_window"]


T = TypeVar("T")


def check_pattern(pattern: Pattern[T]) -> None:
    """Check a pattern.

    Raises:
        MalformedPatternError: it cannot be matched, or would be matched in another way than it reads.
    """
    parts = pattern.parts
    names = [part.name for part in all_parts(parts) if not part.members]
    _check_names(names, pattern.skip_strategy.name)
    _check_end(parts)
    for part in all_parts(parts):
        if part.members:
            _check_group(part)
    _check_windows(parts)


def all_parts(parts: tuple[Part, ...]) -> Iterator[Part]:
    """Yield the parts of a pattern, and those of its groups."""
    waiting = list(reversed(parts))
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(part.members)


def smallest_window(parts: tuple[Part, ...]) -> int | None:
    """Return the maximum time of a match in ms, exclusive, or None."""
    return min((part.within_ms for part in parts if part.within_ms is not None), default=None)


def _check_names(names: list[str], skipped_to: str | None) -> None:
    for name in names:
        if not name or ":" in name or name == "$endState$":
            raise MalformedPatternError(f"a part needs a name without ':' other than '$endState$', found {name!r}")
        if names.count(name) > 1:
            raise MalformedPatternError(f"the parts of a pattern need different names; {name!r} occurs more than once")
    if skipped_to is not None and skipped_to not in names:
        raise MalformedPatternError(
            f"the AfterMatchSkipStrategy skips to {skipped_to!r}, but the pattern has the parts {', '.join(names)}"
        )


def _check_end(parts: tuple[Part, ...]) -> None:
    last = parts[-1]
    if last.quantifier.strategy is not ConsumingStrategy.NOT_FOLLOW:
        return
    if last.within_ms is None and last.within_previous_ms is None:
        raise MalformedPatternError(
            f"not_followed_by({last.name!r}) as the last part needs a time in which the event must not occur; "
            "call within() after it"
        )


def _check_group(group: Part) -> None:
    members = group.members
    if members[-1].quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
        raise MalformedPatternError(
            f"a group cannot end with not_followed_by({members[-1].name!r}); add the part after the group"
        )
    if any(member.within_ms is not None for member in members):
        raise MalformedPatternError("within() counts for the whole match; call it on a part outside of the group")
    if group.quantifier.is_looping and all(may_be_missing(member) for member in members):
        raise MalformedPatternError("a group that repeats without limit needs a part that is not optional")


def _check_windows(parts: tuple[Part, ...]) -> None:
    limit = smallest_window(parts)
    for part in all_parts(parts):
        time_ms = part.within_previous_ms
        if time_ms is None:
            continue
        if part.members or not part.quantifier.is_single:
            raise MalformedPatternError(
                f"within(PREVIOUS_AND_CURRENT) is for parts of one event; {part.text()} has a quantifier or is a group"
            )
        if part.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW and part is not parts[-1]:
            raise MalformedPatternError(
                f"within(PREVIOUS_AND_CURRENT) has no effect on not_followed_by({part.name!r}) before the last part"
            )
        if limit is not None and time_ms > limit:
            raise MalformedPatternError(
                f"the time from the previous event to {part.text()}, {time_ms} ms, is longer than that of the whole "
                f"match, {limit} ms"
            )
