"""Idleness on Spark: batches that take longer than the timeout lose nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.window import TumblingEventTimeWindows

pytestmark = pytest.mark.spark

COUNT = 2_000
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Backlog(Source):
    """Two splits with a backlog; the element at a position is the split and the position."""

    grows_to_end = True

    def discover_splits(self) -> Sequence[SourceSplit]:
        return [SourceSplit(name, COUNT, final_end=COUNT) for name in ("fast", "slow")]

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[Any]:
        return [(split_id, position) for position in range(start, end)]


class Position(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def linger(value: Any) -> Any:
    if value[0] == "slow":
        time.sleep(0.002)
    return value


@pytest.mark.parametrize("parallelism", [1, 2])
def test_splits_with_a_backlog_are_not_idle_although_batches_take_longer_than_the_timeout(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Position())
    strategy = strategy.with_idleness(Duration.of_millis(100))
    pairs = env.from_source(Backlog(), strategy, "backlog", PAIR).map(linger, PAIR)
    ones = pairs.map(lambda pair: ("all", 1), PAIR).key_by(lambda pair: pair[0], Types.STRING())
    windows = ones.window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    counts = windows.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect()
    assert [count for _, count in counts] == [200] * (COUNT // 100)
