from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
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


def test_the_clock_of_a_run_needs_no_block_of_its_own_and_gives_way_to_the_one_around_it() -> None:
    env = environment()
    env.from_collection([1, 2], Types.INT()).map(lambda n: now_ms(), Types.LONG()).print()
    with ManualClock(7):
        assert run_local(env, batch_elements=1, clock=ManualClock(10), clock_step_ms=5).lines == ["10", "15"]
        assert now_ms() == 7


def test_arguments_without_effect_are_refused(tmp_path: Path) -> None:
    env = environment()
    env.from_collection([1], Types.INT()).print()
    with pytest.raises(ValueError, match="clock_step_ms needs a clock"):
        run_local(env, clock_step_ms=5)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(ValueError, match="a BATCH job has neither batches nor savepoints"):
        run_local(env, savepoint=tmp_path)


class Listed(Source):
    """A source that grows."""

    def __init__(self, ids: str) -> None:
        super().__init__()
        self._ids, self._calls = ids, 0

    def is_bounded(self) -> bool:
        return False

    def discover_splits(self) -> Iterator[SourceSplit]:
        self._calls += 1
        for split_id in self._ids:
            yield SourceSplit(split_id, 2 * self._calls)

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[str]:
        return [f"{split_id}{position}" for position in range(start, end)]


def test_splits_may_come_from_a_generator_each_time() -> None:
    env = environment()
    env.from_source(Listed("ab"), WatermarkStrategy.no_watermarks(), "listed").collect_async()
    found = run_local(env, batches=3, clock=ManualClock(), clock_step_ms=100).elements
    assert sorted(found) == [f"{split_id}{position}" for split_id in "ab" for position in range(6)]


@pytest.mark.parametrize("ids", ["aa", ["a", ""]])
def test_splits_without_an_id_of_their_own_are_refused(ids: str) -> None:
    env = environment()
    env.from_source(Listed(ids), WatermarkStrategy.no_watermarks(), "listed").collect_async()
    with pytest.raises(ValueError, match=r"discover_splits\(\) of Listed returned 2 splits with"):
        run_local(env, batches=1)
