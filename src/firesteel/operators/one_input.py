"""Operators with one input and no key of their own: map, flat_map, filter, process, project and the hidden ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any

from firesteel.operators.context import ProcessContext, TaskRuntimeContext
from firesteel.operators.functions import Collector, close_function, method_of, open_function, pairs
from firesteel.operators.operator import Operator, Output, TaskInfo, Timestamps


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

    def _process_batch(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit the results of all values."""
        raise NotImplementedError

    def _call(self, value: Any) -> Iterable[Any] | None:
        """The results of one value."""
        raise NotImplementedError


class MapRunner(_ElementOperator):
    """`map`: one result per element."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._map = method_of(function, "map")

    def _call(self, value: Any) -> Iterable[Any] | None:
        return (self._map(value),)

    def _process_batch(self, values: list[Any], timestamps: Timestamps) -> None:
        # A comprehension and not map(): a StopIteration of user code must not end the batch silently. Of `remaining`,
        # here and elsewhere, `errors.in_hand` sees which element was not done when one fails.
        function, remaining = self._map, iter(values)
        self.output.emit([function(value) for value in remaining], timestamps)


class FlatMapRunner(_ElementOperator):
    """`flat_map`: any iterable of results per element, None for nothing."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._flat_map = method_of(function, "flat_map")

    def _call(self, value: Any) -> Iterable[Any] | None:
        return self._flat_map(value)  # type: ignore[no-any-return]

    def _process_batch(self, values: list[Any], timestamps: Timestamps) -> None:
        results: list[Any] = []
        flat_map, extend = self._flat_map, results.extend
        if timestamps is None:
            for value in values:
                found = flat_map(value)
                if found is not None:
                    extend(found)
            self.output.emit(results, None)
            return
        result_timestamps: list[int | None] = []
        for value, timestamp in zip(values, timestamps, strict=True):
            found = flat_map(value)
            if found is not None:
                extend(found)
                result_timestamps.extend([timestamp] * (len(results) - len(result_timestamps)))
        self.output.emit(results, result_timestamps)


class FilterRunner(FunctionOperator):
    """`filter`: keeps the elements for which the function is truthy."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        self._filter = method_of(function, "filter")

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit what passes, with its timestamp."""
        keep_value, remaining = self._filter, iter(values)
        if timestamps is None:
            self.output.emit([value for value in remaining if keep_value(value)], None)
            return
        keep = [keep_value(value) for value in remaining]
        self.output.emit(list(compress(values, keep)), list(compress(timestamps, keep)))


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


class KeyByRunner(FunctionOperator):
    """`_stream_key_by_map_operator`, `_partition_custom_map_operator`: `value` becomes `(key, value)`."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, function: Any, coerce_key: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__(name, task, output, function)
        self._get_key = method_of(function, "get_key")
        self._coerce_key = coerce_key

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Put the key before each value."""
        get_key, coerce_key, remaining = self._get_key, self._coerce_key, iter(values)
        if coerce_key is None:
            self.output.emit([(get_key(value), value) for value in remaining], timestamps)
        else:
            self.output.emit([(coerce_key(get_key(value)), value) for value in remaining], timestamps)


class TagAndKeyByRunner(KeyByRunner):
    """The "Map" before a window join: `value` becomes `(key, (side, value))`."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        function: Any,
        coerce_key: Callable[[Any], Any] | None,
        side: int,
    ) -> None:
        super().__init__(name, task, output, function, coerce_key)
        self._side = side

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Put key and side before each value."""
        get_key, coerce_key, side, remaining = self._get_key, self._coerce_key, self._side, iter(values)
        if coerce_key is None:
            self.output.emit([(get_key(value), (side, value)) for value in remaining], timestamps)
        else:
            self.output.emit([(coerce_key(get_key(value)), (side, value)) for value in remaining], timestamps)
