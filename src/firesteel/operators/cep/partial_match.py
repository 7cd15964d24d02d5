"""Partial matches of the events of one key, which share the events that they have taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

from firesteel.functions.cep.skip_strategies import EventId, MatchedIds

__all__ = ["NO_EVENT", "Match", "NfaState", "PartialMatch", "Taken", "event_ids", "events_by_part"]

V = TypeVar("V")

Match = dict[str, list[object]]
"""The events of a match by name of the part, in the order in which they were taken."""

_MatchRow = tuple[str, int | None, EventId, int]
_Parts = tuple[list[tuple[EventId, object]], list[tuple[str, int, int | None]], list[_MatchRow], int, int]
"""Events by their ids; of what was taken the part, event and predecessor; matches; how many are partial; all events."""

NO_EVENT: EventId = (2**63 - 1, 2**31 - 1)
"""The id that stands for the first event of a match that has none yet, after all events."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """An event that partial matches have taken, after an earlier one or none.

    Partial matches that began alike share these, so that a branch costs one object. Flink has edges with version
    numbers between the nodes of its `SharedBuffer` instead, as it stores each node as state of its own.
    """

    part: str
    event: object
    id: EventId
    previous: Taken | None


@dataclass(frozen=True, slots=True, eq=False)
class PartialMatch:
    """A place of the automaton with the events on the way to it (Flink: `ComputationState`).

    Attributes:
        state: Name of the automaton's state.
        taken: The last event that was taken.
        start: The id of the first event.
        previous_ms: The time of the last event.
    """

    state: str
    taken: Taken | None = None
    start: EventId = NO_EVENT
    previous_ms: int = -1


def events_by_part(taken: Taken | None, of: Callable[[Taken], V]) -> dict[str, list[V]]:
    """Return what `of` gives for the events up to one, by part."""
    path = []
    while taken is not None:
        path.append(taken)
        taken = taken.previous
    found: dict[str, list[V]] = {}
    for event in reversed(path):
        found.setdefault(event.part, []).append(of(event))
    return found


def event_ids(taken: Taken | None) -> MatchedIds:
    """Return the ids of the events up to one, by part."""
    return events_by_part(taken, lambda event: event.id)


def start_of(match: PartialMatch) -> EventId:
    """Return the id of the first event of a match."""
    return match.start


@dataclass(frozen=True, eq=False)
class NfaState:
    """The matches of one key: a value of the keyed state, which is replaced and never changed (Flink: `NFAState`).

    Attributes:
        partial: The partial matches, in the order of a `MatchQueue`.
        completed: The complete matches that wait for partial ones which began before them, likewise.
        events: Number of events that were taken; the number of the next one.
    """

    partial: tuple[PartialMatch, ...]
    completed: tuple[PartialMatch, ...] = ()
    events: int = 0
    DATA_FIELDS: ClassVar = ("parts",)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, self.parts

    @classmethod
    def from_data(cls, parts: _Parts) -> NfaState:
        """Return the state with some `parts`."""
        return _restored(*parts)

    @property
    def parts(self) -> _Parts:
        """The events as a table, and what refers to it: a match may be longer than the stack is deep."""
        taken: _Numbers[Taken] = _Numbers()
        events: _Numbers[object] = _Numbers()
        rows = [_match_row(match, taken) for match in (*self.partial, *self.completed)]
        table = [(each.part, events.of(each.id, each.event), taken.known(each.previous)) for each in taken.values]
        values = list(zip(events.keys, events.values, strict=True))
        return cast("_Parts", (values, table, rows, len(self.partial), self.events))


class _Numbers(Generic[V]):
    """Numbers of values by their keys, from 0, in the order in which they were met."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self.values: list[V] = []

    @property
    def keys(self) -> Iterable[object]:
        """The keys, in order."""
        return self._numbers

    def of(self, key: object, value: V) -> int:
        """Return the number of a value, which may be new."""
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number

    def knows(self, value: object) -> bool:
        """Return whether a value was met whose key is its identity."""
        return id(value) in self._numbers

    def known(self, value: object) -> int | None:
        """Return the number of a value that was met, whose key is its identity; None for None."""
        return None if value is None else self._numbers[id(value)]


def _number_of_path(taken: Taken | None, numbers: _Numbers[Taken]) -> int | None:
    """Return the number of an event, after those before it."""
    path, last = [], taken
    # A loop and no recursion: matches may be longer than Python's stack.
    while taken is not None and not numbers.knows(taken):
        path.append(taken)
        taken = taken.previous
    for each in reversed(path):
        numbers.of(id(each), each)
    return numbers.known(last)


def _match_row(match: PartialMatch, taken: _Numbers[Taken]) -> tuple[object, ...]:
    return match.state, _number_of_path(match.taken, taken), match.start, match.previous_ms


def _restored(
    values: list[tuple[EventId, object]],
    table: list[tuple[str, int, int | None]],
    rows: list[tuple[str, int | None, EventId, int]],
    partial: int,
    count: int,
) -> NfaState:
    """Return the matches of a key; called by `pickle`."""
    taken: list[Taken] = []
    for part, number, previous in table:
        event_id, event = values[number]
        taken.append(Taken(part, event, event_id, None if previous is None else taken[previous]))
    matches = [
        PartialMatch(state, None if last is None else taken[last], start, previous_ms)
        for state, last, start, previous_ms in rows
    ]
    return NfaState(tuple(matches[:partial]), tuple(matches[partial:]), count)
