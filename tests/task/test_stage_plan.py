from __future__ import annotations

from typing import Any

from firesteel.common import Types
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.task.stage_plan import StageEdge, StagePlan


def plan_of(build: Any) -> StagePlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env)
    return StagePlan(env.get_stream_graph().get_job_graph())


def levels(plan: StagePlan) -> list[list[str]]:
    return [[vertex.name for vertex in plan.vertices_at(level)] for level in range(plan.levels)]


def test_stage_of_a_vertex_follows_from_its_longest_path() -> None:
    def build(env: Any) -> None:
        first = env.from_collection([1], Types.INT())
        far = first.rebalance().map(lambda n: n, Types.INT()).name("far").rebalance()
        first.rebalance().union(far.filter(lambda n: True).name("farther").rebalance()).print().name("end")

    assert levels(plan_of(build)) == [["Source: Collection Source"], ["far"], ["farther"], ["Sink: end"]]


def test_forward_edge_within_the_slot_needs_no_exchange() -> None:
    def build(env: Any) -> None:
        stream = env.from_collection([1], Types.INT()).rebalance().map(lambda n: n, Types.INT()).name("map")
        stream.disable_chaining().filter(lambda n: True).name("filter").print()

    assert plan_of(build).levels == 2


def test_forward_edge_between_slot_sharing_groups_is_an_exchange() -> None:
    def build(env: Any) -> None:
        stream = env.from_collection([1], Types.INT()).map(lambda n: n, Types.INT()).set_parallelism(1)
        stream.filter(lambda n: True).set_parallelism(1).slot_sharing_group("other").print().set_parallelism(1)

    plan = plan_of(build)
    assert (plan.levels, plan.slots) == (2, 2)


class _Vertex:
    def __init__(self, parallelism: int) -> None:
        self.parallelism = parallelism


def _edge(name: str, up: int, down: int) -> StageEdge:
    class Edge:
        class partitioner:
            pass

        class source:
            producer = _Vertex(up)

        target = _Vertex(down)

    Edge.partitioner.name = name  # type: ignore[attr-defined]
    return StageEdge(0, Edge(), True)  # type: ignore[arg-type]


def test_producers_and_consumers_of_every_edge_agree() -> None:
    for name in ("REBALANCE", "RESCALE", "HASH", "GLOBAL", "BROADCAST"):
        for up in range(1, 7):
            for down in range(1, 7):
                edge = _edge(name, up, down)
                forth = {(p, c) for p in range(up) for c in edge.consumers_of(p)}
                back = {(p, c) for c in range(down) for p in edge.producers_of(c)}
                assert forth == back
                assert {p for p, _ in forth} == set(range(up))
                assert {c for _, c in forth} == set(range(down))


def in_batch_mode(build: Any) -> Any:
    def built(env: Any) -> None:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        build(env)

    return built


def _with_late_reader(env: Any) -> None:
    early = env.from_collection([1], Types.INT()).rebalance().map(lambda n: n, Types.INT()).name("map")
    late = env.from_collection([1], Types.INT()).name("late").rebalance()
    early.rebalance().union(late).map(lambda n: n, Types.INT()).name("union").print().name("end")


def test_a_source_of_a_batch_job_is_read_just_before_its_reader() -> None:
    sources = ["Source: Collection Source", "Source: late"]
    assert levels(plan_of(_with_late_reader)) == [sources, ["map"], ["union -> Sink: end"]]
    assert levels(plan_of(in_batch_mode(_with_late_reader))) == [
        sources[:1],
        ["Source: late", "map"],
        ["union -> Sink: end"],
    ]


def test_subtasks_side_by_side_need_no_exchange_in_batch_mode() -> None:
    def build(env: Any) -> None:
        stream = env.from_collection([1], Types.INT()).rebalance().map(lambda n: n, Types.INT()).name("map")
        stream.disable_chaining().filter(lambda n: True).name("filter").print()

    plan = plan_of(in_batch_mode(build))
    assert [edge.edge.partitioner.name for edge in plan.edges] == ["REBALANCE", "RESCALE"]
    assert plan.levels == 2


def test_stages_of_streams_stay_as_their_versions_are_numbered() -> None:
    def build(env: Any) -> None:
        stream = env.from_collection([1], Types.INT()).rebalance().map(lambda n: n, Types.INT()).name("map")
        stream.rescale().filter(lambda n: True).name("filter").print()

    assert (plan_of(build).levels, plan_of(in_batch_mode(build)).levels) == (3, 2)
