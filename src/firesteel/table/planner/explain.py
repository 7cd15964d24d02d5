"""EXPLAIN: plans as text, in Flink's three sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.table.planner import rel
from firesteel.table.planner.changelog import kinds_of
from firesteel.table.planner.description import describe

_SHORT = {0: "I", 1: "UB", 2: "UA", 3: "D"}


def explain_text(pairs: Sequence[tuple[Any, Any]], sinks: Sequence[Any], is_streaming: bool, details: list[str]) -> str:
    """Return the text of EXPLAIN.

    Args:
        pairs: Each query as resolved, and as optimized.
        sinks: The text of each query's sink; empty for queries.
        is_streaming: Whether nodes emit changelogs.
        details: Names of `ExplainDetail`.
    """
    with_kinds = any("CHANGELOG_MODE" in detail for detail in details)
    sections = [
        ("Abstract Syntax Tree", [node for node, _ in pairs], False),
        ("Optimized Physical Plan", [node for _, node in pairs], with_kinds),
        ("Optimized Execution Plan", [node for _, node in pairs], False),
    ]
    parts = []
    for title, nodes, kinds in sections:
        lines = [f"== {title} =="]
        for place, node in enumerate(nodes):
            depth = 0
            if place < len(sinks):
                lines.append(f"Sink(table=[{sinks[place]}], fields=[{', '.join(node.row_type.names)}])")
                depth = 1
            _tree(node, depth, lines, kinds, is_streaming)
            lines.append("")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _tree(node: Any, depth: int, lines: list[str], with_kinds: bool, is_streaming: bool) -> None:
    text = describe(node)
    if with_kinds:
        kinds = ",".join(_SHORT[int(kind)] for kind in sorted(kinds_of(node, is_streaming)))
        text = f"{text[:-1]}, changelogMode=[{kinds}])" if text.endswith(")") else f"{text}(changelogMode=[{kinds}])"
    lines.append(("" if depth == 0 else "   " * (depth - 1) + "+- ") + text)
    inputs = node.inputs
    if isinstance(node, rel.Project) and isinstance(node.input, rel.Filter):  # one operator does both
        inputs = node.input.inputs
    for child in inputs:
        _tree(child, depth + 1, lines, with_kinds, is_streaming)
