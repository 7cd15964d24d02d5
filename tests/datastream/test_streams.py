from __future__ import annotations

import operator
import pickle
from datetime import date
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Configuration, Duration, Encoder, Row, RowKind, Time, Types, WatermarkStrategy
from firesteel.common.configuration import set_default_options
from firesteel.common.serialization import BulkWriterFactory
from firesteel.datastream import (
    ExternalizedCheckpointRetention,
    MapFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.base import Sink, SinkWriter, StreamTransformer, SupportsPreprocessing
from firesteel.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from firesteel.datastream.functions import (
    AggregateFunction,
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.datastream.window import EventTimeSessionWindows, NeverTrigger, Trigger, TumblingEventTimeWindows
from firesteel.errors import InvalidProgramError
from firesteel.functions import operator_descriptors as op
from firesteel.functions.accumulators import accumulator
from firesteel.testing import run_local

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ROW = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"parallelism.default": "2"}))


@pytest.fixture
def pairs(env):
    return env.from_collection([("a", 1), ("b", 2)], type_info=PAIR)


def same(value):
    return value


def first(value):
    return value[0]


def operators(env):
    return {node.name: node.operator for node in env.get_stream_graph().nodes.values()}


def test_collection_is_converted_at_once_and_bad_elements_are_named(env):
    env.from_collection([43878], type_info=Types.SHORT()).print()
    assert operators(env)["Source: Collection Source"].elements == (-21658,)
    with pytest.raises(TypeError, match=r"field \[1\]\[1\]: declared as INT"):
        env.from_collection([("a", 1), ("b", "2")], type_info=PAIR)


@pytest.mark.parametrize(
    "call",
    [
        "name",
        "uid",
        "set_parallelism",
        "set_max_parallelism",
        "disable_chaining",
        "shuffle",
        "rebalance",
        "rescale",
        "broadcast",
        "forward",
        "cache",
    ],
)
def test_keyed_stream_refuses_inapplicable_methods(pairs, call):
    keyed = pairs.key_by(lambda t: t[0], Types.STRING())
    with pytest.raises(InvalidProgramError, match=f"{call}.*is not supported on a KeyedStream"):
        getattr(keyed, call)()


def test_keyed_operators_carry_the_arguments_of_the_call(env, pairs):
    keyed = pairs.key_by(lambda t: t[0], key_type=Types.STRING())
    late = OutputTag("late", PAIR)
    windowed = (
        keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).allowed_lateness(7).side_output_late_data(late)
    )
    windowed.reduce(lambda a, b: a).name("w").print()
    window = operators(env)["w"]
    assert (window.allowed_lateness_ms, window.late_data_tag, window.all_windows) == (7, late, False)
    assert (window.key_type, window.state_type) == (Types.STRING(), PAIR)


def test_checkpoints_are_not_retained_unless_configured(env):
    config = env.get_checkpoint_config()
    none = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert (config.get_externalized_checkpoint_retention(), config.is_externalized_checkpoints_enabled()) == (
        none,
        False,
    )
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert config.is_externalized_checkpoints_enabled()


def test_merged_operators_run_in_order(env, pairs):
    pairs.map(str).name("one").filter(bool).name("two").key_by(len, Types.INT()).sum().print()
    merged = operators(env)["one, two, _stream_key_by_map_operator"]
    assert [type(part) for part in merged.operators] == [op.MapOperator, op.FilterOperator, op.KeyByOperator]
    assert merged.names == ("one", "two", "_stream_key_by_map_operator")


def test_timestamps_are_extracted_assigned_and_removed(env, pairs):
    class Assigner:
        def extract_timestamp(self, value, record_timestamp):
            return value[1]

    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(
        Assigner()
    )
    assigned = pairs.assign_timestamps_and_watermarks(strategy)
    assigned.print()
    assert assigned.get_type() == PAIR
    found = operators(env)["Timestamps/Watermarks"]
    assert isinstance(found, op.TimestampsAndWatermarksOperator)
    assert found.extracted
    assert isinstance(found.strategy.timestamp_assigner, Assigner)


def test_an_assigner_that_cannot_be_called_is_left_alone_in_a_source(env, caplog):
    class OfValueOnly:
        def extract_timestamp(self, value):
            return value

    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    for number, assigner in enumerate([OfValueOnly(), lambda value: value, lambda value, _: value]):
        strategy = monotonous.with_timestamp_assigner(assigner)
        env.from_source(NumberSequenceSource(0, 9), strategy, f"source {number}", Types.LONG()).print()
    kept = {
        name: operator.watermark_strategy.timestamp_assigner is not None
        for name, operator in operators(env).items()
        if isinstance(operator, op.SourceOperator)
    }
    assert kept == {"Source: source 0": False, "Source: source 1": False, "Source: source 2": True}
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["from_source()", "from_source()"]


def test_function_of_the_wrong_kind_is_refused_by_name(pairs):
    class P(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield value

    with pytest.raises(TypeError, match=r"process\(\) takes a ProcessFunction; found P"):
        pairs.process(P())
    with pytest.raises(TypeError, match=r"map\(\) takes a MapFunction or a callable; found int 1"):
        pairs.map(1)


def test_streams_of_different_types_do_not_unite(env, pairs):
    with pytest.raises(InvalidProgramError, match="different types"):
        pairs.union(env.from_collection([1], type_info=Types.INT()))


def test_trigger_that_can_not_merge_is_refused_on_sessions(pairs):
    class Once(NeverTrigger):
        def can_merge(self):
            return False

    sessions = pairs.key_by(lambda t: t[0]).window(EventTimeSessionWindows.with_gap(Time.seconds(1)))
    with pytest.raises(ValueError, match="Once does not support that"):
        sessions.trigger(Once())
    assert isinstance(NeverTrigger(), Trigger)


def test_cache_needs_a_batch_job(env, pairs):
    pairs.map(str).cache().print()
    with pytest.raises(InvalidProgramError, match="needs a batch job"):
        env.get_stream_graph()


def test_automatic_mode_is_batch_for_bounded_sources_only(env):
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    env.from_source(NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "n").print()
    assert env.get_stream_graph().job_type == "BATCH"
    tail = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
    tail = tail.monitor_continuously(Duration.of_seconds(1)).build()
    env.from_source(tail, WatermarkStrategy.no_watermarks(), "tail").print()
    assert env.get_stream_graph().job_type == "STREAMING"
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(InvalidProgramError, match=r"UNBOUNDED source.*'tail'"):
        env.get_stream_graph()


def test_no_source_may_follow_an_unbounded_one():
    endless = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
    endless = endless.monitor_continuously(Duration.of_seconds(1)).build()
    with pytest.raises(InvalidProgramError, match="is unbounded, so no source can follow it"):
        HybridSource.builder(endless).add_source(NumberSequenceSource(1, 2))


def test_settings_of_the_program_override_those_of_the_command_line():
    set_default_options({"parallelism.default": "7", "pipeline.name": "cli"})
    try:
        own = Configuration.from_dict({"parallelism.default": "3"})
        env = StreamExecutionEnvironment.get_execution_environment(own)
        assert (env.get_parallelism(), env.get_configuration().get_string("pipeline.name", "")) == (3, "cli")
    finally:
        set_default_options({})


@pytest.mark.parametrize(
    ("kind", "position", "values", "expected"),
    [
        ("sum", 1, [("a", 1), ("b", 2)], ("a", 3)),
        ("min", 1, [("a", 2), ("b", 1)], ("a", 1)),
        ("max_by", 1, [("a", 2), ("b", 2)], ("a", 2)),
        ("min_by", 1, [("a", 2), ("b", 1)], ("b", 1)),
        ("sum", 0, [1, 2], 3),
        ("sum", "n", [Row(n=1, k="x"), Row(n=2, k="y")], Row(n=3, k="x")),
        ("max", 0, [[1, "a"], [2, "b"]], [2, "a"]),
        ("sum", 0, ["a", "b"], "ab"),
        ("max", 0, [date(2020, 1, 2), date(2021, 1, 1)], date(2021, 1, 1)),
    ],
)
def test_rolling_aggregate_keeps_the_same_fields_as_flink(kind, position, values, expected):
    assert accumulator(kind, position)(*values) == expected


@given(st.lists(st.floats() | st.integers(-2, 2), min_size=1), st.sampled_from(["min", "max", "min_by", "max_by"]))
def test_numbers_that_compare_with_none_replace_no_other_as_in_flink(numbers, kind):
    replaces = operator.lt if kind.startswith("min") else operator.gt
    expected = reduce(lambda kept, number: number if replaces(number, kept) else kept, numbers)
    found = reduce(accumulator(kind, 1), [("a", number) for number in numbers])
    assert repr(found[1]) == repr(expected)  # NaN differs from itself


def test_rolling_aggregate_refuses_unsupported_elements():
    with pytest.raises(TypeError, match="int or str"):
        accumulator("sum", 1.5)
    with pytest.raises(TypeError, match="no such field"):
        accumulator("sum", 5)(("a",), ("b",))
    with pytest.raises(TypeError, match="a scalar has only position 0"):
        accumulator("sum", 1)("a", "b")


def test_bulk_files_roll_at_checkpoints_only():
    builder = FileSink.for_bulk_format("/out", BulkWriterFactory("parquet"))
    with pytest.raises(TypeError, match="at checkpoints only"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())


def test_json_rows_go_both_ways():
    read = JsonRowDeserializationSchema.builder().type_info(ROW).build()
    write = JsonRowSerializationSchema.builder().with_type_info(ROW).build()
    assert write.serialize(read.deserialize(b'{"age": 11, "name": "Ann"}')) == b'{"name":"Ann","age":11}'
    assert pickle.loads(pickle.dumps(read)).deserialize(b"{}") == Row(name=None, age=None)
    with pytest.raises(ValueError, match="Failed to deserialize JSON"):
        read.deserialize(b'{"age": "old"}')


def test_csv_rows_go_both_ways():
    read = CsvRowDeserializationSchema.Builder(ROW).set_null_literal("-").build()
    write = CsvRowSerializationSchema.Builder(ROW).set_null_literal("-").build()
    assert write.serialize(read.deserialize(b'"Ann, B",11\n')) == b'"Ann, B",11\n'
    assert read.deserialize(b"-,11") == Row(name=None, age=11)
    with pytest.raises(ValueError, match="2 fields expected but was 1"):
        read.deserialize(b"Ann")


def test_custom_partitions_may_be_read_at_several_parallelisms(env, pairs):
    spread = pairs.partition_custom(lambda key, n: key % n, lambda t: t[1])
    spread.map(str).set_parallelism(3).print()
    spread.map(str).set_parallelism(1).print()
    custom = [e for n in env.get_stream_graph().nodes.values() for e in n.out_edges if e.partitioner.name == "CUSTOM"]
    assert [edge.partitioner.function(5, 3) for edge in custom] == [2]


def test_streams_with_equal_key_types_share_an_operator(env, pairs):
    class Join(KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            yield value

        def process_element2(self, value, ctx):
            yield value

    pairs.connect(pairs.map(same, PAIR)).key_by(first, first, Types.STRING()).process(Join()).name("join").print()
    assert operators(env)["join, Map"].operators[0].keyed
    one_keyed = pairs.key_by(first, Types.STRING()).connect(pairs)
    with pytest.raises(InvalidProgramError, match="either both streams must be keyed or neither"):
        one_keyed.map(Swap())


def test_connected_streams_of_which_one_is_keyed_are_rekeyed(env, pairs):
    class Join(KeyedCoProcessFunction):
        def process_element1(self, value, ctx):
            yield value

        def process_element2(self, value, ctx):
            yield value

    one_keyed = pairs.key_by(lambda pair: pair[1]).connect(pairs.map(same, PAIR))
    one_keyed.key_by(first, first, Types.STRING()).process(Join()).name("join").print()
    assert operators(env)["join, Map"].operators[0].keyed


class Swap(CoMapFunction):
    def map1(self, value):
        return value[1], value[0]

    def map2(self, value):
        return value


def test_streams_keyed_by_other_types_do_not_connect(pairs):
    keyed = [pairs.key_by(first, key_type) for key_type in (Types.STRING(), Types.INT())]
    with pytest.raises(InvalidProgramError, match="Key types of input KeyedStreams don't match: String and Integer"):
        keyed[0].connect(keyed[1]).map(Swap())


PLACES_OF_TYPES = {
    "result": lambda pairs, kind: pairs.map(same, kind),
    "key": lambda pairs, kind: pairs.key_by(same, kind),
    "accumulator": lambda pairs, kind: pairs.key_by(same).count_window(2).aggregate(Nothing(), accumulator_type=kind),
    "side output": lambda pairs, kind: OutputTag("side", kind),
    "list": lambda pairs, kind: Types.LIST(kind),
    "array": lambda pairs, kind: Types.OBJECT_ARRAY(kind),
    "key of a map": lambda pairs, kind: Types.MAP(kind, Types.INT()),
    "value of a map": lambda pairs, kind: Types.MAP(Types.INT(), kind),
    "field of a tuple": lambda pairs, kind: Types.TUPLE([Types.INT(), kind]),
    "field of a row": lambda pairs, kind: Types.ROW([kind]),
    "named field": lambda pairs, kind: Types.ROW_NAMED(["a"], [kind]),
    "nested field": lambda pairs, kind: Types.LIST(Types.TUPLE([Types.ROW([kind])])),
    "value state": lambda pairs, kind: ValueStateDescriptor("state", kind),
    "list state": lambda pairs, kind: ListStateDescriptor("state", kind),
    "key of a map state": lambda pairs, kind: MapStateDescriptor("state", kind, Types.INT()),
    "value of a map state": lambda pairs, kind: MapStateDescriptor("state", Types.INT(), kind),
    "reducing state": lambda pairs, kind: ReducingStateDescriptor("state", max, kind),
    "aggregating state": lambda pairs, kind: AggregatingStateDescriptor("state", Nothing(), kind),
}
"""Where a program declares a type."""


class Nothing(AggregateFunction):
    """Needed for a call; never run."""

    create_accumulator = add = get_result = merge = None


@pytest.mark.parametrize(
    ("type_info", "found"),
    [
        ("INT", r"found 'INT': write Types.INT\(\)$"),
        ("INTEGER", "found 'INTEGER'$"),
        (int, r"found the class int: write Types.LONG\(\)$"),
        (Nothing, "found the class Nothing$"),
        (Types.INT, r"found Types.INT itself: write Types.INT\(\)$"),
    ],
)
@pytest.mark.parametrize("place", PLACES_OF_TYPES)
def test_arguments_that_are_not_types_are_refused(pairs, type_info, found, place):
    with pytest.raises(TypeError, match=f"a type is declared by Types, e.g. Types.STRING.*{found}"):
        PLACES_OF_TYPES[place](pairs, type_info)


def test_a_list_of_types_is_the_type_of_a_row(pairs):
    assert pairs.map(same, [Types.STRING(), Types.INT()]).get_type() == Types.ROW([Types.STRING(), Types.INT()])


def test_rows_are_printed_in_javas_text_which_a_map_makes(env):
    env.set_parallelism(1)
    rows = env.from_collection([Row("a", None)], ROW)
    rows.print()
    rows.map(lambda row: Row.of_kind(RowKind.DELETE, row.name, 1), ROW).print()
    rows.map(lambda row: None, ROW).print()
    assert [name for name in operators(env) if name.endswith("Map")] == ["Map", "Map, Map"]
    assert sorted(run_local(env).lines) == ["+I[a, null]", "-D[a, 1]", "null"]


def test_a_negative_buffer_timeout_of_an_operator_is_that_of_the_environment(env, pairs):
    env.set_buffer_timeout(20)
    pairs.map(same, PAIR).name("merged").set_buffer_timeout(-1).map(same, PAIR).name("with").print()
    pairs.key_by(first).map(same, PAIR).name("alone").set_buffer_timeout(-1).shuffle().print()
    pairs.rebalance().map(same, PAIR).name("own").set_buffer_timeout(7).print()
    timeouts = {node.name: node.buffer_timeout for node in env.get_stream_graph().nodes.values()}
    assert (timeouts["merged, with"], timeouts["alone"], timeouts["own"]) == (20, 20, 7)


def test_compaction_needs_a_uid(env, pairs):
    strategy = FileCompactStrategy.builder().set_size_threshold(1).build()
    builder = FileSink.for_row_format("out", Encoder.simple_string_encoder())
    pairs.sink_to(builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()).name("files")
    with pytest.raises(InvalidProgramError, match="Sink files requires to set a uid since its customized topology"):
        env.get_stream_graph()


def test_sinks_may_transform_their_stream_first(env, pairs, capsys):
    class Names(StreamTransformer):
        def apply(self, ds):
            return ds.map(first, Types.STRING())

    class PrintWriter(SinkWriter):
        def write(self, element, timestamp):
            print(element)

    class NamesSink(Sink, SupportsPreprocessing):
        def get_transformer(self):
            return Names()

        def create_writer(self, context):
            return PrintWriter()

    pairs.sink_to(NamesSink())
    run_local(env)
    assert capsys.readouterr().out == "a\nb\n"


def test_map_function_objects_work_as_well_as_lambdas(env, pairs):
    class First(MapFunction):
        def map(self, value):
            return value[0]

    pairs.map(First(), output_type=Types.STRING()).name("first").print()
    assert isinstance(operators(env)["first"].function, First)


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_keys_without_type_that_are_equal_but_of_other_classes_stay_apart(env, mode):
    env.set_runtime_mode(mode)
    keys = [(1, "int"), (1.0, "float"), (True, "bool"), ((1, 2.0), "tuple"), ((1, 2), "ints")]
    counted = env.from_collection(keys * 2).key_by(first).reduce(lambda a, b: (a[0], f"{a[1]} {b[1]}"))
    counted.filter(lambda value: " " in value[1]).map(lambda value: value[1], Types.STRING()).collect_async()
    assert sorted(run_local(env).elements) == ["bool bool", "float float", "int int", "ints ints", "tuple tuple"]


@pytest.mark.parametrize("key_type", [None, Types.LIST(Types.INT())], ids=["no type", "list"])
@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_lists_may_be_keys(env, mode, key_type):
    class Counts(KeyedProcessFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value, ctx):
            self.count.update((self.count.value() or 0) + 1)
            yield ctx.get_current_key(), self.count.value()

    env.set_runtime_mode(mode)
    stream = env.from_collection([1, 2, 3, 1, 2, 1], Types.INT())
    stream.key_by(lambda n: [n, n * n], key_type).process(Counts()).collect_async()
    found = run_local(env, batch_elements=2).elements
    assert sorted(found) == [([1, 1], 1), ([1, 1], 2), ([1, 1], 3), ([2, 4], 1), ([2, 4], 2), ([3, 9], 1)]
