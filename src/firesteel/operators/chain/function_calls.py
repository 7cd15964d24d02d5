"""Calls of user functions, which are instances of the API's classes or plain callables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.compiled_source import function_of
from firesteel.common.values.bounded_results import bounded
from firesteel.common.values.ownership import IMMUTABLE
from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.functions.output_tag import OutputTag
from firesteel.operators.chain.operator import Output, Timestamps

PART_ELEMENTS = 4096
"""Maximum number of results that are emitted at once."""

PART_BYTES = 8 << 20
"""Approximate maximum size of results that are emitted at once; a single result may be larger."""

_FIRST_LOOK = 16


def method_of(function: object, name: str) -> Callable[..., Any]:
    """Return the bound method `name` of a function object, or the callable itself."""
    method = getattr(function, name, None)
    if callable(method):
        bound: Callable[..., object] = method
        return bound
    if callable(function):
        return function
    raise TypeError(f"a user function needs a method {name}() or must be callable, found {function!r}")


def open_function(function: object, runtime_context: object) -> None:
    """Call `open(runtime_context)` if the function has that method."""
    method = getattr(function, "open", None)
    if callable(method):
        method(runtime_context)


def close_function(function: object) -> None:
    """Call `close()` if the function has that method."""
    method = getattr(function, "close", None)
    if callable(method):
        method()


class Part:
    """Results that are emitted together; callers append to `values` and `timestamps` until `limit` is reached.

    Attributes:
        limit: Number of results at which the caller checks `is_full`.
        count: Number of results of the present call of user code in earlier parts; kept by the caller.
    """

    __slots__ = ("_estimate", "_measured", "count", "limit", "timestamps", "values")

    def __init__(self) -> None:
        self.count = 0
        self.begin()

    def begin(self) -> None:
        """Start a new, empty part."""
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self._estimate = SizeEstimate()
        self._measured = 0
        self.limit = _FIRST_LOOK

    def is_full(self) -> bool:
        """Return whether the part must be emitted; if not, raise `limit` to the next count to check at."""
        count = len(self.values)
        self._estimate.add(self.values[self._measured :])
        self._measured = count
        room = PART_BYTES - self._estimate.bytes
        if count >= PART_ELEMENTS or room <= 0:
            return True
        self.limit = min(PART_ELEMENTS, 2 * count, count + max(1, room // self._estimate.mean()))
        return False


class Collector:
    """A collector of user code's results and side outputs, which emits them in parts of bounded size.

    Each result is settled as soon as user code yields it. `flush` emits the remaining results of a batch.
    """

    __slots__ = ("_flush_part", "_main", "_output", "_settle_sides", "_sides", "collect")

    def __init__(self, output: Output) -> None:
        self._output = output
        self._flush_part = bounded(self.flush)
        self._main = Part()
        self._sides: dict[OutputTag[Any], Part] = {}
        self._settle_sides: dict[OutputTag[object], Callable[[object], object]] = {}
        self.collect: Callable[[Iterable[Any] | None, int | None], None] = self._compiled_collect()
        """Collect all results of one call (or None) and their timestamp; `(OutputTag, value)` goes to a side output."""

    def _compiled_collect(self) -> Any:
        check, settle = self._output.settler(self._output.output_type, "v")
        source = f"""
def collect(results, timestamp):
    if results is None:
        return
    values, timestamps, main.count = main.values, main.timestamps, 0
    for v in results:
        if v.__class__ is tuple and v and v[0].__class__ is OutputTag:
            collect_side(*pair_of(v), timestamp)
            continue
        if not ({check}):
            v = settle(v)
        values.append(v)
        timestamps.append(timestamp)
        if len(values) >= main.limit and main.is_full():
            main.count += len(values)
            flush_part(main.count)
            values, timestamps = main.values, main.timestamps
"""
        scope = {"main": self._main, "OutputTag": OutputTag, "collect_side": self.collect_side, "pair_of": _pair_of}
        scope["flush_part"] = self._flush_part
        return compiled(source, scope | {"settle": settle, "immutable": IMMUTABLE}, "collect")

    def collect_side(self, tag: OutputTag[Any], value: object, timestamp: int | None) -> None:
        """Collect one result for a side output; it is dropped if the side output has no consumer."""
        settle = self._settle_sides.get(tag)
        if settle is None:
            if not self._output.reads_side(tag):
                return
            settle = self._settle_sides[tag] = self._output.settler(tag.type_info, "v")[1]
        part = self._sides.get(tag)
        if part is None:
            part = self._sides[tag] = Part()
        part.values.append(settle(value))
        part.timestamps.append(timestamp)
        if len(part.values) >= part.limit and part.is_full():
            self._main.count += len(part.values)
            self._flush_part(self._main.count)

    def flush(self) -> None:
        """Emit the collected results."""
        main = self._main
        if main.values:
            values, timestamps = main.values, main.timestamps
            main.begin()
            self._output.hand_on(values, times_or_none(timestamps))
        if self._sides:
            sides, self._sides = self._sides, {}
            for tag, part in sides.items():
                self._output.hand_on_side(tag, part.values, times_or_none(part.timestamps))


def _pair_of(result: tuple[OutputTag[object], object]) -> tuple[OutputTag[object], object]:
    """Return a result that begins with a tag."""
    if len(result) != 2:
        raise TypeError(f"a function yields (OutputTag, value) for a side output, found {result!r}")
    return result


def compiled(source: str, scope: dict[str, Any], name: str) -> Callable[..., Any]:
    """Return a function defined by source text; `errors.in_hand` recognises its frames as framework code."""
    return function_of(source, dict(scope), __file__, name)


def times_or_none(timestamps: list[int | None]) -> Timestamps:
    """Return the timestamps of elements, or None if no element has one."""
    return None if timestamps.count(None) == len(timestamps) else timestamps


def pairs(values: list[Any], timestamps: Timestamps) -> Iterable[tuple[Any, int | None]]:
    """Return an iterable of (value, timestamp) pairs."""
    return zip(values, [None] * len(values) if timestamps is None else timestamps, strict=True)
