"""The operator of event patterns: orders the events of each key by time and matches them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key
from typing import NoReturn

from firesteel.common.checks import with_class
from firesteel.common.unchanged import unchanged
from firesteel.common.values.ownership import own
from firesteel.functions.cep.conditions import functions_in
from firesteel.functions.cep.pattern_compiler import compile_pattern
from firesteel.functions.cep.pattern_functions import ProcessContext, TimedOutPartialMatchHandler
from firesteel.functions.operator_descriptors import CepOperator
from firesteel.functions.output_tag import OutputTag
from firesteel.operators.cep.nfa import Found, Nfa
from firesteel.operators.cep.partial_match import Match, NfaState
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.context import TaskRuntimeContext
from firesteel.operators.chain.function_calls import close_function, open_function, pairs
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.chain.user_metrics import TaskMetricGroup
from firesteel.operators.elements_by_time import ElementsByTime
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.state.timers import EVENT_TIME

__all__ = ["CepRunner"]


class _RuntimeContext(TaskRuntimeContext):
    """The runtime context of functions of patterns, which have no state of their own (Flink: `CepRuntimeContext`)."""

    def _keyed(self) -> NoReturn:
        raise RuntimeError(
            f"the functions of event pattern {self._operator_name!r} cannot use keyed state; use it in a function that "
            "processes the matches after key_by()"
        )


class _Context(ProcessContext):
    """The context of a match; one object is reused for all."""

    time_ms = 0

    def timestamp(self) -> int:
        return self.time_ms

    def current_processing_time(self) -> int:
        return now_ms()


class CepRunner(KeyedOperator):
    """The operator of `CEP.pattern` (Flink: `cep.operator.CepOperator`).

    State: `nfaStateName` holds the partial matches of each key that has any, with their events; `eventQueuesStateName`
    the events after the watermark.
    """

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: CepOperator) -> None:
        super().__init__(name, task, output, descriptor.key_type)
        self._function = descriptor.function
        self._pattern = descriptor.pattern
        self._automaton = compile_pattern(descriptor.pattern)
        self._is_processing_time = descriptor.is_processing_time
        self._comparator = descriptor.comparator
        self._late_tag = descriptor.late_data_tag
        self._matches = self.backend.table("nfaStateName")
        self._queue = ElementsByTime(self.backend, "eventQueuesStateName")

    def open(self) -> None:
        """Open the function and the conditions."""
        super().open()
        self._queue.sort()
        self._context = _Context()
        self._handler = self._function if isinstance(self._function, TimedOutPartialMatchHandler) else None
        self._late_dropped = TaskMetricGroup(self.task.metrics, (self.name,)).counter("numLateRecordsDropped")
        owned = unchanged if self.task.reuses_objects else own
        self._nfa = Nfa(self._automaton, self._pattern.skip_strategy, self._handler is not None, owned, now_ms)
        for function in self._functions():
            open_function(function, _RuntimeContext(self.name, self.task))

    def close(self) -> None:
        """Close the function and the conditions."""
        super().close()
        for function in self._functions():
            close_function(function)

    def _functions(self) -> Iterator[object]:
        for clause in self._automaton.clauses:
            yield from functions_in(clause)
        yield self._function

    def process_keyed(self, index: int, values: list[tuple[object, object]], timestamps: Timestamps) -> None:
        """Keep the events until the watermark passes them; in processing time match them at once."""
        for (key, value), timestamp in pairs(values, timestamps):
            self.backend.current_key = key
            if not self._is_processing_time:
                self._keep(key, value, timestamp)
            elif self._comparator is None:
                now = now_ms()
                self._match(key, [(now, [value])], now)
            else:  # those of the same ms wait for each other
                self._add(key, value, now_ms())

    def _keep(self, key: object, value: object, timestamp: int | None) -> None:
        if timestamp is None:
            raise ValueError(
                "CEP.pattern() in event time needs elements with an event time, found one without; call "
                "assign_timestamps_and_watermarks() with a TimestampAssigner before it, or in_processing_time() after"
            )
        if timestamp > self.timers.watermark:
            self._add(key, value, timestamp)
        elif self._late_tag is None:
            self._late_dropped.inc()
        else:
            self.collector.collect_side(self._late_tag, value, timestamp)

    def _add(self, key: object, value: object, timestamp: int) -> None:
        if self._queue.add(key, timestamp, value):
            self._register(timestamp)

    def _register(self, timestamp: int) -> None:
        if self._is_processing_time:
            self.timers.register_processing_time_timer(timestamp)
        elif timestamp <= MAX_WATERMARK:
            self.timers.register_event_time_timer(timestamp)

    def on_timer(self, domain: int, key: object, namespace: object, timestamp: int) -> None:
        """Match the events of the key up to the watermark, then drop the partial matches whose time is over."""
        is_event_time = domain == EVENT_TIME
        now = self.timers.watermark if is_event_time else max(timestamp, now_ms())
        due = self._queue.between(key, MIN_TIMESTAMP, now if is_event_time else MAX_WATERMARK)
        self._match(key, due, now)
        for time, _ in due:
            self._queue.remove(key, time)

    def _match(self, key: object, due: list[tuple[int, list[object]]], now: int) -> None:
        """Match events, and store what the matches of the key are then."""
        nfa, stored = self._nfa, self._matches.data.get(key)
        state = before = nfa.initial if stored is None else stored
        for time, events in due:
            # Time first: an event must not continue a match whose time was over before it came.
            state = self._emitted(nfa.advance_time(state, time), time)
            for event in self._ordered(events):
                found = nfa.process(state, event, time)
                state = self._emitted(found, time)
                if found.begins and self._automaton.within_ms is not None:
                    self._register(time + self._automaton.within_ms)
        state = self._emitted(nfa.advance_time(state, now), now)
        if state is nfa.initial:
            self._matches.remove(key)
        # Equal states are the same object (`Nfa.process`), so nothing is written for events that match nothing.
        elif state is not before:
            self._matches.put(key, state)

    def _ordered(self, events: list[object]) -> list[object]:
        return events if self._comparator is None else sorted(events, key=cmp_to_key(self._comparator))

    def _emitted(self, found: Found, time: int) -> NfaState:
        for match in found.matches:
            self._emit(self._function.process_match, match, time)
        if self._handler is not None:
            for match, over in found.timed_out:
                self._emit(self._timed_out, match, over)
        return found.state

    def _emit(self, call: Callable[[Match, ProcessContext], Iterable[object] | None], match: Match, time: int) -> None:
        self._context.time_ms = time
        self.collector.collect(call(match, self._context), None if self._is_processing_time else time)

    def _timed_out(self, match: Match, context: ProcessContext) -> Iterator[object]:
        assert self._handler is not None
        results = self._handler.process_timed_out_match(match, context)
        for result in () if results is None else results:
            if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], OutputTag)):
                raise TypeError(
                    "process_timed_out_match() yields pairs of an OutputTag and a value, as partial matches go to side "
                    f"outputs only; found {with_class(result)}"
                )
            yield result
