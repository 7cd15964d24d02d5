"""Sinks: print, collect, user functions. What must be seen once per batch only travels as committables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.java_text import java_formatter
from firesteel.operators.functions import method_of
from firesteel.operators.one_input import FunctionOperator
from firesteel.operators.operator import Operator, Output, TaskInfo, Timestamps


@dataclass(frozen=True, slots=True)
class PrintedLines:
    """Lines of a print sink, to be written when the batch is committed."""

    text: str


@dataclass(frozen=True, slots=True)
class CollectedElements:
    """Elements of a collecting sink, for the client that asked under `collect_id`."""

    collect_id: str
    elements: list[Any]


class PrintRunner(Operator):
    """`print`: `2> (to,1)`, without the number at parallelism 1 (Flink: `PrintSinkOutputWriter`)."""

    def __init__(self, name: str, task: TaskInfo, output: Output, identifier: str | None, input_type: Any) -> None:
        super().__init__(name, task, output)
        number = str(task.subtask_index + 1) if task.parallelism > 1 else ""
        parts = [part for part in (identifier, number) if part]
        self._prefix = f"{':'.join(parts)}> " if parts else ""
        self._text = java_formatter(input_type)
        self._lines: list[str] = []

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Make a line of each value."""
        prefix, text = self._prefix, self._text
        self._lines.extend([f"{prefix}{text(value)}\n" for value in values])

    def committables(self) -> Sequence[Any]:
        """The lines of this batch."""
        lines, self._lines = self._lines, []
        return (PrintedLines("".join(lines)),) if lines else ()


class CollectRunner(Operator):
    """The sink of `execute_and_collect`."""

    def __init__(self, name: str, task: TaskInfo, output: Output, collect_id: str) -> None:
        super().__init__(name, task, output)
        self._collect_id = collect_id
        self._elements: list[Any] = []

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Keep the values until the batch is committed."""
        self._elements.extend(values)

    def committables(self) -> Sequence[Any]:
        """The values of this batch."""
        elements, self._elements = self._elements, []
        return (CollectedElements(self._collect_id, elements),) if elements else ()


class SinkFunctionRunner(FunctionOperator):
    """`add_sink` with a SinkFunction: `invoke(value)` or `invoke(value, context)`; at least once, as in Flink."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output, function)
        invoke = method_of(function, "invoke")
        takes_context = len(inspect.signature(invoke).parameters) > 1
        self._invoke: Callable[[Any], Any] = (lambda value: invoke(value, None)) if takes_context else invoke

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each value."""
        invoke = self._invoke
        for value in values:
            invoke(value)


class DiscardingRunner(Operator):
    """Takes elements and does nothing with them.

    The cache writer: a cached result is computed again by the next job that reads it, as Flink does when it is gone.
    """

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Nothing."""


class CommitterRunner(Operator):
    """The committer of a two-phase sink: what the writer emitted is committed when the batch is."""

    def __init__(self, name: str, task: TaskInfo, output: Output) -> None:
        super().__init__(name, task, output)
        self._committables: list[Any] = []

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Keep the writer's committables."""
        self._committables.extend(values)

    def committables(self) -> Sequence[Any]:
        """Those of this batch."""
        committables, self._committables = self._committables, []
        return committables
