"""Fusion of consecutive maps and filters of a chain into one loop over the elements, as if written by hand.

Only elements go through the fused loop; watermarks and other events go from operator to operator. An error is
attributed to the operator whose line of the compiled loop raised it. Fusion speeds up small functions but slows down
large ones, because running one operator per buffer keeps its code in the processor's cache. So both variants are
measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from firesteel.operators.chain.element_loop import ElementLoop
from firesteel.operators.chain.operator import Operator, OperatorInput, Timestamps
from firesteel.operators.one_input import FilterRunner, MapRunner

_TRIED_BUFFERS = 16
_TRIED_ELEMENTS = 256
"""Minimum size of a buffer to be measured, and number of buffers measured, to choose the faster variant."""


def fuse(operators: Iterable[Operator]) -> None:
    """Fuse the fusible operators of a chain; the operators are connected and in topological order."""
    done: set[Operator] = set()
    for operator in operators:
        run = [operator]
        while operator not in done and (following := _following(run[-1])) is not None:
            run.append(following)
        done.update(run)
        if len(run) > 1:
            operator.process = _FusedLoop(run).process  # type: ignore[method-assign]


def _following(operator: Operator) -> Operator | None:
    """Return the map or filter that is the only receiver of everything this map or filter emits, or None."""
    receivers = operator.output.receivers
    if not _is_fusable(operator) or len(receivers) != 1 or not isinstance(receivers[0], OperatorInput):
        return None
    following = receivers[0].operator
    return following if _is_fusable(following) else None


def _is_fusable(operator: Operator) -> bool:
    return type(operator) in (MapRunner, FilterRunner) and not operator.output.has_side_outputs


class _FusedLoop:
    """The loop of several operators, used if it is faster than running them one by one; the results are equal."""

    def __init__(self, run: list[Operator]) -> None:
        self._one_by_one = run[0].process
        self._fused = ElementLoop(run).process
        self._to_try = _TRIED_BUFFERS
        self._best_s = {True: math.inf, False: math.inf}

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements with the first of the operators."""
        is_tried = self._to_try > 0 and len(values) >= _TRIED_ELEMENTS
        fused = self._to_try % 2 == 0 if is_tried else self._best_s[True] <= self._best_s[False]
        begun_s = time.perf_counter()
        (self._fused if fused else self._one_by_one)(values, timestamps)
        if is_tried:
            self._to_try -= 1
            # The best of several, as other processes only ever make a buffer slower.
            self._best_s[fused] = min(self._best_s[fused], (time.perf_counter() - begun_s) / len(values))
