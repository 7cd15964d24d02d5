"""`PatternProcessFunction`s that call the simpler functions (Flink: the classes of `cep.functions.adaptors`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from firesteel.functions.cep.pattern_functions import (
    PatternProcessFunction,
    ProcessContext,
    TimedOutPartialMatchHandler,
)
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.runtime_context import RuntimeContext

__all__ = ["Selecting", "SelectingWithTimeouts"]

Match = dict[str, list[Any]]


@dataclass(frozen=True)
class Selecting(PatternProcessFunction[Any, Any]):
    """Calls a function of the match.

    Attributes:
        functions: The users' functions to open and close.
        select: Returns the result, or the results if `is_flat`.
    """

    functions: tuple[object, ...]
    select: Callable[[Match], Any]
    is_flat: bool

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the users' functions."""
        for function in self.functions:
            if callable(method := getattr(function, "open", None)):
                method(runtime_context)

    def close(self) -> None:
        """Close the users' functions."""
        for function in self.functions:
            if callable(method := getattr(function, "close", None)):
                method()

    def process_match(self, match: Match, ctx: ProcessContext) -> Iterable[Any] | None:
        """Call the function."""
        selected = self.select(match)
        return selected if self.is_flat else (selected,)


@dataclass(frozen=True)
class SelectingWithTimeouts(Selecting, TimedOutPartialMatchHandler[Any]):
    """Also calls a function of each partial match whose time is over, and emits its results to a side output."""

    tag: OutputTag[Any]
    timeout: Callable[[Match, int], Any]

    def process_timed_out_match(self, match: Match, ctx: ProcessContext) -> Iterable[object] | None:
        """Call the function."""
        results = self.timeout(match, ctx.timestamp())
        if not self.is_flat:
            results = (results,)
        return None if results is None else ((self.tag, result) for result in results)
