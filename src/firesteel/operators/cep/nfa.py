"""The run of an automaton over the events of a key, in order (Flink: `NFA`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firesteel.functions.cep.automaton import Automaton, Kind
from firesteel.functions.cep.conditions import ConditionContext
from firesteel.functions.cep.skip_strategies import AfterMatchSkipStrategy, EventId
from firesteel.operators.cep.match_queue import MatchQueue
from firesteel.operators.cep.partial_match import (
    NO_EVENT,
    Match,
    NfaState,
    PartialMatch,
    event_ids,
    events_by_part,
    start_of,
)
from firesteel.operators.cep.step import EventsSoFar, Step

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
        owned: Callable[[object], object],
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
        step = Step(self._automaton, event, (timestamp, state.events), self._context_of)
        steps = [step.following(match) for match in state.partial]
        # Most events change nothing; the state is then neither made anew nor written.
        if all(len(found) == 1 and found[0] is match for found, match in zip(steps, state.partial, strict=True)):
            return Found(state, [], [])
        partial, finished = self._sorted(steps)
        completed = self._with_completed(state, finished)
        matches = self._released(completed, partial)
        is_taken = step.takes or bool(finished.matches)
        changed = NfaState(tuple(partial.matches), tuple(completed.matches), state.events + is_taken)
        return Found(self._shared(changed), matches, [], step.begins)

    def _sorted(self, steps: list[list[PartialMatch]]) -> tuple[MatchQueue, MatchQueue]:
        """Return the partial and the complete ones of what partial matches became; a stop drops what is partial."""
        partial, finished = MatchQueue(start_of), MatchQueue(start_of)
        for found in steps:
            kinds = [self._automaton.states[match.state].kind for match in found]
            is_stopped = Kind.STOP in kinds
            for match, kind in zip(found, kinds, strict=True):
                if kind is Kind.FINAL:
                    finished.add(match)
                elif not is_stopped:
                    partial.add(match)
        return partial, finished

    def advance_time(self, state: NfaState, timestamp: int) -> Found:
        """Drop the partial matches whose time is over; those that only wait for that are complete."""
        if not self._has_windows or all(self._ends_at(match, timestamp) is None for match in state.partial):
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
        # It waits for its first event, from which the time counts.
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
            # A match that began earlier may still complete, and skip this one.
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

    def _context_of(self, match: PartialMatch, event: EventId) -> ConditionContext:
        """Return the context of conditions for an event after a partial match."""
        return EventsSoFar(match, event[0], self._owned, self._now_ms)
