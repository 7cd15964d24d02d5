"""The run of an automaton over the events of a key, in order (Flink: `NFA`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.functions.cep.automaton import Action, Automaton, Edge, Kind, State
from firesteel.functions.cep.conditions import Clause, ConditionContext
from firesteel.functions.cep.skip_strategies import AfterMatchSkipStrategy, EventId
from firesteel.operators.cep.match_queue import MatchQueue
from firesteel.operators.cep.partial_match import (
    NO_EVENT,
    Match,
    NfaState,
    PartialMatch,
    Taken,
    event_ids,
    events_by_part,
    start_of,
)

__all__ = ["Found", "Nfa"]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of an event, or of the progress of time.

    Attributes:
        state: The matches of the key from now on; the same object if nothing has changed.
        matches: The complete matches.
        timed_out: Partial matches that took too long, with the time in ms at which they did.
        begins: Whether a match has begun.
    """

    state: NfaState
    matches: list[Match]
    timed_out: list[tuple[Match, int]]
    begins: bool = False


class Nfa:
    """Matches events against an automaton.

    An event costs a step for each partial match of its key. Conditions on the event alone are evaluated once for it.

    Args:
        automaton: The compiled pattern.
        skip: What a match does to others.
        reports_timeouts: Whether partial matches that took too long are wanted.
        owned: Copies an event for user code, which may change it.
        now_ms: Returns the processing time.
    """

    def __init__(
        self,
        automaton: Automaton,
        skip: AfterMatchSkipStrategy,
        reports_timeouts: bool,
        owned: Callable[[object], Any],
        now_ms: Callable[[], int],
    ) -> None:
        self._automaton = automaton
        self._skip = skip
        self._reports_timeouts = reports_timeouts
        self._owned = owned
        self._now_ms = now_ms
        self._has_windows = automaton.within_ms is not None or any(
            state.within_ms is not None for state in automaton.states.values()
        )
        self.initial = NfaState((PartialMatch(automaton.start.name),))
        """The state of a key without events."""

    def process(self, state: NfaState, event: object, timestamp: int) -> Found:
        """Match an event."""
        step = _Step(self, event, (timestamp, state.events))
        partial, finished = MatchQueue(start_of), MatchQueue(start_of)
        for match in state.partial:
            following = step.following(match)
            kinds = [self._automaton.states[each.state].kind for each in following]
            for each, kind in zip(following, kinds, strict=True):
                if kind is Kind.FINAL:
                    finished.add(each)
            if Kind.STOP not in kinds:
                for each, kind in zip(following, kinds, strict=True):
                    if kind is not Kind.FINAL:
                        partial.add(each)
            step.is_same = step.is_same and following == [match]
        if step.is_same:
            return Found(state, [], [])
        completed = self._with_completed(state, finished)
        matches = self._released(completed, partial)
        is_taken = step.takes or bool(finished.matches)
        changed = NfaState(tuple(partial.matches), tuple(completed.matches), state.events + is_taken)
        return Found(self._shared(changed), matches, [], step.begins)

    def advance_time(self, state: NfaState, timestamp: int) -> Found:
        """Drop the partial matches whose time is over; those that only wait for that are complete."""
        if not self._has_windows:
            return Found(state, [], [])
        partial, finished = MatchQueue(start_of), MatchQueue(start_of)
        timed_out: list[tuple[Match, int]] = []
        for match in state.partial:
            over = self._ends_at(match, timestamp)
            if over is None:
                partial.add(match)
            elif self._automaton.states[match.state].kind is Kind.PENDING:
                finished.add(match)
            elif self._reports_timeouts:
                timed_out.append((self._events(match), over))
        if len(partial.matches) == len(state.partial):
            return Found(state, [], [])
        completed = self._with_completed(state, finished)
        matches = self._released(completed, partial)
        changed = NfaState(tuple(partial.matches), tuple(completed.matches), state.events)
        return Found(self._shared(changed), matches, timed_out)

    def _shared(self, state: NfaState) -> NfaState:
        """Return the initial state itself if a key has no matches, so that nothing is stored for the key."""
        is_initial = not state.completed and len(state.partial) == 1 and state.partial[0].start == NO_EVENT
        return self.initial if is_initial else state

    def _ends_at(self, match: PartialMatch, timestamp: int) -> int | None:
        """Return when the time of a match was over, or None if it is not."""
        if match.start == NO_EVENT:
            return None
        within = self._automaton.states[match.state].within_ms
        if within is not None and timestamp - match.previous_ms >= within:
            return match.previous_ms + within
        within = self._automaton.within_ms
        if within is not None and timestamp - match.start[0] >= within:
            return match.start[0] + within
        return None

    def _with_completed(self, state: NfaState, finished: MatchQueue) -> MatchQueue:
        completed = MatchQueue(start_of, state.completed)
        for match in finished.matches:
            completed.add(match)
        return completed

    def _released(self, completed: MatchQueue, partial: MatchQueue) -> list[Match]:
        """Remove the complete matches that no partial match began before, and drop what they skip."""
        skip, found = self._skip, []
        while completed.matches:
            earliest = completed.matches[0]
            if skip.is_skip_strategy and partial.matches and partial.matches[0].start < earliest.start:
                break
            completed.pop()
            if skip.is_skip_strategy:
                self._drop_skipped(earliest, partial, completed)
            found.append(self._events(earliest))
        return found

    def _drop_skipped(self, found: PartialMatch, *queues: MatchQueue) -> None:
        first = self._skip.first_kept(event_ids(found.taken))
        if first is not None:
            for queue in queues:
                queue.remove(lambda match: match.start < first)

    def _events(self, match: PartialMatch) -> Match:
        return events_by_part(match.taken, lambda taken: self._owned(taken.event))

    @property
    def automaton(self) -> Automaton:
        """Return the automaton."""
        return self._automaton

    def context_of(self, match: PartialMatch, event: EventId) -> ConditionContext:
        """Return the context of conditions for an event after a partial match."""
        return _Context(match, event[0], self._owned, self._now_ms)


class _Step:
    """An event, and what it does to the partial matches one after another.

    Attributes:
        is_same: Whether no partial match has changed so far.
        takes: Whether a partial match has taken the event.
        begins: Whether a match has begun with it.
    """

    def __init__(self, nfa: Nfa, event: object, event_id: EventId) -> None:
        self._nfa = nfa
        self._event = event
        self._id = event_id
        self._clauses = nfa.automaton.clauses
        self._simple: dict[int, bool] = {}
        self.is_same = True
        self.takes = self.begins = False

    def following(self, match: PartialMatch) -> list[PartialMatch]:
        """Return the partial matches that one becomes, in the order of Flink's."""
        state = self._nfa.automaton.states[match.state]
        check = self._checker(match)
        is_start = state.kind is Kind.START
        found: list[PartialMatch] = []
        for source, edge in self._open_edges(state, check):
            if edge.action is Action.TAKE:
                self.takes, self.begins = True, self.begins or is_start
                taken = Taken(source.part, self._event, self._id, match.taken)
                start = self._id if is_start else match.start
                found.append(PartialMatch(edge.target.name, taken, start, self._id[0]))
                if (final := self._final_after(edge.target, check)) is not None:
                    found.append(PartialMatch(final.name, taken, start, self._id[0]))
            elif not is_start:
                is_same = edge.target is state
                found.append(
                    match if is_same else PartialMatch(edge.target.name, match.taken, match.start, match.previous_ms)
                )
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
                context = context or self._nfa.context_of(match, self._id)
                known[number] = clause.is_true(self._event, context)
            return known[number]

        return check


class _Context(ConditionContext):
    def __init__(
        self, match: PartialMatch, timestamp: int, owned: Callable[[object], Any], now_ms: Callable[[], int]
    ) -> None:
        self._match = match
        self._timestamp = timestamp
        self._owned = owned
        self._now_ms = now_ms
        self._events: dict[str, list[Taken]] | None = None

    def get_events_for_pattern(self, name: str) -> list[object]:
        if self._events is None:
            self._events = events_by_part(self._match.taken, lambda taken: taken)
        return [self._owned(taken.event) for taken in self._events.get(name, ())]

    def timestamp(self) -> int:
        return self._timestamp

    def current_processing_time(self) -> int:
        return self._now_ms()
