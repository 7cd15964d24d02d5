"""EXPLAIN: plans as text, in Flink's three sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firesteel.columns.batch import Kind
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rel.plan_advice import PlanAdvice
from firesteel.table.planner.rel.rel import Rel

_PHYSICAL = "Optimized Physical Plan"
_SHORT = {0: "I", 1: "UB", 2: "UA", 3: "D"}


def explain_text(
    pairs: Sequence[tuple[Rel, Rel]],
    sinks: Sequence[str],
    kinds: Mapping[Rel, frozenset[Kind]] | None,
    advice: PlanAdvice | None,
) -> str:
    """Return the text of EXPLAIN.

    Args:
        pairs: Each query as resolved, and as optimized.
        sinks: The text of each query's sink; empty for queries.
        kinds: The kinds of rows that each node emits, if the physical plan is to show them.
        advice: Gives advice about the physical plan, if it is asked for.
    """
    sections = [
        ("Abstract Syntax Tree", [node for node, _ in pairs], None),
        (_PHYSICAL if advice is None else f"{_PHYSICAL} With Advice", [node for _, node in pairs], kinds),
        ("Optimized Execution Plan", [node for _, node in pairs], None),
    ]
    parts = []
    for title, nodes, shown in sections:
        reused = _Reused(nodes) if title == "Optimized Execution Plan" else None
        lines = [f"== {title} =="]
        for place, node in enumerate(nodes):
            depth = 0
            if place < len(sinks):
                mode = "" if shown is None else ", changelogMode=[NONE]"
                lines.append(f"Sink(table=[{sinks[place]}], fields=[{', '.join(node.row_type.names)}]{mode})")
                depth = 1
            _tree(node, depth, lines, shown, reused, advice if title.startswith(_PHYSICAL) else None)
            lines.append("")
        if advice is not None and title.startswith(_PHYSICAL):
            lines += advice.lines()
        parts.append("\n".join(lines))
    return "\n".join(parts)


class _Reused:
    """The nodes that are read several times, which the execution plan shows once. Flink: `ReuseInfo`.

    Args:
        roots: The plans of one job.
    """

    def __init__(self, roots: Sequence[Rel]) -> None:
        self._ids: dict[int, int] = {}
        self._times: dict[int, int] = {}
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            self._times[id(node)] = self._times.get(id(node), 0) + 1
            if self._times[id(node)] == 1:
                waiting += _inputs(node)

    def mark(self, node: Rel) -> tuple[str, bool]:
        """Return what to add to the text of a node, and whether the node was shown before."""
        if self._times[id(node)] == 1:
            return "", False
        shown = id(node) in self._ids
        number = self._ids.setdefault(id(node), len(self._ids) + 1)
        return (f"Reused(reference_id=[{number}])" if shown else f"(reuse_id=[{number}])"), shown


def _inputs(node: Rel) -> tuple[Rel, ...]:
    """Return the inputs of the operator that a node becomes."""
    if isinstance(node, rel.Project) and isinstance(node.input, rel.Filter):  # one operator does both
        return node.input.inputs
    return node.inputs


def _tree(
    node: Rel,
    depth: int,
    lines: list[str],
    kinds: Mapping[Rel, frozenset[Kind]] | None,
    reused: _Reused | None,
    advice: PlanAdvice | None,
) -> None:
    indent = "" if depth == 0 else "   " * (depth - 1) + "+- "
    mark, was_shown = ("", False) if reused is None else reused.mark(node)
    if was_shown:
        lines.append(indent + mark)
        return
    text = describe(node) if advice is None else advice.marked(node, describe(node))
    if kinds is not None:
        mode = ",".join(_SHORT[int(kind)] for kind in sorted(kinds[node]))
        text = f"{text[:-1]}, changelogMode=[{mode}])" if text.endswith(")") else f"{text}(changelogMode=[{mode}])"
    lines.append(indent + text + mark)
    for child in _inputs(node):
        _tree(child, depth + 1, lines, kinds, reused, advice)
