"""Which edges chain: the rules by name, in order, and the chains that result."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.graph.stream_node import StreamEdge, StreamNode, Topology

_Rule = Callable[["Chaining", StreamEdge, StreamNode, StreamNode], bool]


class Chaining:
    """Answers for one graph which edges chain; answers are remembered."""

    def __init__(self, graph: Topology) -> None:
        self.graph = graph
        self._broken_by: dict[int, str | None] = {}

    def is_chainable(self, edge: StreamEdge) -> bool:
        """True if both ends run in one chain."""
        return self.broken_by(edge) is None

    def broken_by(self, edge: StreamEdge) -> str | None:
        """The first rule that keeps both ends apart; None if they chain."""
        key = id(edge)
        if key not in self._broken_by:
            source, target = self.graph.nodes[edge.source_id], self.graph.nodes[edge.target_id]
            broken = (name for name, holds in CHAINING_RULES if not holds(self, edge, source, target))
            self._broken_by[key] = next(broken, None)
        return self._broken_by[key]

    def head(self, node: StreamNode) -> StreamNode:
        """The first node of the chain that `node` is in."""
        while len(node.in_edges) == 1 and self.is_chainable(node.in_edges[0]):
            node = self.graph.nodes[node.in_edges[0].source_id]
        return node


def _one_input_edge(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return len(target.in_edges) == 1


def _chaining_enabled(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return chaining.graph.chaining_enabled


def _same_slot_sharing_group(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return source.slot_sharing_group == target.slot_sharing_group


def _strategies_allow(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    if source.chaining_strategy == "NEVER":
        return False
    if target.chaining_strategy == "HEAD_WITH_SOURCES":
        return not source.in_edges
    return target.chaining_strategy == "ALWAYS"


def _same_parallelism(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return source.parallelism == target.parallelism


def _same_max_parallelism(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return chaining.graph.chain_different_max_parallelism or source.max_parallelism == target.max_parallelism


def _forward(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return edge.partitioner.name == "FORWARD" and edge.exchange_mode != "BATCH"


def _yielding_not_behind_legacy_source(
    chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode
) -> bool:
    return not (target.yielding and chaining.head(source).legacy_source)


CHAINING_RULES: tuple[tuple[str, _Rule], ...] = (
    ("the target has several inputs", _one_input_edge),
    ("chaining is disabled", _chaining_enabled),
    ("the slot sharing groups differ", _same_slot_sharing_group),
    ("a chaining strategy forbids it", _strategies_allow),
    ("the parallelism differs", _same_parallelism),
    ("the max parallelism differs", _same_max_parallelism),
    ("the elements are redistributed", _forward),
    ("the target may yield and the chain's head is a legacy source", _yielding_not_behind_legacy_source),
)
