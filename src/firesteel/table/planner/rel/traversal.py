"""The nodes of plans, in which several nodes may read the same one."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.table.planner.rel.rel import Rel


def inputs_first(roots: Iterable[Rel]) -> list[Rel]:
    """Return all nodes of plans once, each after its inputs."""
    found: dict[Rel, None] = {}

    def visit(node: Rel) -> None:
        if node in found:
            return
        for child in node.inputs:
            visit(child)
        found[node] = None

    for root in roots:
        visit(root)
    return list(found)
