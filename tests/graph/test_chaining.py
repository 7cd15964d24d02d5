from __future__ import annotations

import pytest

from firesteel.graph.chaining import CHAINING_RULES, Chaining
from firesteel.graph.partitioner import FORWARD, REBALANCE, DistributionPattern, Partitioner
from firesteel.graph.result_partition_type import ResultPartitionType
from firesteel.graph.slot_sharing import DEFAULT_GROUP
from firesteel.graph.stream_node import StreamNode, Topology


def graph_of(source=None, target=None, partitioner=FORWARD, mode="UNDEFINED", **settings):
    graph = Topology(**settings)
    graph.add_node(StreamNode(1, "a", 2, **(source or {})))
    graph.add_node(StreamNode(2, "b", **({"parallelism": 2} | (target or {}))))
    graph.add_edge(1, 2, 0, partitioner, mode)
    return graph


def broken_by(graph):
    return Chaining(graph).broken_by(graph.nodes[1].out_edges[0])


def test_neighbours_chain_unless_a_rule_forbids_it():
    assert broken_by(graph_of()) is None


@pytest.mark.parametrize(
    ("graph", "rule", "words"),
    [
        (
            graph_of(chaining_enabled=False),
            "chaining-enabled",
            "chaining is disabled (pipeline.operator-chaining.enabled)",
        ),
        (
            graph_of(target={"slot_sharing_group": "other"}),
            "same-slot-sharing-group",
            "the slot sharing groups differ ('default' and 'other')",
        ),
        (
            graph_of(source={"chaining_strategy": "NEVER"}),
            "upstream-strategy",
            "the upstream's chaining strategy is NEVER",
        ),
        (
            graph_of(target={"chaining_strategy": "HEAD"}),
            "downstream-strategy",
            "the target's chaining strategy is HEAD",
        ),
        (
            graph_of(target={"parallelism": 3}, partitioner=REBALANCE),
            "same-parallelism",
            "the parallelism differs (2 and 3)",
        ),
        (
            graph_of(target={"max_parallelism": 3}, chain_different_max_parallelism=False),
            "same-max-parallelism",
            "the max parallelism differs (-1 and 3)",
        ),
        (graph_of(partitioner=REBALANCE), "forward", "the elements are redistributed (REBALANCE)"),
        (
            graph_of(mode="BATCH"),
            "not-blocking",
            "the exchange is blocking (BATCH): the target starts when its input is complete",
        ),
        (
            graph_of(source={"legacy_source": True}, target={"yielding": True}),
            "no-yielding-behind-legacy-source",
            "the target may yield and the chain's head is a legacy source",
        ),
    ],
)
def test_the_first_broken_rule_is_the_reason_why_operators_are_not_chained(graph, rule, words):
    assert broken_by(graph) == words
    edge = graph.nodes[1].out_edges[0]
    broken = [one.name for one in CHAINING_RULES if not one.holds(Chaining(graph), edge, *graph.nodes.values())]
    assert broken[0] == rule


def test_operators_with_a_second_input_are_not_merged():
    graph = graph_of()
    graph.add_edge(1, 2, 0, FORWARD)
    assert broken_by(graph) == "the target has 2 inputs, a chained operator has one"


def test_operator_that_chains_with_sources_chains_only_after_a_source():
    graph = graph_of(target={"chaining_strategy": "HEAD_WITH_SOURCES"})
    graph.add_node(StreamNode(3, "c", 2, chaining_strategy="HEAD_WITH_SOURCES"))
    graph.add_edge(2, 3, 0, FORWARD)
    assert broken_by(graph) is None
    assert not Chaining(graph).is_chainable(graph.nodes[2].out_edges[0])


def test_only_forward_and_rescale_are_pointwise():
    pointwise = [
        p
        for p in ("FORWARD", "RESCALE", "REBALANCE", "HASH", "BROADCAST", "CUSTOM")
        if Partitioner(p).distribution_pattern is DistributionPattern.POINTWISE
    ]
    assert pointwise == ["FORWARD", "RESCALE"]
    with pytest.raises(ValueError, match="'ROUND' is not a partitioner"):
        Partitioner("ROUND")


def test_only_pipelined_results_tie_producer_and_consumer_together():
    tied = [kind.name for kind in ResultPartitionType if kind.must_be_pipelined_consumed]
    assert tied == ["PIPELINED", "PIPELINED_BOUNDED"]
    assert DEFAULT_GROUP == "default"
