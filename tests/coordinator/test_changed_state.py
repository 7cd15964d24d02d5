"""What a batch changes of state on disk is bounded, as it is held in memory until the version is written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firesteel.common import Configuration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import SlidingEventTimeWindows
from firesteel.operators.state import cache_memory
from firesteel.task.batch_plan import StageReport
from firesteel.testing.local_job import run_local


class AtZero(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return 0


SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(100), Time.milliseconds(50))


@pytest.mark.parametrize(
    ("kind", "elements"), [("value", 30_000), ("map", 30_000), ("windows", 15_000), ("windows with timers", 6_000)]
)
def test_what_a_batch_changes_takes_a_quarter_of_the_memory_at_most(
    kind: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_memory, "_LEAST_BYTES", 1 << 20)
    told: list[float] = []
    ended = SplitEnumerator.batch_ended

    def tell(self: SplitEnumerator, stages: Sequence[StageReport]) -> None:
        told.append(max(stage.noted_part for stage in stages))
        ended(self, stages)

    monkeypatch.setattr(SplitEnumerator, "batch_ended", tell)

    class Seen(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
            self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
            self.counts.put(value, 1) if kind == "map" else self.count.update(1)

    options = {"state.backend.type": "rocksdb", "state.backend.rocksdb.memory.fixed-per-slot": "1mb"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(1)
    at_zero = WatermarkStrategy.no_watermarks().with_timestamp_assigner(AtZero())
    numbers = env.from_source(NumberSequenceSource(0, elements - 1), at_zero, "n", Types.LONG())
    keyed = numbers.key_by(lambda number: number, Types.LONG())
    if kind.startswith("windows"):
        windowed = keyed.window(SLIDING).allowed_lateness(10 if "timers" in kind else 0)
        windowed.reduce(lambda first, second: first + second).add_sink(lambda value: None)
    else:
        keyed.process(Seen()).add_sink(lambda value: None)
    run_local(env, batch_elements=elements // 3)
    assert told[0] > 0.3, "nothing was known of the first batch"
    assert len(told) > 3
    # The last batch removes all windows at once.
    assert all(part < 0.4 for part in told[1:-1]), told
    told.clear()
    run_local(env, batch_elements=100)
    assert max(told[:-1]) < 0.15
