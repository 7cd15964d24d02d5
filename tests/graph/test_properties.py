"""Properties that hold for every graph."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.graph import JobGraph, StreamGraph
from firesteel.graph.chaining import Chaining
from firesteel.graph.hashing import operator_hashes
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.graph.partitioner import Partitioner
from firesteel.graph.stream_node import StreamNode
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.pipelined_region import pipelined_regions

SPREADING = ["REBALANCE", "RESCALE", "SHUFFLE", "HASH", "BROADCAST", "GLOBAL", None]


@st.composite
def stream_graphs(draw):
    """Programs of up to ten operators, each with up to three inputs from earlier ones, of all settings."""
    graph = StreamGraph(
        chaining_enabled=draw(st.booleans()),
        chain_different_max_parallelism=draw(st.booleans()),
        global_exchange_mode=draw(st.sampled_from(["ALL_EDGES_PIPELINED", "ALL_EDGES_BLOCKING"])),
        one_default_group=draw(st.booleans()),
    )
    for node_id in range(1, draw(st.integers(1, 10)) + 1):
        inputs = draw(st.lists(st.integers(1, node_id - 1), max_size=3)) if node_id > 1 else []
        graph.add_node(
            StreamNode(
                node_id,
                f"op{node_id}",
                draw(st.integers(1, 4)),
                max_parallelism=draw(st.sampled_from([-1, -1, 4, 8])),
                chaining_strategy=draw(st.sampled_from(["ALWAYS", "ALWAYS", "HEAD", "NEVER", "HEAD_WITH_SOURCES"])),
                slot_sharing_group=draw(st.sampled_from(["default", "default", "other"])),
                yielding=draw(st.booleans()),
                legacy_source=not inputs and draw(st.booleans()),
            )
        )
        if not inputs:
            graph.source_ids.append(node_id)
        for source in inputs:
            name = draw(st.sampled_from(SPREADING))
            graph.add_edge(source, node_id, 0, None if name is None else Partitioner(name))
    return graph


@given(stream_graphs())
@settings(max_examples=150, deadline=None)
def test_every_edge_of_the_stream_graph_is_in_one_chain_or_between_two(graph):
    job_graph = graph.get_job_graph()
    vertex_of = {operator.node_id: vertex for vertex in job_graph.vertices for operator in vertex.chain}
    assert sorted(vertex_of) == sorted(graph.nodes)
    inside = [
        (operator.node_id, output.target_node_id)
        for vertex in job_graph.vertices
        for operator in vertex.chain
        for output in operator.chained_outputs
    ]
    between = [(edge.source_node_id, edge.target_node_id) for vertex in job_graph.vertices for edge in vertex.inputs]
    wanted = [(edge.source_id, edge.target_id) for node in graph.nodes.values() for edge in node.out_edges]
    assert sorted(inside + between) == sorted(wanted)
    assert all(vertex_of[source] is vertex_of[target] for source, target in inside)
    for vertex in job_graph.vertices:
        for edge in vertex.inputs:
            assert edge.source.producer is vertex_of[edge.source_node_id]
            assert vertex is vertex_of[edge.target_node_id]
            assert edge.not_chained_because


@given(stream_graphs())
@settings(max_examples=75, deadline=None)
def test_every_edge_of_the_job_graph_feeds_every_consumer_and_drains_every_partition(graph):
    job_graph = graph.get_job_graph()
    resolve_parallelism(job_graph, 1)
    execution_graph = ExecutionGraph(job_graph, lambda: 0)
    for vertex in execution_graph.job_vertices.values():
        for number, edge in enumerate(vertex.job_vertex.inputs):
            producer = execution_graph.job_vertices[edge.source.producer.id]
            read = {
                (partition, subtask.subtask_index)
                for subtask in vertex.vertices
                for partition in subtask.consumed[number].consumed.partitions
            }
            assert {partition for partition, _ in read} == set(range(producer.parallelism))
            assert {subtask for _, subtask in read} == set(range(vertex.parallelism))
            if edge.ship_strategy not in ("FORWARD", "RESCALE"):
                assert len(read) == producer.parallelism * vertex.parallelism
    regions = pipelined_regions(execution_graph)
    region_of = {id(subtask): number for number, region in enumerate(regions) for subtask in region}
    assert sum(len(region) for region in regions) == len(region_of) == len(list(execution_graph.vertices))


@given(stream_graphs())
@settings(max_examples=75, deadline=None)
def test_plain_data_gives_the_same_ids_back(graph):
    plain = graph.to_dict()
    again = StreamGraph.from_dict(json.loads(json.dumps(plain)))
    assert again.to_dict() == plain
    job = graph.get_job_graph().to_dict()
    other = again.get_job_graph().to_dict()
    del job["job_id"], other["job_id"]
    assert other == job
    assert JobGraph.from_dict(json.loads(json.dumps({**job, "job_id": "f" * 32}))).to_dict() == {
        **job,
        "job_id": "f" * 32,
    }


@given(stream_graphs(), st.data())
@settings(max_examples=75, deadline=None)
def test_a_uid_changes_only_the_hashes_of_the_operator_and_of_those_after_it(graph, data):
    before = operator_hashes(graph, Chaining(graph))
    chosen = data.draw(st.sampled_from(sorted(graph.nodes)))
    graph.nodes[chosen].uid = "mine"
    after = operator_hashes(graph, Chaining(graph))
    behind = {chosen}
    for node in graph.nodes.values():  # ids are in topological order
        if any(edge.source_id in behind for edge in node.in_edges):
            behind.add(node.id)
    order_kept = _hashed_in_the_same_order(graph, chosen)
    changed = {node_id for node_id in graph.nodes if before[node_id] != after[node_id]}
    assert chosen in changed
    if order_kept:
        assert changed <= behind


def _hashed_in_the_same_order(graph, chosen):
    """An operator with a uid does not wait for its inputs: only then others may be counted differently."""
    return len(graph.nodes[chosen].in_edges) <= 1
