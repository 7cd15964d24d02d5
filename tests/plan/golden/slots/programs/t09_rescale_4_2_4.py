from pyflink.common import Types, WatermarkStrategy, Duration
from pyflink.datastream import SlotSharingGroup
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

IN = "/tmp/empty-in"  # an empty directory: the source keeps running and emits nothing


def src(env, name, parallelism):
    s = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), IN)
        .monitor_continuously(Duration.of_seconds(60))
        .build()
    )
    return env.from_source(s, WatermarkStrategy.no_watermarks(), name).set_parallelism(parallelism)


def wm(ds, name, parallelism):
    """A cheap Java operator (no Python worker needed)."""
    return (
        ds.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
        .name(name)
        .set_parallelism(parallelism)
    )


def build(env):
    wm(src(env, "src", 4).rescale(), "mid", 2).rescale().print().set_parallelism(4)
