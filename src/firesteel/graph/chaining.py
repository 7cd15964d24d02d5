"""Operator chaining: an ordered list of named rules, and the reason given by the first broken one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firesteel.graph.stream_node import StreamEdge, StreamNode, Topology


class Chaining:
    """Determines which edges of a graph are chained; results are cached."""

    def __init__(self, graph: Topology) -> None:
        self.graph = graph
        self._broken_by: dict[int, str | None] = {}

    def is_chainable(self, edge: StreamEdge) -> bool:
        """Return whether both ends of an edge run in one chain."""
        return self.broken_by(edge) is None

    def broken_by(self, edge: StreamEdge) -> str | None:
        """Return why both ends of an edge are not chained, by the first broken rule; None if they are."""
        key = id(edge)
        if key not in self._broken_by:
            source, target = self.graph.nodes[edge.source_id], self.graph.nodes[edge.target_id]
            broken = (rule for rule in CHAINING_RULES if not rule.holds(self, edge, source, target))
            rule = next(broken, None)
            self._broken_by[key] = None if rule is None else rule.broken(edge, source, target)
        return self._broken_by[key]

    def head(self, node: StreamNode) -> StreamNode:
        """Return the first node of the chain of `node`."""
        while len(node.in_edges) == 1 and self.is_chainable(node.in_edges[0]):
            node = self.graph.nodes[node.in_edges[0].source_id]
        return node


@dataclass(frozen=True, slots=True)
class ChainingRule:
    """A condition of chaining.

    Attributes:
        name: Name in documents and tests.
        holds: Returns whether an edge satisfies the rule.
        broken: Returns the reason for an edge that does not satisfy it.
    """

    name: str
    holds: Callable[[Chaining, StreamEdge, StreamNode, StreamNode], bool]
    broken: Callable[[StreamEdge, StreamNode, StreamNode], str]


def _one_input_edge(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return len(target.in_edges) == 1


def _chaining_enabled(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return chaining.graph.chaining_enabled


def _same_slot_sharing_group(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return source.slot_sharing_group == target.slot_sharing_group


def _upstream_lets_chain(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return source.chaining_strategy != "NEVER"


def _downstream_lets_chain(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    if target.chaining_strategy == "HEAD_WITH_SOURCES":
        return not source.in_edges
    return target.chaining_strategy == "ALWAYS"


def _same_parallelism(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return source.parallelism == target.parallelism


def _same_max_parallelism(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return chaining.graph.chain_different_max_parallelism or source.max_parallelism == target.max_parallelism


def _forward(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return edge.partitioner.name == "FORWARD"


def _not_blocking(chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode) -> bool:
    return edge.exchange_mode != "BATCH"


def _yielding_not_behind_legacy_source(
    chaining: Chaining, edge: StreamEdge, source: StreamNode, target: StreamNode
) -> bool:
    return not (target.yielding and chaining.head(source).legacy_source)


CHAINING_RULES: tuple[ChainingRule, ...] = (
    ChainingRule(
        "one-input",
        _one_input_edge,
        lambda edge, source, target: f"the target has {len(target.in_edges)} inputs, a chained operator has one",
    ),
    ChainingRule(
        "chaining-enabled",
        _chaining_enabled,
        lambda edge, source, target: "chaining is disabled (pipeline.operator-chaining.enabled)",
    ),
    ChainingRule(
        "same-slot-sharing-group",
        _same_slot_sharing_group,
        lambda edge, source, target: (
            f"the slot sharing groups differ ({source.slot_sharing_group!r} and {target.slot_sharing_group!r})"
        ),
    ),
    ChainingRule(
        "upstream-strategy",
        _upstream_lets_chain,
        lambda edge, source, target: f"the upstream's chaining strategy is {source.chaining_strategy}",
    ),
    ChainingRule(
        "downstream-strategy",
        _downstream_lets_chain,
        lambda edge, source, target: f"the target's chaining strategy is {target.chaining_strategy}",
    ),
    ChainingRule(
        "same-parallelism",
        _same_parallelism,
        lambda edge, source, target: f"the parallelism differs ({source.parallelism} and {target.parallelism})",
    ),
    ChainingRule(
        "same-max-parallelism",
        _same_max_parallelism,
        lambda edge, source, target: (
            f"the max parallelism differs ({source.max_parallelism} and {target.max_parallelism})"
        ),
    ),
    ChainingRule(
        "forward",
        _forward,
        lambda edge, source, target: f"the elements are redistributed ({edge.partitioner.name})",
    ),
    ChainingRule(
        "not-blocking",
        _not_blocking,
        lambda edge, source, target: "the exchange is blocking (BATCH): the target starts when its input is complete",
    ),
    ChainingRule(
        "no-yielding-behind-legacy-source",
        _yielding_not_behind_legacy_source,
        lambda edge, source, target: "the target may yield and the chain's head is a legacy source",
    ),
)
"""In the order of Flink's `StreamingJobGraphGenerator.isChainable`."""
