"""Elements that wait until their batch is full, with the watermarks between them."""

from __future__ import annotations

from firesteel.operators.chain.function_calls import times_or_none
from firesteel.operators.chain.operator import Output, Timestamps

__all__ = ["WaitingElements"]


class WaitingElements:
    """The elements that an operator has not called its function for.

    A watermark that arrives behind them waits with them, so that their results are not late.

    Attributes:
        values: The elements.
        timestamps: Their event times.
        marks: The watermarks, each with the number of elements before it.
    """

    def __init__(self) -> None:
        self.values: list[object] = []
        self.timestamps: list[int | None] = []
        self.marks: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, values: list[object], timestamps: Timestamps) -> None:
        """Add elements."""
        self.values += values
        self.timestamps += [None] * len(values) if timestamps is None else timestamps

    def mark(self, watermark: int) -> None:
        """Add a watermark behind the elements."""
        self.marks.append((len(self.values), watermark))

    def marks_before(self, count: int) -> list[tuple[int, int]]:
        """Return the watermarks behind the first elements."""
        return [mark for mark in self.marks if mark[0] <= count]

    def emit(self, results: list[object], output: Output) -> None:
        """Remove the first elements, and emit their results and the watermarks between them."""
        count, begin = len(results), 0
        marks, self.marks = self.marks_before(count), [(at - count, mark) for at, mark in self.marks if at > count]
        for at, mark in marks:
            output.hand_on(results[begin:at], times_or_none(self.timestamps[begin:at]))
            output.watermark(mark)
            begin = at
        output.hand_on(results[begin:], times_or_none(self.timestamps[begin:count]))
        del self.values[:count], self.timestamps[:count]
