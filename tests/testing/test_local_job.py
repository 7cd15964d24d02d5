from __future__ import annotations

import pytest

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.errors import TranslationError
from firesteel.operators.chain.clock import now_ms
from firesteel.testing import ManualClock, run_local


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


def test_collected_elements_come_back() -> None:
    env = environment()
    env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n * n, Types.INT()).collect_async()
    assert run_local(env).elements == [1, 4, 9]


def test_job_graph_and_stream_graph_run_too() -> None:
    for get in (lambda e: e.get_stream_graph(), lambda e: e.get_stream_graph().get_job_graph()):
        env = environment()
        env.from_collection([1], Types.INT()).print()
        assert run_local(get(env)).lines == ["1"]


def test_source_that_never_ends_is_refused() -> None:
    env = environment()
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/nowhere")
    source = text.monitor_continuously(Duration.of_seconds(1)).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "tail").print()
    with pytest.raises(TranslationError, match=r"'Source: tail -> .*' is unbounded"):
        run_local(env)


def test_manual_clock_is_the_processing_time_while_it_is_open() -> None:
    with ManualClock(5) as clock:
        assert now_ms() == 5
        clock.advance(3)
        assert now_ms() == 8
    assert now_ms() > 1_700_000_000_000


def test_clock_moves_between_batches() -> None:
    env = environment()
    env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n * 1000 + now_ms(), Types.LONG()).print()
    with ManualClock(10) as clock:
        assert run_local(env, batch_elements=1, clock=clock, clock_step_ms=5).lines == ["1010", "2015", "3020"]
