"""Maps and filters that follow each other in a chain may process each element in one loop, as if written by hand.

Only elements take that way: watermarks, batches and all else go from operator to operator. An error is that of the
operator on whose line of the compiled loop it was raised. Small functions gain by it; functions with much code lose,
as a buffer that goes through one of them after the other finds its code in the processor's cache. Both are tried.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common.coercion import coercer, fits
from firesteel.operators.errors import UserFunctionError
from firesteel.operators.functions import method_of
from firesteel.operators.one_input import FilterRunner, MapRunner
from firesteel.operators.operator import Operator, OperatorInput, Timestamps

_FIRST_LINE = 5
"""Of the loop's body."""

_TRIED_BUFFERS = 16
_TRIED_ELEMENTS = 256
"""So many buffers of at least so many elements decide which way is quicker."""


def fuse(operators: Iterable[Operator]) -> None:
    """Fuse what can be fused of a chain's operators, which are connected, each behind those that feed it."""
    done: set[Operator] = set()
    for operator in operators:
        run = [operator]
        while operator not in done and (following := _following(run[-1])) is not None:
            run.append(following)
        done.update(run)
        if len(run) > 1:
            operator.process = _FusedLoop(run).process  # type: ignore[method-assign]


def _following(operator: Operator) -> Operator | None:
    """The map or filter that gets all that this map or filter emits, and alone."""
    receivers = operator.output.receivers
    if not _is_fusable(operator) or len(receivers) != 1 or not isinstance(receivers[0], OperatorInput):
        return None
    following = receivers[0].operator
    return following if _is_fusable(following) else None


def _is_fusable(operator: Operator) -> bool:
    return type(operator) in (MapRunner, FilterRunner) and not operator.output.has_side_outputs


class _FusedLoop:
    """The loop of several operators, compiled without timestamps and with; used if it is quicker than one by one."""

    def __init__(self, run: list[Operator]) -> None:
        self._run = run
        self._one_by_one = run[0].process
        self._to_try = _TRIED_BUFFERS
        self._best_s = {True: math.inf, False: math.inf}
        self._output = run[-1].output
        self._filters = any(isinstance(operator, FilterRunner) for operator in run)
        self._line_of: list[Operator] = []
        scope, body = self._body()
        self._loop = _compiled("values", "for value in values:", body, "results", scope)
        if self._filters:
            body = [*body, "keep(timestamp)"]
        self._timed_loop = _compiled(
            "values, timestamps", "for value, timestamp in zip(values, timestamps):", body, "results, kept", scope
        )

    def _body(self) -> tuple[dict[str, Any], list[str]]:
        """What the source refers to, and its lines for one element."""
        scope: dict[str, Any] = {}
        lines: list[str] = []
        for number, operator in enumerate(self._run):
            is_filter = isinstance(operator, FilterRunner)
            scope[f"f{number}"] = method_of(operator.function, "filter" if is_filter else "map")  # type: ignore[attr-defined]
            own = [f"if not f{number}(value): continue"] if is_filter else [f"value = f{number}(value)"]
            coerce = coercer(operator.output.output_type)
            if coerce is not None:
                scope[f"c{number}"] = coerce
                own.append(f"if not ({fits(operator.output.output_type, 'value')}): value = c{number}(value)")
            lines += own
            self._line_of += [operator] * len(own)
        return scope, [*lines, "append(value)"]

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements, as the first of the operators does."""
        is_tried = self._to_try > 0 and len(values) >= _TRIED_ELEMENTS
        fused = self._to_try % 2 == 0 if is_tried else self._best_s[True] <= self._best_s[False]
        begun_s = time.perf_counter()
        (self._process_fused if fused else self._one_by_one)(values, timestamps)
        if is_tried:
            self._to_try -= 1
            self._best_s[fused] = min(self._best_s[fused], (time.perf_counter() - begun_s) / len(values))

    def _process_fused(self, values: list[Any], timestamps: Timestamps) -> None:
        try:
            if timestamps is None:
                results = self._loop(values)
            else:
                results, kept = self._timed_loop(values, timestamps)
                timestamps = kept if self._filters else timestamps
        except Exception as error:
            raise UserFunctionError.of(error, self._operator_at(error)) from error
        self._output.hand_on(results, timestamps)

    def _operator_at(self, error: Exception) -> Operator:
        loops = (self._loop.__code__, self._timed_loop.__code__)
        line = next(line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code in loops)
        return self._line_of[line - _FIRST_LINE]


def _compiled(arguments: str, head: str, body: list[str], results: str, scope: dict[str, Any]) -> Callable[..., Any]:
    lines = [
        f"def loop({arguments}):",
        "    results, kept = [], []",
        "    append, keep = results.append, kept.append",
        f"    {head}",
        *(f"        {line}" for line in body),
        f"    return {results}",
    ]
    names = dict(scope)
    exec(compile("\n".join(lines), f"{__file__}:compiled", "exec"), names)
    return names["loop"]  # type: ignore[no-any-return]
