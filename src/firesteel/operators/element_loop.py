"""The loop of one map or filter, or of several that follow each other, over the elements of a buffer.

It is compiled, so that settling a result costs no call where the result can't change anyway. One loop for one operator
and for several makes sure that both give the same.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from firesteel.common.ownership import IMMUTABLE
from firesteel.operators.errors import UserFunctionError
from firesteel.operators.functions import compiled
from firesteel.operators.operator import Operator, Output, Timestamps

_FIRST_LINE = 4
"""Of the loop's body."""

_LOOP = """def loop(values, results):
    append = results.append
    for value in values:
        {body}
        append(value)
"""

_TIMED_LOOP = """def loop(values, results, timestamps, kept):
    append, keep = results.append, kept.append
    for value, timestamp in zip(values, timestamps):
        {body}
        append(value)
        keep(timestamp)
"""


class Element(Protocol):
    """What the loop asks of an operator: a map, or a filter."""

    output: Output
    is_filter: bool
    takes_immutable: bool
    call: Callable[[Any], Any]


class ElementLoop:
    """Takes elements through a run of maps and filters, and hands on what comes out of the last one."""

    def __init__(self, run: Sequence[Any]) -> None:
        self._output: Output = run[-1].output
        self._operator_of_line: list[Operator] = []
        scope: dict[str, Any] = {"immutable": IMMUTABLE}
        lines: list[str] = []
        for number, operator in enumerate(run):
            own_lines = _lines_of(operator, number, scope)
            lines += own_lines
            self._operator_of_line += [operator] * len(own_lines)
        body = "\n        ".join(lines)
        self._loop = compiled(_LOOP.format(body=body), scope, "loop")
        self._timed_loop = compiled(_TIMED_LOOP.format(body=body), scope, "loop")

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements, as the first of the operators does."""
        results: list[Any] = []
        kept: Timestamps = None if timestamps is None else []
        try:
            if timestamps is None:
                self._loop(values, results)
            else:
                self._timed_loop(values, results, timestamps, kept)
        except Exception as error:
            failure = UserFunctionError.of(error, self._operator_at(error))
            # The results of the elements before this one go on, as in Flink: an error downstream comes first.
            self._output.hand_on(results, kept)
            raise failure from error
        self._output.hand_on(results, kept)

    def _operator_at(self, error: Exception) -> Operator:
        loops = (self._loop.__code__, self._timed_loop.__code__)
        line = next(line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in loops)
        return self._operator_of_line[line - _FIRST_LINE]


def _lines_of(operator: Element, number: int, scope: dict[str, Any]) -> list[str]:
    """Return the lines of one operator; what they refer to is added to the scope.

    A filter has seen the value, too, and could change it later.
    """
    function, settle = f"f{number}", f"s{number}"
    check, scope[settle] = operator.output.settler(operator.output.output_type, "value")
    scope[function] = operator.call
    first = f"if not {function}(value): continue" if operator.is_filter else f"value = {function}(value)"
    settled = check == "True" or (operator.is_filter and operator.takes_immutable)
    return [first] if settled else [first, f"if not ({check}): value = {settle}(value)"]
