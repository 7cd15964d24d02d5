"""Job graphs as such: order, plain data, and what is refused."""

from __future__ import annotations

import json
import pickle

import pytest

from firesteel.errors import InvalidProgramError
from firesteel.graph import JobGraph, StreamGraph
from firesteel.graph.job_graph import DistributionPattern, ResultPartitionType
from firesteel.graph.job_vertex import topological_order
from firesteel.graph.stream_node import StreamNode
from tests.runtime.helpers import connect, job_graph


def operators(count, chaining_enabled=True):
    """A source and more operators in a row."""
    graph = StreamGraph(chaining_enabled=chaining_enabled, source_ids=[1], sink_ids=[count])
    for node_id in range(1, count + 1):
        graph.add_node(StreamNode(node_id, f"op{node_id}", 1))
        if node_id > 1:
            graph.add_edge(node_id - 1, node_id, 0, None)
    return graph


def test_a_chain_may_exceed_the_recursion_limit():
    (vertex,) = operators(3_000).get_job_graph().vertices
    assert len(vertex.chain) == 3_000
    assert vertex.name.startswith("op1 -> op2 -> op3 -> ")
    assert vertex.description.splitlines()[2] == "   +- op3"


@pytest.mark.slow
def test_a_path_of_vertices_may_exceed_the_recursion_limit():
    graph = operators(3_000, chaining_enabled=False).get_job_graph()
    assert [vertex.name for vertex in graph.vertices] == [f"op{i}" for i in range(1, 3_001)]
    assert [vertex.name for vertex in pickle.loads(pickle.dumps(graph)).vertices][-1] == "op3000"


def test_plain_data_keeps_all_but_operators():
    graph = operators(3, chaining_enabled=False).get_job_graph()
    graph.configuration["parallelism.default"] = "2"
    plain = graph.to_dict()
    again = JobGraph.from_dict(json.loads(json.dumps(plain)))
    assert again.to_dict() == plain
    assert again.job_id == graph.job_id
    assert again.configuration == {"parallelism.default": "2"}
    assert again.vertices[1].inputs[0].not_chained_because.startswith("chaining is disabled")


def cyclic():
    graph = job_graph(("a", 1, []), ("b", 1, [("a", "POINTWISE", "PIPELINED")]), ("c", 1, []))
    a, b, _ = graph.vertices
    connect(b, a, 0, DistributionPattern.POINTWISE, ResultPartitionType.PIPELINED)
    return graph


def test_cycles_are_refused_with_the_names_of_their_vertices():
    with pytest.raises(InvalidProgramError, match="The job graph is cyclic: 'a', 'b' feed each other"):
        topological_order(cyclic().vertices)


def test_a_vertex_in_an_unknown_slot_sharing_group_is_refused_by_name():
    plain = operators(1).get_job_graph().to_dict()
    plain["vertices"][0]["slot_sharing_group_index"] = 3
    message = r"vertex 'op1' is in the unknown slot sharing group 3; the job graph has 1: \['default'\]"
    with pytest.raises(InvalidProgramError, match=message):
        JobGraph.from_dict(plain)


def test_forward_between_different_parallelisms_is_refused_in_plain_data_too():
    plain = operators(2).to_dict()
    plain["nodes"][1]["parallelism"] = 3
    message = r"upstream 'op1' \(node 1\) has parallelism 1, downstream 'op2' \(node 2\) has 3"
    with pytest.raises(InvalidProgramError, match=message):
        StreamGraph.from_dict(plain)
