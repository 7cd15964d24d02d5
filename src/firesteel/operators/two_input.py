"""Operators with two inputs and no key: co-map, co-flat-map, co-process, and process with a broadcast side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firesteel.datastream.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.timerservice import TimerService
from firesteel.operators.broadcast_state import BroadcastStates, OperatorBroadcastState
from firesteel.operators.clock import now_ms
from firesteel.operators.context import KeyedContext, ProcessContext
from firesteel.operators.functions import Collector, pairs
from firesteel.operators.keyed import NO_KEY, KeyedProcessRunner
from firesteel.operators.one_input import FunctionOperator
from firesteel.operators.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.spill import SpilledList, directory_of, memory_of
from firesteel.operators.state_backend import Delta

ProcessElement = Callable[[Any, Any], Iterable[Any] | None]


class CoProcessRunner(FunctionOperator):
    """`ConnectedStreams` without keys; map and flat_map are given as `process_elements`, one per input."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        function: Any,
        process_elements: tuple[ProcessElement, ProcessElement],
    ) -> None:
        super().__init__(name, task, output, function)
        self._process_elements = process_elements
        self._context = ProcessContext()
        self._collector = Collector(output)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input."""
        self._process(0, values, timestamps)

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the second input."""
        self._process(1, values, timestamps)

    def _process(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        context, process_element, collect = self._context, self._process_elements[index], self._collector.collect
        for value, timestamp in pairs(values, timestamps):
            context.current_timestamp = timestamp
            collect(process_element(value, context), timestamp)
        self._collector.flush()

    def emit_gathered(self) -> None:
        """Emit what was gathered."""
        self._collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Let the function see the watermark."""
        self._context.timers.watermark = timestamp
        super().process_watermark(timestamp)

    def snapshot(self) -> Any:
        """The watermark that the function saw last."""
        return self.watermark

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        self.watermark = self._context.timers.watermark = snapshot


class BroadcastContext(BroadcastProcessFunction.Context, BroadcastProcessFunction.ReadOnlyContext):
    """Context of broadcast process functions without a key."""

    def __init__(self, states: BroadcastStates, known: Iterable[Any], writable: bool) -> None:
        self._states = {d.name: OperatorBroadcastState(d, states.table(d.name), writable) for d in known}
        self.current_timestamp: int | None = None
        self.watermark = MIN_TIMESTAMP

    def timestamp(self) -> int:
        """Event time of the element (milliseconds), -2**63 if it has none."""
        return MIN_TIMESTAMP if self.current_timestamp is None else self.current_timestamp

    def current_processing_time(self) -> int:
        """Milliseconds since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Watermark of the operator (milliseconds)."""
        return self.watermark

    def get_broadcast_state(self, state_descriptor: Any) -> Any:
        """The broadcast state of that descriptor."""
        state = self._states.get(state_descriptor.name)
        if state is None:
            raise ValueError(
                f"broadcast state {state_descriptor.name!r} was not given to broadcast(); known: {sorted(self._states)}"
            )
        return state


class KeyedBroadcastContext(BroadcastContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """Context of keyed broadcast process functions; key and timers come from the keyed operator's context."""

    keyed: KeyedContext

    def current_watermark(self) -> int:
        """Watermark of the operator (milliseconds); in BATCH mode that of the key at hand."""
        return self.keyed.timer_service().current_watermark()

    def timer_service(self) -> TimerService:
        """Timers of the current key."""
        return self.keyed.timer_service()

    def get_current_key(self) -> Any:
        """Key of the element or timer."""
        return self.keyed.get_current_key()

    def time_domain(self) -> TimeDomain:
        """Kind of the timer that fires."""
        return self.keyed.time_domain()


class _Broadcast:
    """Broadcast state of one operator: what both kinds of broadcast operators share."""

    def __init__(self, function: Any, descriptors: Iterable[Any], context_type: type[BroadcastContext]) -> None:
        self.states = BroadcastStates()
        self.reading = context_type(self.states, descriptors, writable=False)
        self.writing = BroadcastContext(self.states, descriptors, writable=True)
        self._function = function

    def process_element(self, value: Any, context: Any) -> Iterable[Any] | None:
        self.reading.current_timestamp = context.timestamp()
        return self._function.process_element(value, self.reading)  # type: ignore[no-any-return]

    def process_broadcast_element(self, value: Any, context: Any) -> Iterable[Any] | None:
        self.writing.current_timestamp = context.timestamp()
        return self._function.process_broadcast_element(value, self.writing)  # type: ignore[no-any-return]

    def on_timer(self, timestamp: int, context: Any) -> Iterable[Any] | None:
        self.reading.current_timestamp = timestamp
        return self._function.on_timer(timestamp, self.reading)  # type: ignore[no-any-return]

    def advance(self, watermark: int) -> None:
        self.reading.watermark = self.writing.watermark = watermark


class BroadcastRunner(CoProcessRunner):
    """`BroadcastConnectedStream.process` over a stream without keys.

    BATCH mode reads the broadcast side to its end before it processes the other side's elements.
    """

    copies_state = True

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any, descriptors: Iterable[Any]) -> None:
        self._broadcast = _Broadcast(function, descriptors, BroadcastContext)
        calls = (self._broadcast.process_element, self._broadcast.process_broadcast_element)
        super().__init__(name, task, output, function, calls)
        self._waits = task.is_batch
        self._kept = SpilledList(memory_of(task), directory_of(task))
        self._kept_watermark: int | None = None

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the stream that is not broadcast."""
        if self._waits:
            self._kept.add(values, timestamps)
        else:
            super().process(values, timestamps)

    def end_input(self, index: int) -> None:
        """BATCH: go on with the first input when the broadcast one ended."""
        if index == 1 and self._waits:
            self._waits = False
            for values, timestamps in self._kept.take():
                self.process(values, timestamps)
            if self._kept_watermark is not None:
                self.process_watermark(self._kept_watermark)

    def close(self) -> None:
        """Close the function; drop what is still kept."""
        self._kept.close()
        super().close()

    def process_watermark(self, timestamp: int) -> None:
        """Let the function see the watermark; it stays behind the elements that were kept."""
        if self._waits:
            self._kept_watermark = timestamp
            return
        self._broadcast.advance(timestamp)
        super().process_watermark(timestamp)

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """What changed of the broadcast states."""
        return self._broadcast.states.parts(full)

    def load_copied(self, delta: Delta) -> None:
        """Take a part of the broadcast states."""
        self._broadcast.states.load(delta)

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        super().restore(snapshot)
        self._broadcast.advance(snapshot)


class KeyedBroadcastRunner(KeyedProcessRunner):
    """`BroadcastConnectedStream.process` over a keyed stream: elements of the first input are `(key, value)`."""

    copies_state = True

    def __init__(
        self, name: str, task: TaskInfo, output: Output, key_type: Any, function: Any, descriptors: Iterable[Any]
    ) -> None:
        self._broadcast = _Broadcast(function, descriptors, KeyedBroadcastContext)
        super().__init__(name, task, output, key_type, function, (self._broadcast.process_element,))
        self._on_timer = self._broadcast.on_timer
        self._open_inputs = 2

    def open(self) -> None:
        """Open the function; connect the contexts."""
        super().open()
        assert isinstance(self._broadcast.reading, KeyedBroadcastContext)
        self._broadcast.reading.keyed = self._context

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the broadcast side; they have no key."""
        self.backend.current_key = NO_KEY
        for value, timestamp in pairs(values, timestamps):
            self._context.current_timestamp = timestamp
            self.collector.collect(self._broadcast.process_broadcast_element(value, self._context), timestamp)
        self.collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Let the function see the watermark."""
        self._broadcast.advance(timestamp)
        super().process_watermark(timestamp)

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """What changed of the keyed and the broadcast states."""
        yield from super().state_parts(full)
        yield from self._broadcast.states.parts(full)

    def load_copied(self, delta: Delta) -> None:
        """Take a part of the broadcast states."""
        self._broadcast.states.load(delta)

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        super().restore(snapshot)
        self._broadcast.advance(snapshot)
