"""Programs and the job graphs that Flink 2.3.0 builds from them, as text: ids are Flink's."""

from __future__ import annotations

import pickle
from pathlib import Path

import cloudpickle
import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.errors import InvalidProgramError
from firesteel.graph import JobGraph, StreamGraph

ROOT = Path(__file__).parent.parent.parent
BATCH = {"execution.runtime-mode": "BATCH"}
UNMERGED = {"python.operator-chaining.enabled": "false"}


def environment(options):
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "4"} | options)
    )


def numbers(env, name="a"):
    return env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), name, Types.LONG())


def same(value):
    return value


def show(job_graph):
    """One line per vertex (id, parallelism, name) and one per input."""
    lines = []
    for vertex in job_graph.vertices:
        lines.append(f"{vertex.id[:8]} x{vertex.parallelism} {vertex.name}")
        for edge in vertex.inputs:
            producer = edge.source.producer.id[:8]
            lines.append(f"  <- {edge.ship_strategy} {edge.source.result_type.name} {producer} {edge.source.id[:8]}")
    return "\n".join(lines)


def keyed_sum(env):
    numbers(env).map(same, Types.LONG()).key_by(same, Types.LONG()).sum().print()


def diamond(env):
    head = numbers(env).map(same, Types.LONG()).name("head")
    left, right = head.filter(same).name("left"), head.filter(same).name("right")
    left.union(right).map(same, Types.LONG()).name("join").print()


def collection(env):
    env.from_collection([1, 2, 3]).print()


def side_output(env):
    stream = numbers(env).map(same, Types.LONG())
    stream.get_side_output(OutputTag("late", Types.LONG())).print("late")


FIXTURES = [
    (
        keyed_sum,
        {},
        """\
cbc357cc x4 Source: a -> Map, _stream_key_by_map_operator
90bea66d x4 Reduce -> Sink: Print to Std. Out
  <- HASH PIPELINED_BOUNDED cbc357cc 52fee8c5""",
    ),
    (
        keyed_sum,
        BATCH,
        """\
cbc357cc x-1 Source: a -> Map, _stream_key_by_map_operator
90bea66d x-1 Reduce -> Sink: Print to Std. Out
  <- HASH BLOCKING cbc357cc 52fee8c5""",
    ),
    (
        keyed_sum,
        UNMERGED,
        """\
cbc357cc x4 Source: a -> Map -> _stream_key_by_map_operator
c27dcf7b x4 Reduce -> Sink: Print to Std. Out
  <- HASH PIPELINED_BOUNDED cbc357cc 52fee8c5""",
    ),
    (
        diamond,
        {},
        """\
cbc357cc x4 Source: a -> head -> (left, right)
2cdb9b92 x4 join -> Sink: Print to Std. Out
  <- FORWARD PIPELINED_BOUNDED cbc357cc 52fee8c5
  <- FORWARD PIPELINED_BOUNDED cbc357cc 52fee8c5""",
    ),
    (
        diamond,
        BATCH,
        """\
cbc357cc x-1 Source: a -> head -> (left, right)
2cdb9b92 x-1 join -> Sink: Print to Std. Out
  <- RESCALE BLOCKING cbc357cc 52fee8c5
  <- RESCALE BLOCKING cbc357cc 52fee8c5""",
    ),
    (
        collection,
        {},
        """\
bc764cd8 x1 Source: Collection Source
20ba6b65 x4 Map -> Sink: Print to Std. Out
  <- REBALANCE PIPELINED_BOUNDED bc764cd8 f126f51c""",
    ),
    (side_output, {}, "cbc357cc x4 Source: a -> Map -> Map -> Sink: Print to Std. Out"),
]


@pytest.mark.parametrize(("program", "options", "expected"), FIXTURES)
def test_program_becomes_flinks_job_graph(program, options, expected):
    env = environment(options)
    program(env)
    assert show(env.get_stream_graph().get_job_graph()) == expected


@pytest.mark.parametrize(("program", "options", "expected"), FIXTURES)
def test_graphs_survive_serialization_as_plain_data(program, options, expected):
    env = environment(options)
    program(env)
    graph = StreamGraph.from_dict(env.get_stream_graph().to_dict())
    job_graph = graph.get_job_graph()
    assert show(job_graph) == expected
    described = job_graph.to_dict()
    assert JobGraph.from_dict(described).to_dict() == described


def test_requesting_a_graph_has_no_side_effects():
    env = environment({})
    keyed_sum(env)
    assert env.get_execution_plan() == env.get_execution_plan()
    assert env.get_stream_graph().to_dict() == env.get_stream_graph().to_dict()


def test_program_without_operators_is_refused():
    with pytest.raises(InvalidProgramError, match="No operators defined"):
        environment({}).get_stream_graph()


def test_uid_used_twice_names_both_operators():
    env = environment({})
    numbers(env).uid("same").rebalance().map(same).name("second").uid("same").print()
    with pytest.raises(InvalidProgramError, match=r"'Source: a'.*'second, Map'.*'same'"):
        env.get_stream_graph().get_job_graph()


def test_missing_uid_names_the_operator_where_uids_must_be_set():
    env = environment({"pipeline.auto-generate-uids": "false"})
    numbers(env).uid("a").map(same, Types.LONG()).print().uid("p")
    with pytest.raises(InvalidProgramError, match="no UID or hash has been assigned to operator 'Map'"):
        env.get_stream_graph().get_job_graph()


def test_forward_between_different_parallelisms_names_both_operators():
    env = environment({})
    numbers(env).forward().map(same).set_parallelism(2).print()
    with pytest.raises(InvalidProgramError, match=r"'Source: a'.*parallelism 4, downstream 'Map'.*has 2"):
        env.get_stream_graph()


def test_very_long_program_is_translated():
    env = environment(UNMERGED)
    stream = numbers(env)
    for _ in range(300):
        stream = stream.map(same, Types.LONG()).disable_chaining()
    stream.print()
    job_graph = env.get_stream_graph().get_job_graph()
    assert len(job_graph.vertices) == 302
    again = pickle.loads(cloudpickle.dumps(job_graph))
    assert again.to_dict() == job_graph.to_dict()
    assert again.vertices[1].inputs[0].source.producer is again.vertices[0]
    assert again.vertices[0].slot_sharing_group is again.slot_sharing_groups[0]


def test_operator_has_the_program_line_that_created_it():
    env = environment({})
    numbers(env).map(same, Types.LONG()).print()
    [vertex] = env.get_stream_graph().get_job_graph().vertices
    file, _, line = vertex.chain[1].user_location.rpartition(":")
    assert file == __file__
    assert "numbers(env).map(same, Types.LONG()).print()" in Path(__file__).read_text().splitlines()[int(line) - 1]


def test_a_collecting_sink_is_not_merged_with_other_consumers():
    env = environment({})
    stream = numbers(env).map(same, Types.LONG())
    stream.filter(same).print()
    stream.collect_async()
    names = [node.name for node in env.get_stream_graph().nodes.values()]
    assert sorted(names) == ["Filter", "Map", "Sink: Data stream collect sink", "Sink: Print to Std. Out", "Source: a"]


@pytest.mark.parametrize("collects", [False, True])
def test_union_of_keyed_streams_is_read_with_different_parallelisms(collects):
    env = environment({})
    one, other = (numbers(env, name).key_by(same, Types.LONG()) for name in "ab")
    union = one.union(other)
    union.print()
    if collects:
        union.collect_async()
    else:
        union.print("alone").set_parallelism(1)
    vertices = env.get_stream_graph().get_job_graph().vertices
    values, sinks = vertices[-4:-2], vertices[-2:]
    assert [vertex.parallelism for vertex in (*values, *sinks)] == [4, 4, 4, 1]
    assert {edge.ship_strategy for edge in sinks[1].inputs} == {"REBALANCE"}
