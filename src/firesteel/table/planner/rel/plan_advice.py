"""Advice in EXPLAIN with PLAN_ADVICE. Flink: `GroupAggregationAnalyzer`."""

from __future__ import annotations

from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel

TWO_PHASES = (
    "[ADVICE] You might want to enable local-global two-phase optimization by configuring "
    "('table.exec.mini-batch.enabled' to 'true', 'table.exec.mini-batch.allow-latency' to a positive long value, "
    "'table.exec.mini-batch.size' to a positive long value)."
)


class PlanAdvice:
    """Advice about the nodes of a plan.

    Args:
        has_mini_batches: Whether aggregates wait for mini-batches.
    """

    def __init__(self, has_mini_batches: bool) -> None:
        self._has_mini_batches = has_mini_batches
        self._is_given = False

    def marked(self, node: Rel, text: str) -> str:
        """Return the text of a node with the number of the advice about it."""
        if self._has_mini_batches or not _has_two_phases(node):
            return text
        self._is_given = True
        name, _, rest = text.partition("(")
        return f"{name}(advice=[1], {rest}"

    def lines(self) -> list[str]:
        """Return the advice about the nodes that were marked."""
        return [f"advice[1]: {TWO_PHASES}" if self._is_given else "No available advice...", ""]


def _has_two_phases(node: Rel) -> bool:
    """Return whether a group aggregate could be computed before its rows are distributed, and completed after that."""
    return isinstance(node, rel.Aggregate) and not node.flat and all(isinstance(c.function, str) for c in node.calls)
