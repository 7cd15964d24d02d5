"""State with a time to live in whole jobs, with checkpoints and killed slots."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import StateTtlConfig, ValueStateDescriptor
from firesteel.testing import Fault, ManualClock, run_local

pytestmark = pytest.mark.slow

STEP = 10
"""Time between two batches, of one element each (ms)."""


class Count(KeyedProcessFunction):
    """Counts the elements of a key that came soon enough after each other."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("count", Types.INT())
        descriptor.enable_time_to_live(self.ttl)
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value()


def job(keys: int) -> StreamExecutionEnvironment:
    """25 elements over a number of keys in turn; the time to live is 2.5 batches."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    ttl = StateTtlConfig.new_builder(Time.milliseconds(STEP * 5 // 2)).cleanup_full_snapshot().build()
    stream = env.from_collection(list(range(25)), Types.INT()).key_by(lambda n: n % keys, Types.INT())
    stream.process(Count(ttl), Types.INT()).print()
    return env


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize(
    ("keys", "counts"),
    [(2, [str(n // 2 + 1) for n in range(25)]), (3, ["1"] * 25)],
    ids=["in time", "too late"],
)
def test_values_live_from_batch_to_batch_whatever_dies(keys: int, counts: list[str], dies: bool) -> None:
    faults = [Fault(batch, stage, 0) for batch in range(25) for stage in (0, 1)] if dies else []
    with ManualClock(1_000) as clock:
        result = run_local(job(keys), batch_elements=1, faults=faults, clock=clock, clock_step_ms=STEP)
    assert (result.batches, result.lines) == (25, counts)
