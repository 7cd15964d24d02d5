"""Non-keyed two-input operators: co-map, co-flat-map, co-process, and process with a broadcast side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.functions.time_domain import TimeDomain
from firesteel.functions.timerservice import TimerService
from firesteel.functions.user_functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.context import KeyedContext
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.exchange.spill import SpilledList, memory_of
from firesteel.operators.keyed import NO_KEY, KeyedProcessRunner
from firesteel.operators.one_input import ProcessingOperator
from firesteel.operators.state.broadcast_state import BroadcastStates, OperatorBroadcastState
from firesteel.operators.state.entries import Delta

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.functions.state import MapStateDescriptor

ProcessElement = Callable[[Any, Any], Iterable[Any] | None]


class CoProcessRunner(ProcessingOperator):
    """The operator of non-keyed `ConnectedStreams`; map and flat_map are adapted to one process function per input."""

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

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input."""
        self._process(0, values, timestamps)

    def process2(self, values: list[object], timestamps: Timestamps) -> None:
        """Process elements of the second input."""
        self._process(1, values, timestamps)

    def _process(self, index: int, values: list[object], timestamps: Timestamps) -> None:
        context, process_element, collect = self._context, self._process_elements[index], self._collector.collect
        for value, timestamp in pairs(values, timestamps):
            context.current_timestamp = timestamp
            collect(process_element(value, context), timestamp)
        self._collector.flush()


class BroadcastContext(BroadcastProcessFunction.Context, BroadcastProcessFunction.ReadOnlyContext):
    """The context of non-keyed broadcast process functions."""

    def __init__(self, states: BroadcastStates, known: Iterable[Any], writable: bool) -> None:
        self._states = {d.name: OperatorBroadcastState(d, states.table(d.name), writable) for d in known}
        self.current_timestamp: int | None = None
        self.watermark = MIN_TIMESTAMP

    def timestamp(self) -> int:
        """Return the event time of the element in ms, -2**63 if it has none."""
        return MIN_TIMESTAMP if self.current_timestamp is None else self.current_timestamp

    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Return the watermark of the operator in ms."""
        return self.watermark

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> OperatorBroadcastState:
        """Return the broadcast state of a descriptor."""
        state = self._states.get(state_descriptor.name)
        if state is None:
            raise ValueError(
                f"broadcast state {state_descriptor.name!r} was not passed to broadcast(): {sorted(self._states)}"
            )
        return state


class KeyedBroadcastContext(BroadcastContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """The context of keyed broadcast process functions; key and timers come from the keyed operator's context."""

    keyed: KeyedContext

    def current_watermark(self) -> int:
        """Return the watermark of the operator in ms, in BATCH mode that of the current key."""
        return self.keyed.timer_service().current_watermark()

    def timer_service(self) -> TimerService:
        """Return the timer service of the current key."""
        return self.keyed.timer_service()

    def get_current_key(self) -> object:
        """Return the key of the element or timer."""
        return self.keyed.get_current_key()

    def time_domain(self) -> TimeDomain:
        """Return the time domain of the firing timer."""
        return self.keyed.time_domain()


class _BroadcastFunction(Protocol):
    """What a function of the user has; only that of a keyed stream has `on_timer`."""

    def process_element(self, value: Any, context: Any, /) -> Iterable[Any] | None: ...
    def process_broadcast_element(self, value: object, context: object, /) -> Iterable[object] | None: ...
    def on_timer(self, timestamp: int, context: object, /) -> Iterable[object] | None: ...


class _Broadcast:
    """The broadcast states and contexts shared by both kinds of broadcast operators."""

    def __init__(
        self, function: _BroadcastFunction, descriptors: Iterable[Any], context_type: type[BroadcastContext]
    ) -> None:
        self.states = BroadcastStates()
        self.descriptors = list(descriptors)
        self.reading = context_type(self.states, self.descriptors, writable=False)
        self.writing = BroadcastContext(self.states, self.descriptors, writable=True)
        self._function = function

    def process_element(self, value: Any, context: Any) -> Iterable[Any] | None:
        self.reading.current_timestamp = context.timestamp()
        return self._function.process_element(value, self.reading)

    def process_broadcast_element(self, value: Any, context: Any) -> Iterable[Any] | None:
        self.writing.current_timestamp = context.timestamp()
        return self._function.process_broadcast_element(value, self.writing)

    def on_timer(self, timestamp: int, context: object) -> Iterable[object] | None:
        self.reading.current_timestamp = timestamp
        return self._function.on_timer(timestamp, self.reading)

    def advance(self, watermark: int) -> None:
        self.reading.watermark = self.writing.watermark = watermark


class BroadcastRunner(CoProcessRunner):
    """The operator of `BroadcastConnectedStream.process` over a non-keyed stream.

    BATCH mode processes the whole broadcast side before the other side's elements.
    """

    copies_state = True

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any, descriptors: Iterable[Any]) -> None:
        self._broadcast = _Broadcast(function, descriptors, BroadcastContext)
        calls = (self._broadcast.process_element, self._broadcast.process_broadcast_element)
        super().__init__(name, task, output, function, calls)
        # Flink, too, reads the broadcast side first in BATCH mode, so that each element finds the complete state.
        self._waits = task.is_batch
        self._kept = SpilledList(memory_of(task), temporary_directory(task.configuration))
        self._kept_watermark: int | None = None

    def open(self) -> None:
        """Open the function."""
        self._broadcast.states.claim(self._broadcast.descriptors)
        super().open()

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the non-broadcast side."""
        if self._waits:
            self._kept.add(values, timestamps)
        else:
            super().process(values, timestamps)

    def end_input(self, index: int) -> None:
        """Process the end of an input; in BATCH mode the end of the broadcast side releases the other one."""
        if index == 1 and self._waits:
            self._waits = False
            for values, timestamps in self._kept.take():
                self.process(values, timestamps)
            if self._kept_watermark is not None:
                self.process_watermark(self._kept_watermark)

    def close(self) -> None:
        """Close the function and discard the collected elements."""
        self._kept.close()
        super().close()

    def process_watermark(self, timestamp: int) -> None:
        """Update the watermark that the function sees; it is emitted after the collected elements."""
        if self._waits:
            self._kept_watermark = timestamp
            return
        self._broadcast.advance(timestamp)
        super().process_watermark(timestamp)

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """Return the changes of the broadcast states since the last call, or all of them if `full`."""
        return self._broadcast.states.parts(full)

    def load_copied(self, delta: Delta) -> None:
        """Load a part of the broadcast states."""
        self._broadcast.states.load(delta)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        super().restore(snapshot)
        self._broadcast.advance(snapshot)


class KeyedBroadcastRunner(KeyedProcessRunner):
    """The operator of `BroadcastConnectedStream.process` over a keyed stream, whose elements are `(key, value)`."""

    copies_state = True

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        key_type: TypeInformation[Any] | None,
        function: Any,
        descriptors: Iterable[Any],
    ) -> None:
        self._broadcast = _Broadcast(function, descriptors, KeyedBroadcastContext)
        super().__init__(name, task, output, key_type, function, (self._broadcast.process_element,))
        self._on_timer = self._broadcast.on_timer
        # The broadcast side is no keyed input (`inputs` is 1), but the operator has not ended before it has.
        self._open_inputs = 2

    def open(self) -> None:
        """Open the function and connect the contexts."""
        self._broadcast.states.claim(self._broadcast.descriptors)
        super().open()
        assert isinstance(self._broadcast.reading, KeyedBroadcastContext)
        self._broadcast.reading.keyed = self._context

    def process2(self, values: list[object], timestamps: Timestamps) -> None:
        """Process elements of the broadcast side, which have no key."""
        # Keyed state of the last element must not be reachable from a broadcast element, which belongs to no key.
        self.backend.current_key = NO_KEY
        for value, timestamp in pairs(values, timestamps):
            self._context.current_timestamp = timestamp
            self.collector.collect(self._broadcast.process_broadcast_element(value, self._context), timestamp)
        self.collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Update the watermark that the function sees, then process it."""
        self._broadcast.advance(timestamp)
        super().process_watermark(timestamp)

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """Yield the changes of keyed and broadcast state since the last call, or all of it if `full`."""
        yield from super().state_parts(full)
        yield from self._broadcast.states.parts(full)

    def load_copied(self, delta: Delta) -> None:
        """Load a part of the broadcast states."""
        self._broadcast.states.load(delta)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        super().restore(snapshot)
        self._broadcast.advance(snapshot)
