"""Interval join: each element is joined with the elements of the other side within its time bounds."""

from __future__ import annotations

from typing import Any

from firesteel.common.values.ownership import own
from firesteel.functions.operator_descriptors import IntervalJoinOperator
from firesteel.functions.user_functions import ProcessJoinFunction
from firesteel.operators.chain.function_calls import pairs
from firesteel.operators.chain.operator import Output, TaskInfo, Timestamps
from firesteel.operators.elements_by_time import ElementsByTime
from firesteel.operators.keyed import KeyedFunctionOperator


class _PairContext(ProcessJoinFunction.Context):
    """The context of a joined pair; one object is reused for all pairs."""

    left = right = 0

    def get_left_timestamp(self) -> int:
        """Return the event time of the left element in ms."""
        return self.left

    def get_right_timestamp(self) -> int:
        """Return the event time of the right element in ms."""
        return self.right

    def get_timestamp(self) -> int:
        """Return the later of both event times in ms."""
        return max(self.left, self.right)


class IntervalJoinRunner(KeyedFunctionOperator):
    """The operator of `KeyedStream.interval_join` (Flink: `runtime.operators.co.IntervalJoinOperator`).

    An element stays in its side's buffer until the watermark passes the end of its interval, when no partner can arrive
    any more.
    """

    inputs = 2

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: IntervalJoinOperator) -> None:
        super().__init__(name, task, output, descriptor.key_type, descriptor.function)
        self._process_element = descriptor.function.process_element
        lower, upper = descriptor.lower_bound_ms, descriptor.upper_bound_ms
        # Per side: the bounds on the other side's times relative to an element, and how long the element is kept.
        self._bounds = ((lower, upper), (-upper, -lower))
        # An interval that lies in the past needs no waiting, but the element must be kept until its own time.
        self._waits = tuple(max(last, 0) for _, last in self._bounds)
        self._late_tags = (descriptor.left_late_tag, descriptor.right_late_tag)
        self._buffers = (ElementsByTime(self.backend, "LEFT_BUFFER"), ElementsByTime(self.backend, "RIGHT_BUFFER"))

    def open(self) -> None:
        """Open the function."""
        super().open()
        for buffer in self._buffers:
            buffer.sort()
        self._context = _PairContext()

    def process_keyed(self, index: int, values: list[tuple[object, object]], timestamps: Timestamps) -> None:
        """Buffer each element and join it with the buffered elements of the other side."""
        for (key, value), timestamp in pairs(values, timestamps):
            if timestamp is None:
                raise ValueError(
                    "interval_join() needs elements with an event time, found one without; call "
                    "assign_timestamps_and_watermarks() with a TimestampAssigner before key_by()"
                )
            # Flink's `isLate` of this join: an element at the watermark itself is joined.
            if timestamp < self.timers.watermark:
                tag = self._late_tags[index]
                if tag is not None:
                    self.collector.collect_side(tag, value, timestamp)
            else:
                self._join(index, key, value, timestamp)

    def _join(self, index: int, key: object, value: object, timestamp: int) -> None:
        self.backend.current_key = key
        self._buffers[index].add(key, timestamp, value)
        first, last = self._bounds[index]
        for other_time, others in self._buffers[1 - index].between(key, timestamp + first, timestamp + last):
            for other in others:
                if index == 0:
                    self._process_pair(value, other, timestamp, other_time)
                else:
                    self._process_pair(other, value, other_time, timestamp)
        self.timers.namespace = index
        self.timers.register_event_time_timer(timestamp + self._waits[index])

    def _process_pair(self, left: object, right: object, left_time: int, right_time: int) -> None:
        context = self._context
        context.left, context.right = left_time, right_time
        # Copies, as both stay in the state and may be joined again.
        results = self._process_element(own(left), own(right), context)
        self.collector.collect(results, max(left_time, right_time))

    def on_timer(self, domain: int, key: object, namespace: Any, timestamp: int) -> None:
        """Remove the elements whose interval has passed; the timer's namespace is the side."""
        self._buffers[namespace].remove(key, timestamp - self._waits[namespace])
