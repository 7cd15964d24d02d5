"""Random programs of the DataStream API, and what graphs are made of them: by PyFlink, or by firesteel in its name.

    python tests/graph/random_programs.py FILE FIRST COUNT

writes the graphs of COUNT programs from seed FIRST on, those that PyFlink can make. The same seed makes the same
program everywhere; `tests/graph/test_random_programs.py` compares.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from typing import Any

from pyflink.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    CheckpointingMode,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    StreamFormat,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import (
    AllWindowFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from pyflink.datastream.state import MapStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


def _function(base: type, *methods: str) -> Any:
    """An object of a function class; graphs do not depend on its methods."""
    return type(base.__name__, (base,), dict.fromkeys(methods, lambda *arguments: None))()


class Async(AsyncFunction):
    async def async_invoke(self, value):
        return [value]


MAP, REDUCE = _function(MapFunction, "map"), _function(ReduceFunction, "reduce")
PROCESS = _function(ProcessFunction, "process_element")
KEYED_PROCESS = _function(KeyedProcessFunction, "process_element")
CO_MAP, CO_FLAT_MAP = _function(CoMapFunction, "map1", "map2"), _function(CoFlatMapFunction, "flat_map1", "flat_map2")
CO_PROCESS = _function(CoProcessFunction, "process_element1", "process_element2")
KEYED_CO_PROCESS = _function(KeyedCoProcessFunction, "process_element1", "process_element2")
BROADCAST = _function(BroadcastProcessFunction, "process_element", "process_broadcast_element")
KEYED_BROADCAST = _function(KeyedBroadcastProcessFunction, "process_element", "process_broadcast_element")
AGGREGATE = _function(AggregateFunction, "create_accumulator", "add", "get_result", "merge")
WINDOW, PROCESS_WINDOW = _function(WindowFunction, "apply"), _function(ProcessWindowFunction, "process")
ALL_WINDOW, PROCESS_ALL = _function(AllWindowFunction, "apply"), _function(ProcessAllWindowFunction, "process")
ASSIGNER = _function(TimestampAssigner, "extract_timestamp")
PARTITIONER = _function(Partitioner, "partition")
PAIR = [Types.STRING(), Types.INT()]


def same(value: Any) -> Any:
    return value


class Program:
    """One program: some sources, steps and sinks."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0
        self.streams: list[Any] = []
        configuration = Configuration()
        configuration.set_string("parallelism.default", "4")
        for key, value, chance in (
            ("python.operator-chaining.enabled", "false", 0.15),
            ("pipeline.operator-chaining.chain-operators-with-different-max-parallelism", "false", 0.1),
            ("pipeline.max-parallelism", "64", 0.1),
            ("execution.batch-shuffle-mode", "ALL_EXCHANGES_PIPELINED", 0.1),
            ("pipeline.vertex-description-mode", "CASCADING", 0.05),
            ("pipeline.vertex-name-include-index-prefix", "true", 0.05),
        ):
            if self.chance(chance):
                configuration.set_string(key, value)
        self.env = StreamExecutionEnvironment.get_execution_environment(configuration)
        self._configure()
        for _ in range(self.one(1, 1, 2)):
            self.add_source()
        for _ in range(self.one(1, 2, 4, 7, 10)):
            self.add_step()
        for _ in range(self.one(1, 1, 2, 3)):
            self.add_sink(self.streams[-1] if self.chance(0.6) else self.one(*self.streams))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def one_of(self, *choices: Callable[[], Any]) -> Any:
        return self.random.choice(choices)()

    def next(self) -> int:
        self.number += 1
        return self.number

    def _configure(self) -> None:
        env = self.env
        if self.chance(0.3):
            env.set_runtime_mode(self.one(RuntimeExecutionMode.BATCH, RuntimeExecutionMode.AUTOMATIC))
        if self.chance(0.2):
            env.set_parallelism(self.one(1, 2, 3, 8))
        if self.chance(0.1):
            env.disable_operator_chaining()
        if self.chance(0.1):
            env.set_max_parallelism(self.one(8, 12, 128))
        if self.chance(0.2):
            env.set_buffer_timeout(self.one(-1, 0, 5, 1000))
        if self.chance(0.2):
            env.enable_checkpointing(1000, self.one(CheckpointingMode.AT_LEAST_ONCE, CheckpointingMode.EXACTLY_ONCE))

    def type(self) -> Any:
        named = Types.ROW_NAMED(["a", "b"], PAIR)
        return self.one(
            None, Types.INT(), Types.STRING(), Types.ROW(PAIR), Types.TUPLE(PAIR), named, Types.LIST(Types.INT())
        )

    def watermarks(self) -> Any:
        strategy = self.one_of(
            WatermarkStrategy.no_watermarks,
            WatermarkStrategy.for_monotonous_timestamps,
            lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)),
        )
        if self.chance(0.2):
            strategy = strategy.with_idleness(Duration.of_seconds(1))
        return strategy.with_timestamp_assigner(ASSIGNER) if self.chance(0.4) else strategy

    def keyed(self, stream: Any, key_type: Any = "any") -> Any:
        key_type = self.one(None, *PAIR) if key_type == "any" else key_type
        return stream.key_by(same, key_type=key_type)

    def configured(self, stream: Any, is_source: bool = False) -> Any:
        """The stream with some settings of its last operator."""
        for _ in range(self.one(0, 0, 1, 1, 2, 3)):
            number, kind = self.next(), self.random.randrange(10)
            if kind not in (2, 3) or not is_source:  # some sources have one subtask only
                stream = self._configured(stream, number, kind)
        return stream

    def _configured(self, stream: Any, number: int, kind: int) -> Any:
        return (
            lambda: stream.name(f"name {number}"),
            lambda: stream.uid(f"uid{number}"),
            lambda: stream.set_parallelism(self.one(1, 2, 4, 5)),
            lambda: stream.set_max_parallelism(self.one(16, 64)),
            lambda: stream.slot_sharing_group(self.one("g1", "g2", "default")),
            stream.disable_chaining,
            stream.start_new_chain,
            lambda: stream.set_buffer_timeout(self.one(-1, 0, 7)),
            lambda: stream.set_description(f"description {number}"),
            lambda: stream.set_uid_hash(f"{number:032x}") if self.chance(0.3) else stream,
        )[kind]()

    def add_source(self) -> None:
        env, lines = self.env, StreamFormat.text_line_format()
        stream = self.one_of(
            lambda: env.from_collection([("a", 1)], self.one(Types.ROW(PAIR), Types.TUPLE(PAIR), None)),
            lambda: env.from_collection(["a", "b"], self.one(Types.STRING(), None)),
            lambda: env.from_source(NumberSequenceSource(1, 9), self.watermarks(), "numbers", Types.LONG()),
            lambda: env.from_source(
                FileSource.for_record_stream_format(lines, "/tmp").build(), self.watermarks(), "files"
            ),
        )
        self.streams.append(self.configured(stream, is_source=True) if self.chance(0.5) else stream)

    def add_step(self) -> None:
        stream = self.one(*self.streams) if self.chance(0.3) else self.streams[-1]
        step = self.one(
            self.simple, self.simple, self.by_key, self.by_key, self.window, self.window, self.all_windows,
            self.union, self.connected, self.keyed_connected, self.broadcast, self.side_output, self.spread,
        )  # fmt: skip
        self.streams.append(step(stream))

    def simple(self, stream: Any) -> Any:
        wait = self.one(AsyncDataStream.unordered_wait, AsyncDataStream.ordered_wait)
        return self.configured(
            self.one_of(
                lambda: stream.map(self.one(same, MAP), output_type=self.type()),
                lambda: stream.flat_map(same, output_type=self.type()),
                lambda: stream.filter(same),
                lambda: stream.process(PROCESS, output_type=self.type()),
                lambda: stream.assign_timestamps_and_watermarks(self.watermarks()),
                lambda: wait(stream, Async(), Time.seconds(1), 10, self.type()),
                lambda: stream.map(same, Types.TUPLE(PAIR)).project(1, 0),
            )
        )

    def by_key(self, stream: Any) -> Any:
        keyed = self.keyed(stream)
        return self.configured(
            self.one_of(
                lambda: keyed.map(same, self.type()),
                lambda: keyed.flat_map(same, self.type()),
                lambda: keyed.filter(same),
                lambda: keyed.reduce(self.one(REDUCE, lambda a, b: a)),
                lambda: keyed.process(KEYED_PROCESS, self.type()),
                lambda: keyed.sum(0),
                lambda: keyed.key_by(lambda value: 1).max(0),
            )
        )

    def window(self, stream: Any) -> Any:
        keyed, second = self.keyed(stream), Time.seconds(1)
        windows = self.one_of(
            lambda: keyed.window(TumblingEventTimeWindows.of(second)),
            lambda: keyed.window(SlidingEventTimeWindows.of(Time.seconds(5), second)),
            lambda: keyed.window(EventTimeSessionWindows.with_gap(second)),
            lambda: keyed.window(TumblingProcessingTimeWindows.of(second)),
            lambda: keyed.window(ProcessingTimeSessionWindows.with_gap(second)),
            lambda: keyed.window(GlobalWindows.create()),
            lambda: keyed.count_window(3),
            lambda: keyed.count_window(4, 2),
        )
        if self.chance(0.3):
            count = CountTrigger.of(3)
            windows = windows.trigger(self.one(count, PurgingTrigger.of(count), ContinuousEventTimeTrigger.of(second)))
        if self.chance(0.2):
            windows = windows.allowed_lateness(1000)
        late = OutputTag(f"late{self.next()}", Types.INT()) if self.chance(0.2) else None
        if late is not None:
            windows = windows.side_output_late_data(late)
        result = self.configured(
            self.one_of(
                lambda: windows.reduce(lambda a, b: a),
                lambda: windows.reduce(REDUCE, PROCESS_WINDOW, self.type()),
                lambda: windows.aggregate(AGGREGATE, accumulator_type=Types.INT(), output_type=self.type()),
                lambda: windows.aggregate(AGGREGATE, WINDOW),
                lambda: windows.apply(WINDOW, self.type()),
                lambda: windows.process(PROCESS_WINDOW, self.type()),
            )
        )
        if late is not None and self.chance(0.7):
            self.streams.insert(0, result.get_side_output(late))
        return result

    def all_windows(self, stream: Any) -> Any:
        stream = self.keyed(stream) if self.chance(0.2) else stream
        windows = stream.window_all(
            self.one(TumblingEventTimeWindows.of(Time.seconds(5)), CountTumblingWindowAssigner.of(3))
        )
        return self.configured(
            self.one_of(
                lambda: windows.reduce(lambda a, b: a),
                lambda: windows.aggregate(AGGREGATE),
                lambda: windows.apply(ALL_WINDOW, self.type()),
                lambda: windows.process(PROCESS_ALL, self.type()),
            )
        )

    def union(self, stream: Any) -> Any:
        one = self.keyed(stream) if self.chance(0.2) else stream
        return one.union(self.configured(stream.filter(same)), *([stream.filter(same)] if self.chance(0.4) else []))

    def connected(self, stream: Any) -> Any:
        both, output = stream.connect(self.one(*self.streams)), self.type()
        return self._of_both(both, CO_PROCESS, output)

    def keyed_connected(self, stream: Any) -> Any:
        other, key_type, output = self.one(*self.streams), self.one(None, Types.INT()), self.type()
        both = self.one_of(
            lambda: self.keyed(stream, key_type).connect(self.keyed(other, key_type)),
            lambda: stream.connect(other).key_by(same, same, key_type),
        )
        return self._of_both(both, KEYED_CO_PROCESS, output)

    def _of_both(self, both: Any, process: Any, output: Any) -> Any:
        return self.configured(
            self.one_of(
                lambda: both.map(CO_MAP, output),
                lambda: both.flat_map(CO_FLAT_MAP, output),
                lambda: both.process(process, output),
            )
        )

    def broadcast(self, stream: Any) -> Any:
        rules = self.one(*self.streams).broadcast(MapStateDescriptor("rules", *PAIR))
        return self.configured(
            self.one_of(
                lambda: stream.connect(rules).process(BROADCAST, self.type()),
                lambda: self.keyed(stream).connect(rules).process(KEYED_BROADCAST, self.type()),
            )
        )

    def side_output(self, stream: Any) -> Any:
        tag = OutputTag(f"side{self.next()}", self.type())
        result = self.configured(stream.process(PROCESS, output_type=self.type()))
        self.streams.append(result.get_side_output(tag))
        return result

    def spread(self, stream: Any) -> Any:
        return self.one_of(
            stream.shuffle, stream.rebalance, stream.rescale, stream.broadcast, stream.forward,
            lambda: stream.partition_custom(PARTITIONER, same),
        )  # fmt: skip

    def add_sink(self, stream: Any) -> None:
        files = FileSink.for_row_format("/tmp/out", Encoder.simple_string_encoder())
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
        compact = FileCompactor.concat_file_compactor()
        sink = self.one_of(
            stream.print,
            lambda: stream.print("id"),
            lambda: self.keyed(stream).print(),
            lambda: stream.sink_to(files.build()),
            lambda: stream.sink_to(files.enable_compact(strategy, compact).build()).uid(f"compact{self.next()}"),
            lambda: stream.sink_to(files.disable_compact().build()).uid(f"plain{self.next()}"),
        )
        for _ in range(self.one(0, 0, 1, 2)):
            sink = self._configured_sink(sink, self.next())

    def _configured_sink(self, sink: Any, number: int) -> Any:
        return self.one_of(
            lambda: sink.name(f"sink {number}"),
            lambda: sink.uid(f"sink{number}"),
            lambda: sink.set_parallelism(self.one(1, 2, 3)),
            sink.disable_chaining,
            lambda: sink.slot_sharing_group("g1"),
            lambda: sink.set_description("description"),
        )


# --- graphs ----------------------------------------------------------------------------------------------------------


def plan_of(env: Any, first_id: int) -> list[Any]:
    """The execution plan: id, name, description, parallelism and inputs of each node."""
    return [
        [
            node["id"] - first_id,
            node["type"],
            node["contents"],
            node["parallelism"],
            [[source["id"] - first_id, source["ship_strategy"]] for source in node.get("predecessors", [])],
        ]
        for node in json.loads(env.get_execution_plan())["nodes"]
    ]


def graphs_of_flink(seed: int) -> dict[str, Any]:
    from pyflink.java_gateway import get_gateway

    first_id = get_gateway().jvm.org.apache.flink.api.dag.Transformation.getNewNodeId()
    plan = plan_of(Program(seed).env, first_id)
    job_graph = Program(seed).env._generate_stream_graph(False, "job").getJobGraph()
    vertices = [
        [
            vertex.getID().toString(),
            vertex.getName(),
            vertex.getParallelism(),
            vertex.getMaxParallelism(),
            vertex.getSlotSharingGroup().getSlotSharingGroupName(),
            [
                [str(edge.getDistributionPattern()), edge.getShipStrategyName(), str(edge.getSource().getResultType())]
                for edge in vertex.getInputs()
            ],
        ]
        for vertex in job_graph.getVerticesSortedTopologicallyFromSources()
    ]
    return {"seed": seed, "plan": plan, "type": str(job_graph.getJobType()), "vertices": vertices}


def graphs_of_firesteel(seed: int) -> dict[str, Any]:
    env = Program(seed).env
    job_graph = env.get_stream_graph().get_job_graph().to_dict()
    groups = {vertex: group["name"] for group in job_graph["slot_sharing_groups"] for vertex in group["vertices"]}
    vertices = [
        [
            vertex["id"],
            vertex["name"],
            vertex["parallelism"],
            vertex["max_parallelism"],
            groups[vertex["id"]],
            [[edge["distribution_pattern"], edge["ship_strategy"], edge["result_type"]] for edge in vertex["inputs"]],
        ]
        for vertex in job_graph["vertices"]
    ]
    return {"seed": seed, "plan": plan_of(env, 0), "type": job_graph["job_type"], "vertices": vertices}


def main() -> None:
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    is_firesteel = StreamExecutionEnvironment.__module__.startswith("firesteel")
    with open(path, "w", encoding="utf-8") as file:
        for seed in range(first, first + count):
            try:
                graphs = (graphs_of_firesteel if is_firesteel else graphs_of_flink)(seed)
            except Exception as error:
                print(f"seed {seed}: {str(error)[:200]}", file=sys.stderr)
                continue
            file.write(json.dumps(graphs, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
