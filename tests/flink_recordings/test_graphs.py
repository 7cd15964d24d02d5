"""Compares our StreamGraphs, JobGraphs and plans with the ones that Flink built from the same programs."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.compat import alias_pyflink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph import StreamGraph
from tests.flink_recordings.recordings import GRAPH_PROGRAMS, recorded_graphs

VIEWS = ("default", "unmerged")  # `unmerged`: without Python operator chaining
CASES = [
    (path.stem, view)
    for path in sorted(GRAPH_PROGRAMS.glob("*.py"))
    for view in VIEWS
    if isinstance(recorded_graphs(path.stem).get(view), dict)
]

# The fields that count. Java class names and memory weights have no counterpart here.
STREAM_GRAPH = ("job_type", "chaining_enabled", "global_exchange_mode", "dynamic", "checkpointing_enabled")
NODE = (
    *("id", "name", "parallelism", "max_parallelism", "slot_sharing_group", "chaining_strategy", "legacy_source"),
    *("yielding", "buffer_timeout", "uid", "user_hash", "operator_hash"),
)
STREAM_EDGE = (
    *("source_id", "target_id", "type_number", "partitioner_name", "exchange_mode", "output_tag", "chainable"),
)
JOB_GRAPH = ("job_type", "dynamic", "maximum_parallelism", "vertices_insertion_order")
VERTEX = ("id", "name", "parallelism", "max_parallelism", "is_input_vertex", "is_output_vertex")
CHAINED = ("operator_id", "operator_name", "chain_index", "chained_outputs")
INPUT = (
    *("source_data_set_id", "source_vertex_id", "distribution_pattern", "ship_strategy", "result_type"),
    *("type_number", "broadcast", "forward"),
)
DATA_SET = ("id", "distribution_pattern", "result_type", "broadcast", "forward", "consumers")
OPERATOR_ID = (
    *("generated_operator_id", "user_defined_operator_id", "user_defined_operator_name", "user_defined_operator_uid"),
)


def picked(mapping: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: mapping.get(field) for field in fields}


def stream_graph(graph: dict[str, Any]) -> dict[str, Any]:
    nodes = [
        picked(node, NODE)
        | {edges: [picked(edge, STREAM_EDGE) for edge in node[edges]] for edges in ("in_edges", "out_edges")}
        for node in sorted(graph["nodes"], key=lambda node: node["id"])
    ]
    return picked(graph, STREAM_GRAPH) | {"nodes": nodes}


def job_graph(graph: dict[str, Any]) -> dict[str, Any]:
    parts = {"operator_ids": OPERATOR_ID, "chain": CHAINED, "inputs": INPUT, "produced_data_sets": DATA_SET}
    vertices = [  # in topological order, which counts
        picked(vertex, VERTEX)
        | {part: [picked(item, fields) for item in vertex[part]] for part, fields in parts.items()}
        for vertex in graph["vertices"]
    ]
    groups = sorted((group["name"] or "", sorted(group["vertices"])) for group in graph["slot_sharing_groups"])
    return picked(graph, JOB_GRAPH) | {"vertices": vertices, "groups": groups, "plan": graph["plan"]["nodes"]}


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recorded_{name}", GRAPH_PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(name: str, view: str) -> StreamExecutionEnvironment:
    alias_pyflink()
    program = load(name)
    configuration = Configuration()
    configuration.set_string("parallelism.default", "4")
    for key, value in getattr(program, "CONFIG", {}).items():
        configuration.set_string(key, str(value))
    if view == "unmerged":
        configuration.set_string("python.operator-chaining.enabled", "false")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = program.build(env)
    if getattr(program, "COLLECT", False):
        stream.collect_async()  # registers the sink that `execute_and_collect` uses, as Java's collectAsync does
    return env


@pytest.mark.parametrize(("name", "view"), CASES)
def test_a_program_builds_flinks_graphs(name: str, view: str) -> None:
    recorded = recorded_graphs(name)[view]
    if "error" in recorded:
        with pytest.raises(Exception):  # noqa: B017, PT011 - Flink's classes of errors are Java's
            build(name, view).get_stream_graph().get_job_graph()
        return
    env = build(name, view)
    plan = json.loads(env.get_execution_plan())
    ours = env.get_stream_graph()
    assert stream_graph(ours.to_dict()) == stream_graph(recorded["stream_graph"])
    assert job_graph(ours.get_job_graph().to_dict()) == job_graph(recorded["job_graph"])
    assert plan == recorded["plan"]


@pytest.mark.parametrize(("name", "view"), [case for case in CASES if "job_graph" in recorded_graphs(case[0])[case[1]]])
def test_flinks_stream_graph_becomes_flinks_job_graph(name: str, view: str) -> None:
    recorded = recorded_graphs(name)[view]
    ours = StreamGraph.from_dict(recorded["stream_graph"]).get_job_graph()
    assert job_graph(ours.to_dict()) == job_graph(recorded["job_graph"])
