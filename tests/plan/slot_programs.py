"""The programs whose slots were recorded on Flink 2.3 clusters (golden/slots.json), by name."""

from __future__ import annotations

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import SlotSharingGroup
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat


def src(env, name, parallelism):
    """A source that keeps running and emits nothing."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/tmp/nothing-in-it")
    source = source.monitor_continuously(Duration.of_seconds(60)).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), name).set_parallelism(parallelism)


def wm(stream, name, parallelism):
    """An operator in between."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return stream.assign_timestamps_and_watermarks(strategy).name(name).set_parallelism(parallelism)


def t01_p4_all_to_all(env):
    src(env, "src", 4).rebalance().print().set_parallelism(4)


def t02_p2_to_p4_all_to_all(env):
    src(env, "src", 2).rebalance().print().set_parallelism(4)


def t03_p4_to_p2_all_to_all(env):
    src(env, "src", 4).rebalance().print().set_parallelism(2)


def t04_three_stages_4_2_3(env):
    wm(src(env, "src", 4).rebalance(), "mid", 2).rebalance().print().set_parallelism(3)


def t05_three_groups_2_2_1(env):
    a = src(env, "src", 2).slot_sharing_group("in")
    b = wm(a, "mid", 2).slot_sharing_group("mid")
    b.print().set_parallelism(1).slot_sharing_group("out")


def t06_two_pipelines_2_3(env):
    src(env, "left", 2).rebalance().print("l").set_parallelism(2)
    src(env, "right", 3).rebalance().print("r").set_parallelism(3)


def t07_pointwise_unchained_4_4(env):
    src(env, "src", 4).forward().print().set_parallelism(4).disable_chaining()


def t08_rescale_2_4(env):
    src(env, "src", 2).rescale().print().set_parallelism(4)


def t09_rescale_4_2_4(env):
    wm(src(env, "src", 4).rescale(), "mid", 2).rescale().print().set_parallelism(4)


def t10_union_1_2_to_4(env):
    src(env, "a", 1).union(src(env, "b", 2)).print().set_parallelism(4)


def t11_group_with_resources(env):
    g = SlotSharingGroup.builder("fat").set_cpu_cores(0.5).set_task_heap_memory_mb(32).build()
    src(env, "src", 2).slot_sharing_group(g).rebalance().print().set_parallelism(2).slot_sharing_group(g)


def t12_python_keyed_p2(env):
    env.set_parallelism(2)
    src(env, "src", 2).map(lambda s: (s, 1), Types.TUPLE([Types.STRING(), Types.INT()])).key_by(
        lambda t: t[0], Types.STRING()
    ).sum(1).map(lambda t: str(t), Types.STRING()).print()


def t13_too_many_p16(env):
    src(env, "src", 16).rebalance().print().set_parallelism(16)


def t14_all_chained_p3(env):
    src(env, "src", 3).print().set_parallelism(3)
