"""Maps and filters that follow each other in a chain may process each element in one loop, as if written by hand.

Only elements take that way: watermarks, batches and all else go from operator to operator. An error is that of the
operator on whose line of the compiled loop it was raised. Small functions gain by it; functions with much code lose,
as a buffer that goes through one of them after the other finds its code in the processor's cache. Both are tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from firesteel.operators.element_loop import ElementLoop
from firesteel.operators.one_input import FilterRunner, MapRunner
from firesteel.operators.operator import Operator, OperatorInput, Timestamps

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
    """The loop of several operators; used if it is quicker than one by one. Both give the same."""

    def __init__(self, run: list[Operator]) -> None:
        self._one_by_one = run[0].process
        self._fused = ElementLoop(run).process
        self._to_try = _TRIED_BUFFERS
        self._best_s = {True: math.inf, False: math.inf}

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements, as the first of the operators does."""
        is_tried = self._to_try > 0 and len(values) >= _TRIED_ELEMENTS
        fused = self._to_try % 2 == 0 if is_tried else self._best_s[True] <= self._best_s[False]
        begun_s = time.perf_counter()
        (self._fused if fused else self._one_by_one)(values, timestamps)
        if is_tried:
            self._to_try -= 1
            self._best_s[fused] = min(self._best_s[fused], (time.perf_counter() - begun_s) / len(values))
