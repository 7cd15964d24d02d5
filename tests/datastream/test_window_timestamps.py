"""The timestamps of what windows emit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.window import CountTrigger, GlobalWindows, TumblingEventTimeWindows
from firesteel.testing import run_local


class Stamped(ProcessFunction):
    """Shows the timestamps of elements."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


class Assigned(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


def summed(first: Any, second: Any) -> Any:
    return first[0], first[1] + second[1]


TRIGGERED = {  # what PyFlink 2.3 gave
    "count": (lambda keyed: keyed.count_window(2), [5, 25], [30], [25]),
    "slide": (lambda keyed: keyed.count_window(2, 1), [1, 2, 11], [3, 13], [2, 11]),
    "global": (lambda keyed: keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(1)), [1, 2], [1, 3], [1, 2]),
    "time": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(CountTrigger.of(1)),
        [1, 2, 11],
        [1, 3, 11],
        [1, 2, 11],
    ),
    "end": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))),
        [1, 2, 11],
        [3, 11],
        [9, 19],
    ),
}


@pytest.mark.parametrize("kind", TRIGGERED)
def test_results_have_the_timestamp_of_what_the_trigger_fired_for(kind: str) -> None:
    windowed, times, sums, stamps = TRIGGERED[kind]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pairs = Types.TUPLE([Types.STRING(), Types.LONG()])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Assigned())
    stream = env.from_collection([("a", time) for time in times], pairs).assign_timestamps_and_watermarks(strategy)
    windowed(stream.key_by(lambda pair: pair[0], Types.STRING())).reduce(summed).process(Stamped()).print()
    lines = run_local(env).lines
    assert [eval(line) for line in lines] == [(("a", total), stamp) for total, stamp in zip(sums, stamps, strict=True)]
