"""The loop of one map or filter, or of several consecutive ones, over the elements of a buffer.

The loop is compiled, so that no call is needed to settle a result that is immutable anyway. Single operators and runs
of operators share the same loop, which guarantees equal results.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from firesteel.common.values.ownership import IMMUTABLE, claimer, own
from firesteel.operators.chain.function_calls import compiled
from firesteel.operators.chain.operator import Operator, Output, Timestamps
from firesteel.operators.chain.operator_errors import USER_ERRORS, UserFunctionError
from firesteel.operators.chain.retention import keeps_nothing

_FIRST_LINE = 5
"""Line number of the first line of the loop's body in the compiled source."""

_LOOP = """def loop(values, results, timestamps, kept):
    append = results.append
    for item in values:
        value = item
        {body}
        append(value)
"""

_TIMED_LOOP = """def loop(values, results, timestamps, kept):
    append, keep = results.append, kept.append
    for item, timestamp in zip(values, timestamps):
        value = item
        {body}
        append(value)
        keep(timestamp)
"""

_BODY_THAT_CLAIMS = "value = function(value); claim(value)"


def _claimers(loop: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return two functions that settle a result that user code has not kept: for the loop's item, and for others."""

    def run(function: Callable[[Any], Any], claim: Callable[[Any], Any]) -> None:
        scope = {"function": function, "claim": claim}
        compiled(loop.format(body=_BODY_THAT_CLAIMS), scope, "loop")([[]], [], [None], [])

    return claimer(partial(run, lambda value: value)), claimer(partial(run, lambda value: []))


_CLAIM_ITEM, _CLAIM_OTHER = _claimers(_LOOP)
_CLAIM_TIMED_ITEM, _CLAIM_TIMED_OTHER = _claimers(_TIMED_LOOP)


class Element(Protocol):
    """The interface that the loop needs of an operator, a map or a filter."""

    output: Output
    is_filter: bool
    takes_immutable: bool
    call: Callable[[Any], Any]


class ElementLoop:
    """A compiled loop that passes elements through a run of maps and filters and emits the results of the last one."""

    def __init__(self, run: Sequence[Any]) -> None:
        self._output: Output = run[-1].output
        self._operator_of_line: list[Operator] = []
        scope: dict[str, Any] = {"immutable": IMMUTABLE, "item_own": _CLAIM_ITEM, "own": _CLAIM_OTHER}
        lines: list[str] = []
        for number, operator in enumerate(run):
            own_lines = _lines_of(operator, number, scope)
            lines += own_lines
            self._operator_of_line += [operator] * len(own_lines)
        body = "\n        ".join(lines)
        self._loop = compiled(_LOOP.format(body=body), scope, "loop")
        scope |= {"item_own": _CLAIM_TIMED_ITEM, "own": _CLAIM_TIMED_OTHER}
        self._timed_loop = compiled(_TIMED_LOOP.format(body=body), scope, "loop")

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements with the first of the operators."""
        results: list[Any] = []
        kept: Timestamps = None if timestamps is None else []
        try:
            (self._loop if timestamps is None else self._timed_loop)(values, results, timestamps, kept)
        except USER_ERRORS as error:
            failure = UserFunctionError.of(error, self._operator_at(error))
            # Emit the results of the elements before the failing one, as Flink does: an error downstream takes
            # precedence.
            self._output.hand_on(results, kept)
            raise failure from error
        self._output.hand_on(results, kept)

    def _operator_at(self, error: BaseException) -> Operator:
        loops = (self._loop.__code__, self._timed_loop.__code__)
        line = next(line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in loops)
        return self._operator_of_line[line - _FIRST_LINE]


def _lines_of(operator: Element, number: int, scope: dict[str, Any]) -> list[str]:
    """Return the source lines of one operator, and add the names that they refer to to the scope.

    Results of filters are settled too, as the user's function could keep the value and change it later.
    """
    function, settle = f"f{number}", f"s{number}"
    check, scope[settle] = operator.output.settler(operator.output.output_type, "value")
    scope[function] = operator.call
    first = f"if not {function}(value): continue" if operator.is_filter else f"value = {function}(value)"
    passes = operator.is_filter and operator.takes_immutable
    if check == "True" or passes or (scope[settle] is own and keeps_nothing(operator.call)):
        return [first]
    settled = "item_own(value) if value is item else own(value)" if scope[settle] is own else f"{settle}(value)"
    return [first, f"if not ({check}): value = {settled}"]
