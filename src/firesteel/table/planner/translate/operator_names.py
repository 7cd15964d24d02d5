"""The names of operators in the dashboard, logs and metrics: `Calc[3]`. Flink: `ExecNodeBase`, `ExecNodeContext`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.graph.transformations import Transformation


class OperatorNames:
    """Numbers operators in the order in which they are added, and names them by their numbers.

    As in Flink, each exchange takes a number, and all statements of a session share the numbers. So an operator of a
    statement has the number it has in Flink as long as both have the same operators before it.

    Args:
        numbers: The numbers of the session that are left.
        is_short: Whether an operator's name is its kind and number; otherwise it is the description.
    """

    def __init__(self, numbers: Iterator[int], is_short: bool) -> None:
        self._numbers = numbers
        self._is_short = is_short

    def number(self) -> int:
        """Take the next number."""
        return next(self._numbers)

    def named(self, number: int, description: str, title: str | None = None) -> tuple[str, str]:
        """Return the name and the description of an operator.

        Args:
            number: Its number.
            description: What it does, such as `Calc(select=[a])`.
            title: The name without the number; by default the description's part before the parenthesis.
        """
        if not self._is_short:
            return description, description
        return f"{title or description.split('(')[0]}[{number}]", f"[{number}]:{description}"


def describe_named(last: Transformation, before: Transformation | None, name: str, description: str) -> None:
    """Describe the transformation of this name among a transformation and its inputs, up to another one."""
    for transformation in transformations_up_to(last, before):
        if transformation.name == name:
            transformation.description = description


def transformations_up_to(last: Transformation, before: Transformation | None) -> Iterator[Transformation]:
    """Yield a transformation and its inputs, without those from another one on."""
    waiting = [last]
    while waiting:
        transformation = waiting.pop()
        if transformation is not before:
            yield transformation
            waiting += transformation.inputs
