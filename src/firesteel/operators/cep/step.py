"""What one event does to partial matches."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.functions.cep.automaton import Action, Automaton, Edge, Kind, State
from firesteel.functions.cep.conditions import Clause, ConditionContext
from firesteel.functions.cep.skip_strategies import EventId
from firesteel.operators.cep.partial_match import PartialMatch, Taken, events_by_part

__all__ = ["EventsSoFar", "Step"]

ContextOf = Callable[[PartialMatch, EventId], ConditionContext]
"""Returns the context of conditions for an event after a partial match."""


class Step:
    """An event, and what it does to the partial matches one after another.

    Attributes:
        takes: Whether a partial match has taken the event.
        begins: Whether a match has begun with it.
    """

    def __init__(self, automaton: Automaton, event: object, event_id: EventId, context_of: ContextOf) -> None:
        self._states = automaton.states
        self._context_of = context_of
        self._event = event
        self._id = event_id
        self._clauses = automaton.clauses
        self._simple: dict[int, bool] = {}
        self.takes = self.begins = False

    def following(self, match: PartialMatch) -> list[PartialMatch]:
        """Return the partial matches that one becomes, in the order of Flink's."""
        state = self._states[match.state]
        check = self._checker(match)
        is_start = state.kind is Kind.START
        found: list[PartialMatch] = []
        for source, edge in self._open_edges(state, check):
            if edge.action is Action.TAKE:
                self.takes, self.begins = True, self.begins or is_start
                taken = Taken(source.part, self._event, self._id, match.taken)
                start = self._id if is_start else match.start
                found.append(PartialMatch(edge.target.name, taken, start, self._id[0]))
                # A match is complete with the event that it takes, not with the one after, even if optional parts may
                # follow.
                if (final := self._final_after(edge.target, check)) is not None:
                    found.append(PartialMatch(final.name, taken, start, self._id[0]))
            elif not is_start:
                is_same = edge.target is state
                found.append(
                    match if is_same else PartialMatch(edge.target.name, match.taken, match.start, match.previous_ms)
                )
        # The next event may begin a match, too.
        if is_start:
            found.append(match)
        return found

    def _open_edges(self, state: State, check: Callable[[int], bool]) -> list[tuple[State, Edge]]:
        """Return the transitions that take or ignore the event, also after passing it on."""
        waiting, found = [state], []
        while waiting:
            source = waiting.pop()
            for edge in source.edges:
                if edge.guard.is_open(check):
                    if edge.action is Action.PROCEED:
                        waiting.append(edge.target)
                    else:
                        found.append((source, edge))
        return found

    def _final_after(self, state: State, check: Callable[[int], bool]) -> State | None:
        """Return the final state if a state reaches it without a further event."""
        waiting = [state]
        while waiting:
            for edge in waiting.pop().edges:
                if edge.action is Action.PROCEED and edge.guard.is_open(check):
                    if edge.target.kind is Kind.FINAL:
                        return edge.target
                    waiting.append(edge.target)
        return None

    def _checker(self, match: PartialMatch) -> Callable[[int], bool]:
        """Return the function that tells which clauses are true, each of which it evaluates once."""
        simple: dict[int, bool] = self._simple
        iterative: dict[int, bool] = {}
        context: ConditionContext | None = None

        def check(number: int) -> bool:
            nonlocal context
            clause: Clause = self._clauses[number]
            known = simple if clause.is_simple else iterative
            if number not in known:
                context = context or self._context_of(match, self._id)
                known[number] = clause.is_true(self._event, context)
            return known[number]

        return check


class EventsSoFar(ConditionContext):
    """The context of a condition for an event after a partial match."""

    def __init__(
        self, match: PartialMatch, timestamp: int, owned: Callable[[object], object], now_ms: Callable[[], int]
    ) -> None:
        self._match = match
        self._timestamp = timestamp
        self._owned = owned
        self._now_ms = now_ms
        self._events: dict[str, list[Taken]] | None = None

    def get_events_for_pattern(self, name: str) -> list[object]:
        """Return the events that the partial match has taken for a part."""
        if self._events is None:
            self._events = events_by_part(self._match.taken, lambda taken: taken)
        return [self._owned(taken.event) for taken in self._events.get(name, ())]

    def timestamp(self) -> int:
        """Return the time of the event."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """Return the processing time."""
        return self._now_ms()
