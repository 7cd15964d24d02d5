"""How user functions are called, whether they are instances of the API's classes or plain callables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from firesteel.datastream.output_tag import OutputTag
from firesteel.operators.operator import Output, Timestamps
from firesteel.operators.ownership import MUTABLE, own


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """The bound method `name` of a function object, or the callable itself."""
    method = getattr(function, name, None)
    if callable(method):
        return method  # type: ignore[no-any-return]
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise TypeError(f"a user function needs a method {name}() or must be callable, found {function!r}")


def open_function(function: Any, runtime_context: Any) -> None:
    """Call `open(runtime_context)` where the function has it."""
    method = getattr(function, "open", None)
    if callable(method):
        method(runtime_context)


def close_function(function: Any) -> None:
    """Call `close()` where the function has it."""
    method = getattr(function, "close", None)
    if callable(method):
        method()


class Collector:
    """Gathers what user code yields while a batch is processed, side outputs apart, and emits it as one batch."""

    __slots__ = ("_output", "_sides", "_timestamps", "_values")

    def __init__(self, output: Output) -> None:
        self._output = output
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._sides: dict[OutputTag, tuple[list[Any], list[int | None]]] = {}

    def collect(self, results: Iterable[Any] | None, timestamp: int | None) -> None:
        """Take all results of one call; `(OutputTag, value)` goes to the side output."""
        if results is None:
            return
        for result in results:
            kind = result.__class__
            if kind is tuple:
                if len(result) == 2 and result[0].__class__ is OutputTag:
                    self.collect_side(result[0], result[1], timestamp)
                    continue
            elif kind in MUTABLE:
                result = own(result)
            self._values.append(result)
            self._timestamps.append(timestamp)

    def collect_side(self, tag: OutputTag, value: Any, timestamp: int | None) -> None:
        """Take one result for a side output."""
        values, timestamps = self._sides.setdefault(tag, ([], []))
        values.append(own(value) if type(value) in MUTABLE else value)
        timestamps.append(timestamp)

    def flush(self) -> None:
        """Emit what was gathered."""
        if self._values:
            values, timestamps = self._values, self._timestamps
            self._values, self._timestamps = [], []
            self._output.emit(values, _without_nones(timestamps))
        if self._sides:
            sides, self._sides = self._sides, {}
            for tag, (values, timestamps) in sides.items():
                self._output.emit_side(tag, values, _without_nones(timestamps))


def _without_nones(timestamps: list[int | None]) -> Timestamps:
    return None if timestamps.count(None) == len(timestamps) else timestamps


def pairs(values: list[Any], timestamps: Timestamps) -> Iterable[tuple[Any, int | None]]:
    """Each value with its timestamp."""
    return zip(values, [None] * len(values) if timestamps is None else timestamps, strict=True)
