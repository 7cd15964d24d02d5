"""Operators with one input and no key of their own: map, flat_map, filter, process, project and the hidden ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.ownership import IMMUTABLE, are_immutable, claimer, own
from firesteel.operators.context import ProcessContext, TaskRuntimeContext
from firesteel.operators.element_loop import ElementLoop
from firesteel.operators.functions import (
    Collector,
    Part,
    close_function,
    compiled,
    method_of,
    open_function,
    pairs,
)
from firesteel.operators.operator import Operator, Output, TaskInfo, Timestamps
from firesteel.operators.retention import keeps_nothing


class FunctionOperator(Operator):
    """An operator around one user function."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output)
        self.function = function

    def open(self) -> None:
        """Open the function."""
        open_function(self.function, TaskRuntimeContext(self.name, self.task))

    def close(self) -> None:
        """Close the function."""
        close_function(self.function)


class _ElementOperator(FunctionOperator):
    """map and flat_map; as in PyFlink, what they give as `(OutputTag, value)` goes to a side output.

    Results are looked at one by one only where there are side outputs to feed.
    """

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._collector = Collector(output)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each value; results have the timestamp of their element."""
        if not self.output.has_side_outputs:
            self._process_batch(values, timestamps)
            return
        call, collect = self._call, self._collector.collect
        for value, timestamp in pairs(values, timestamps):
            collect(call(value), timestamp)
        self._collector.flush()

    def emit_gathered(self) -> None:
        """Emit what was gathered for main and side outputs."""
        self._collector.flush()

    def _process_batch(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit the results of all values."""
        raise NotImplementedError

    def _call(self, value: Any) -> Iterable[Any] | None:
        """The results of one value."""
        raise NotImplementedError


class MapRunner(_ElementOperator):
    """`map`: one result per element."""

    is_filter = False

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self.call = method_of(function, "map")
        self._process_batch = ElementLoop([self]).process  # type: ignore[method-assign]

    def _call(self, value: Any) -> Iterable[Any] | None:
        return (self.call(value),)


class FlatMapRunner(_ElementOperator):
    """`flat_map`: any iterable of results per element, None for nothing."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._call = method_of(function, "flat_map")  # type: ignore[method-assign]
        self._part = Part()
        self._loop, self._timed_loop = self._compiled_loops()

    def _compiled_loops(self) -> tuple[Any, Any]:
        check, settle = self.output.settler(self.output.output_type, "v")
        scope = {"flat_map": self._call, "settle": settle, "immutable": IMMUTABLE, "part": self._part}
        scope["emit"] = self.emit_gathered
        return (
            compiled(_FLAT_LOOP.format(check=check), scope, "loop"),
            compiled(_TIMED_FLAT_LOOP.format(check=check), scope, "loop"),
        )

    def emit_gathered(self) -> None:
        """Emit the results so far."""
        super().emit_gathered()
        values, timestamps = self._part.values, self._part.timestamps
        self._part.begin()
        self.output.hand_on(values, timestamps or None)

    def _process_batch(self, values: list[Any], timestamps: Timestamps) -> None:
        if timestamps is None:
            self._loop(values)
        else:
            self._timed_loop(values, timestamps)
        self.emit_gathered()


_FLAT_LOOP = """
def loop(values):
    results = part.values
    for value in values:
        found = flat_map(value)
        if found is None:
            continue
        if found.__class__ is list or found.__class__ is tuple:
            for v in found:
                results.append(v if {check} else settle(v))
        else:
            for v in found:
                results.append(v if {check} else settle(v))
                if len(results) >= part.limit and part.is_full():
                    emit()
                    results = part.values
        if len(results) >= part.limit and part.is_full():
            emit()
            results = part.values
"""
"""Within the results of one element, a part ends only where they come from an iterator: a list is in memory anyway."""

_TIMED_FLAT_LOOP = """
def loop(values, timestamps):
    results, stamps = part.values, part.timestamps
    for value, timestamp in zip(values, timestamps):
        found = flat_map(value)
        if found is None:
            continue
        try:
            if found.__class__ is list or found.__class__ is tuple:
                for v in found:
                    results.append(v if {check} else settle(v))
            else:
                for v in found:
                    results.append(v if {check} else settle(v))
                    if len(results) >= part.limit and part.is_full():
                        stamps.extend([timestamp] * (len(results) - len(stamps)))
                        emit()
                        results, stamps = part.values, part.timestamps
        finally:
            stamps.extend([timestamp] * (len(results) - len(stamps)))
        if len(results) >= part.limit and part.is_full():
            emit()
            results, stamps = part.values, part.timestamps
"""


class FilterRunner(FunctionOperator):
    """`filter`: keeps the elements for which the function is truthy."""

    is_filter = passes_on = True

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self.call = method_of(function, "filter")

    def open(self) -> None:
        """Open the function and compile the loop, which depends on what is known of the elements."""
        super().open()
        self._loop = ElementLoop([self])

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit what passes, with its timestamp."""
        self._loop.process(values, timestamps)


class ProcessRunner(FunctionOperator):
    """`process` with a `ProcessFunction`: results and side outputs."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._process_element = method_of(function, "process_element")
        self._context = ProcessContext()
        self._collector = Collector(output)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each element."""
        context, process_element, collect = self._context, self._process_element, self._collector.collect
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


class ElementwiseRunner(Operator):
    """A hidden operator without a user function of its own: one function of the value."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Callable[[Any], Any]) -> None:
        super().__init__(name, task, output)
        self._function = function

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Apply the function to each value."""
        function, remaining = self._function, iter(values)
        self.output.emit([function(value) for value in remaining], timestamps)


def _keyed(
    values: list[Any], get_key: Callable[[Any], Any], keep_key: Callable[[Any], Any], settle: Callable[[Any], Any]
) -> list[Any]:
    """Return `(key, value)` of values that the selector could keep and change."""
    remaining = iter(values)
    return [(keep_key(get_key(value)), settle(value)) for value in remaining]


_claim = claimer(lambda settle: _keyed([[]], id, id, settle))


class KeyByRunner(FunctionOperator):
    """`_stream_key_by_map_operator`, `_partition_custom_map_operator`: `value` becomes `(key, value)`."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, function: Any, keep_key: Callable[[Any], Any] = own
    ) -> None:
        super().__init__(name, task, output, function)
        self._get_key = method_of(function, "get_key")
        self._keep_key = keep_key
        self._keeps_nothing = output.reuses_objects or keeps_nothing(self._get_key)

    def _needs_no_copies(self, values: list[Any]) -> bool:
        """Whether it does no harm that the selector has seen the values."""
        return self._keeps_nothing or self.takes_immutable or are_immutable(values)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Put the key before each value."""
        get_key, keep_key, remaining = self._get_key, self._keep_key, iter(values)
        if self._needs_no_copies(values):
            self.output.emit([(keep_key(get_key(value)), value) for value in remaining], timestamps)
        else:
            self.output.emit(_keyed(values, get_key, keep_key, _claim), timestamps)


class TagAndKeyByRunner(KeyByRunner):
    """The "Map" before a window join: `value` becomes `(key, (side, value))`."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, function: Any, keep_key: Callable[[Any], Any], side: int
    ) -> None:
        super().__init__(name, task, output, function, keep_key)
        self._side = side

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Put key and side before each value."""
        get_key, keep_key, side, remaining = self._get_key, self._keep_key, self._side, iter(values)
        if self._needs_no_copies(values):
            self.output.emit([(keep_key(get_key(value)), (side, value)) for value in remaining], timestamps)
        else:
            keyed = _keyed(values, get_key, keep_key, _claim)
            self.output.emit([(key, (side, value)) for key, value in keyed], timestamps)
