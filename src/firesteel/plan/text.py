"""A diagram as a tree of lines for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from firesteel.plan.diagram import Diagram, Edge, Node

__all__ = ["tree_text"]


def tree_text(diagram: Diagram) -> str:
    """Return the nodes from the sources on, each once.

    A single successor is placed below its node; several successors branch off.
    """
    return "\n".join([diagram.summary, "", *_Tree(diagram).lines(), *(f"\n{note}" for note in diagram.notes)])


class _Tree:
    def __init__(self, diagram: Diagram) -> None:
        self._nodes = {node.id: node for node in diagram.nodes}
        self._out: defaultdict[str, list[Edge]] = defaultdict(list)
        inputs: defaultdict[str, int] = defaultdict(int)
        for edge in diagram.edges:
            self._out[edge.source].append(edge)
            inputs[edge.target] += 1
        self._roots = [node.id for node in diagram.nodes if not inputs[node.id]]
        self._seen: set[str] = set()

    def lines(self) -> Iterator[str]:
        for number, root in enumerate(self._roots):
            if number:
                yield ""
            yield from self._below(root)

    def _below(self, root: str) -> Iterator[str]:
        """Yield the lines of a node and everything downstream; iterative, as programs may be long."""
        pending: list[tuple[str, str, str | None]] = [(root, "", None)]
        while pending:
            current, indent, branch = pending.pop()
            if branch is not None:
                yield branch
            yield indent + self._line_of(current)
            if current in self._seen:
                continue
            self._seen.add(current)
            edges = self._out[current]
            if len(edges) == 1:
                pending.append((edges[0].target, indent, f"{indent}│ {_edge_text(edges[0])}"))
                continue
            for edge in reversed(edges):
                is_last = edge is edges[-1]
                branch = f"{indent}{'└─' if is_last else '├─'} {_edge_text(edge)}"
                pending.append((edge.target, indent + ("   " if is_last else "│  "), branch))

    def _line_of(self, node_id: str) -> str:
        node = self._nodes[node_id]
        return f"(see {node.facts[0]} {node.title})" if node_id in self._seen else self._node_line(node)

    def _node_line(self, node: Node) -> str:
        number, *facts = node.facts
        return f"{number}  {node.title}  {' '.join(facts)}".rstrip()


def _edge_text(edge: Edge) -> str:
    if edge.is_chained:
        return f"{edge.label}, chained"
    return f"{edge.label}: {edge.reason}" if edge.reason else edge.label
