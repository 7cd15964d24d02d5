"""`PatternProcessFunction`s that call the simpler functions (Flink: the classes of `cep.functions.adaptors`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from firesteel.functions.cep.pattern_functions import (
    PatternProcessFunction,
    ProcessContext,
    TimedOutPartialMatchHandler,
)
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.runtime_context import RuntimeContext

__all__ = ["Selecting", "SelectingWithTimeouts"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
LATE = TypeVar("LATE")


@dataclass(frozen=True)
class Selecting(PatternProcessFunction[IN, OUT], Generic[IN, OUT]):
    """Calls a function of the match.

    Attributes:
        functions: The users' functions to open and close.
        select: Returns the results.
    """

    functions: tuple[object, ...]
    select: Callable[[dict[str, list[IN]]], Iterable[OUT] | None]

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

    def process_match(self, match: dict[str, list[IN]], ctx: ProcessContext) -> Iterable[OUT] | None:
        """Call the function."""
        return self.select(match)


@dataclass(frozen=True)
class SelectingWithTimeouts(Selecting[IN, OUT], TimedOutPartialMatchHandler[IN], Generic[IN, OUT, LATE]):
    """Also calls a function of each partial match whose time is over, and emits its results to a side output."""

    tag: OutputTag[LATE]
    timeout: Callable[[dict[str, list[IN]], int], Iterable[LATE] | None]

    def process_timed_out_match(self, match: dict[str, list[IN]], ctx: ProcessContext) -> Iterable[object] | None:
        """Call the function."""
        results = self.timeout(match, ctx.timestamp())
        return None if results is None else ((self.tag, result) for result in results)
