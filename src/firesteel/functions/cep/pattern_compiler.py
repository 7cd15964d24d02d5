"""Compiles a pattern to an automaton, from its last part to its first (Flink: `NFACompiler`).

Each part becomes states whose transitions take, ignore or pass on an event. A part that must not occur becomes no state
but a transition to a stop state from each state in which it may not occur. Why there is an automaton beside the
search of MATCH_RECOGNIZE: `docs/decisions/0049-event-patterns.md`.
"""

from __future__ import annotations

from typing import TypeVar

from firesteel.functions.cep.automaton import ALWAYS, Action, AllOf, Automaton, Guard, Holds, Kind, Not, State, unless
from firesteel.functions.cep.conditions import Clause
from firesteel.functions.cep.parts import Part
from firesteel.functions.cep.pattern import Pattern
from firesteel.functions.cep.pattern_checks import check_pattern, smallest_window
from firesteel.functions.cep.place import Place
from firesteel.functions.cep.quantifier import ConsumingStrategy

__all__ = ["compile_pattern"]

_END = "$endState$"

T = TypeVar("T")


def compile_pattern(pattern: Pattern[T]) -> Automaton:
    """Return the automaton of a pattern.

    Raises:
        MalformedPatternError: the pattern makes no sense.
    """
    check_pattern(pattern)
    return _Compiler().compile(pattern.parts)


class _Compiler:
    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._stops: dict[str, State] = {}
        self._clauses: list[Clause] = []
        self._numbers: dict[Clause, int] = {}
        self._before_greedy: dict[str, State] = {}

    def compile(self, parts: tuple[Part, ...]) -> Automaton:
        """Return the automaton of a sequence of parts."""
        end = self._state(_END, Kind.FINAL, None)
        start = self._sequence(parts, end, None, True, None)
        start.kind = Kind.START
        return Automaton(self._states, start, tuple(self._clauses), smallest_window(parts))

    def _sequence(
        self, parts: tuple[Part, ...], sink: State, group: Part | None, is_first: bool, after: Part | None
    ) -> State:
        for index in reversed(range(len(parts))):
            place = Place(parts, index, group, is_first, after)
            if place.part.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
                sink = self._never_after(place, sink)
            elif place.part.quantifier.strategy is ConsumingStrategy.NOT_NEXT:
                sink = self._not_next(place, sink)
            else:
                sink = self._occurring(place, sink)
        return sink

    def _never_after(self, place: Place, sink: State) -> State:
        """Return the state that waits for the end of the time, if the part is the last one; otherwise add none."""
        if sink.kind is not Kind.FINAL:
            return sink
        pending = self._state_of(place, Kind.PENDING)
        forbidden = self._take(place, place.part)
        pending.add(Action.PROCEED, self._stop(forbidden, place.part.name), forbidden)
        pending.add(Action.IGNORE, pending, Not(forbidden))
        return pending

    def _not_next(self, place: Place, sink: State) -> State:
        state = self._state_of(place)
        forbidden = self._take(place, place.part)
        # A match is only complete with an event, so before the end the other event is ignored, not passed on.
        action = Action.IGNORE if sink.kind is Kind.FINAL else Action.PROCEED
        stop = self._stop(forbidden, place.part.name)
        state.add(action, sink, Not(forbidden))
        state.add(Action.PROCEED, stop, forbidden)
        return state

    def _occurring(self, place: Place, sink: State) -> State:
        quantifier = place.part.quantifier
        if quantifier.is_looping:
            looping = self._loop(place, self._without_nots(place, sink))
            first = self._times(place, looping, sink)
        elif not quantifier.is_single:
            first = self._times(place, sink, sink)
        else:
            guards = self._take(place, place.part), self._ignore(place, place.strategy())
            first = self._one(place, sink, sink, guards, quantifier.is_optional, True)
        self._add_stops(place, first)
        return first

    def _times(self, place: Place, sink: State, proceed: State) -> State:
        """Return the first of the states that take a number of events."""
        quantifier, part = place.part.quantifier, place.part
        high = quantifier.low if quantifier.high is None else quantifier.high
        until = self._until(part)
        take = unless(until, self._take(place, part))
        between = self._ignore(place, place.inner_strategy())
        between = between and unless(until, between)
        # What follows gets no event that the greedy part can still take.
        if quantifier.is_greedy and quantifier.low != high:
            sink.wait_for(Not(take))
        last = sink
        for _ in range(quantifier.low, high):
            last = self._one(place, last, proceed, (take, between), True, False)
            self._add_stop_after_loop(place, last)
        for _ in range(quantifier.low - 1):
            last = self._one(place, last, proceed, (take, between), False, False)
            self._add_stop_after_loop(place, last)
        guards = take, self._ignore(place, place.strategy())
        return self._one(place, last, proceed, guards, quantifier.is_optional, True)

    def _one(
        self,
        place: Place,
        sink: State,
        proceed: State,
        guards: tuple[Guard, Guard | None],
        is_optional: bool,
        is_first: bool,
    ) -> State:
        """Return the state that takes one event, or the first one of a group's states.

        `sink` is the state after the event and `proceed` the one to go on with without an event. The guards are of the
        event to take, and of events to ignore before it, if any may be.
        """
        part, (take, ignore) = place.part, guards
        if part.members:
            first = self._sequence(part.members, sink, part, is_first, place.following)
            if is_optional:
                first.add(Action.PROCEED, proceed, self._passing(place))
            return first
        state = self._state_of(place)
        sink = self._without_nots(place, sink)
        state.add(Action.TAKE, sink, take)
        if is_optional:
            self._add_proceed(place, state, proceed)
        if ignore is not None:
            ignoring = state
            if is_optional or place.begins_optional_group:
                # Without a way to leave out the part, so that each event offers that way once.
                ignoring = self._state(part.name, Kind.NORMAL, None)
                ignoring.add(Action.TAKE, sink, take)
                ignoring.add(Action.IGNORE, ignoring, ignore)
                self._add_stops(place, ignoring)
            state.add(Action.IGNORE, ignoring, ignore)
        return state

    def _add_proceed(self, place: Place, state: State, proceed: State) -> None:
        passing, until = self._passing(place), self._until(place.part)
        if place.part.quantifier.is_greedy and until is not None:
            state.add(Action.PROCEED, self._before_greedy.get(proceed.name, proceed), AllOf((passing, until)))
            passing = AllOf((passing, Not(until)))
        state.add(Action.PROCEED, proceed, passing)

    def _loop(self, place: Place, sink: State) -> State:
        """Return the state that takes any number of further events."""
        part = place.part
        if part.members:
            again = self._state_of(place)
            first = self._sequence(part.members, again, part, False, place.following)
            first.add(Action.PROCEED, sink, self._passing(place))
            again.add(Action.PROCEED, first, self._passing(place))
            return first
        until = self._until(part)
        take = unless(until, self._take(place, part))
        ignore = self._ignore(place, place.inner_strategy())
        looping = self._state_of(place)
        if part.quantifier.is_greedy and until is not None:
            # As it is before it waits for the loop, which `until` ends.
            self._before_greedy[sink.name] = self._copy(sink)
        self._add_proceed(place, looping, sink)
        if part.quantifier.is_greedy:
            sink.wait_for(Not(self._take(place, part)))
        looping.add(Action.TAKE, looping, take)
        self._add_stop_after_loop(place, looping)
        if ignore is not None:
            ignore = unless(until, ignore)
            ignoring = self._state(part.name, Kind.NORMAL, None)
            ignoring.add(Action.TAKE, looping, take)
            ignoring.add(Action.IGNORE, ignoring, ignore)
            looping.add(Action.IGNORE, ignoring, ignore)
            self._add_stop_after_loop(place, ignoring)
        return looping

    # --- parts that must not occur -----------------------------------------------------------------------------------

    def _stop(self, forbidden: Guard, name: str) -> State:
        stop = self._stops.get(name)
        if stop is None:
            stop = self._stops[name] = self._state(name, Kind.STOP, None)
            stop.add(Action.TAKE, stop, forbidden)
        return stop

    def _add_stops(self, place: Place, state: State) -> None:
        for part in place.nots():
            forbidden = self._take(place, part)
            state.add(Action.PROCEED, self._stop(forbidden, part.name), forbidden)

    def _add_stop_after_loop(self, place: Place, state: State) -> None:
        following = place.following
        if following is not None and following.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
            forbidden = self._take(place, following)
            state.add(Action.PROCEED, self._stop(forbidden, following.name), forbidden)

    def _without_nots(self, place: Place, sink: State) -> State:
        """Return a copy of a state without the stops before an optional part, as they no longer apply after its event.

        With `a not_followed_by b followed_by_any c optional followed_by_any d`, the events `a c b d` match, and `a b d`
        do not.
        """
        names = {part.name for part in place.nots()}
        if not names or not place.part.quantifier.is_optional:
            return sink
        copy = self._state(sink.part, sink.kind, None)
        for edge in sink.edges:
            target = edge.target
            if edge.action is Action.PROCEED and target.kind is Kind.STOP:
                if target.part in names:
                    continue
            elif edge.action is Action.PROCEED:
                target = self._without_nots(place, target)
            elif target is sink:
                target = copy
            copy.add(edge.action, target, edge.guard)
        return copy

    # --- guards and states -------------------------------------------------------------------------------------------

    def _clause(self, clause: Clause | None) -> Guard:
        if clause is None:
            return ALWAYS
        if clause not in self._numbers:
            self._numbers[clause] = len(self._clauses)
            self._clauses.append(clause)
        return Holds(self._numbers[clause])

    def _until(self, part: Part | None) -> Guard | None:
        return None if part is None or part.until is None else self._clause(part.until)

    def _take(self, place: Place, part: Part) -> Guard:
        return unless(self._until(place.group), self._clause(part.condition))

    def _passing(self, place: Place) -> Guard:
        return unless(self._until(place.group), ALWAYS)

    def _ignore(self, place: Place, strategy: ConsumingStrategy) -> Guard | None:
        if strategy is ConsumingStrategy.STRICT:
            return None
        skips_any = strategy is ConsumingStrategy.SKIP_TILL_ANY
        return unless(self._until(place.group), ALWAYS if skips_any else Not(self._clause(place.part.condition)))

    def _state_of(self, place: Place, kind: Kind = Kind.NORMAL) -> State:
        return self._state(place.part.name, kind, place.part.within_previous_ms)

    def _state(self, part: str, kind: Kind, within_ms: int | None) -> State:
        name, number = part, 0
        while name in self._states:
            name, number = f"{part}:{number}", number + 1
        state = self._states[name] = State(name, part, kind, within_ms)
        return state

    def _copy(self, state: State) -> State:
        copy = self._state(state.part, state.kind, None)
        for edge in state.edges:
            copy.add(edge.action, copy if edge.target is state else edge.target, edge.guard)
        return copy
