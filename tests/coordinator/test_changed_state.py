"""What a batch changes of state on disk is bounded, as it is held in memory until the version is written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.operators.state import cache_memory
from firesteel.task.batch_plan import StageReport
from firesteel.testing.local_job import run_local


@pytest.mark.parametrize("is_map", [False, True])
def test_what_a_batch_changes_takes_a_quarter_of_the_memory_at_most(
    is_map: bool, monkeypatch: pytest.MonkeyPatch
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
            self.counts.put(value, 1) if is_map else self.count.update(1)

    options = {"state.backend.type": "rocksdb", "state.backend.rocksdb.memory.fixed-per-slot": "1mb"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(0, 29_999), WatermarkStrategy.no_watermarks(), "n", Types.LONG())
    numbers.key_by(lambda number: number, Types.LONG()).process(Seen()).add_sink(lambda value: None)
    run_local(env, batch_elements=10_000)
    assert told[0] > 0.3, "nothing was known of the first batch"
    assert len(told) > 3
    assert all(part < 0.27 for part in told[1:]), told
    told.clear()
    run_local(env, batch_elements=100)
    assert max(told) < 0.1
