"""Fused maps and filters behave as separate ones, and errors name the operator that failed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from firesteel.datastream.functions import MapFunction, ProcessFunction, RuntimeContext
from firesteel.operators.chain import fusion
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local

STEPS: dict[str, Any] = {
    "plus": lambda s: s.map(lambda n: n + 1),
    "short": lambda s: s.map(lambda n: float((n * 30_001 + 2**15) % 2**16 - 2**15), Types.SHORT()),
    "float": lambda s: s.map(lambda n: n / 3, Types.DOUBLE()).map(int, Types.LONG()),
    "even": lambda s: s.filter(lambda n: n % 2 == 0),
    "some": lambda s: s.filter(lambda n: n % 7),
    "twice": lambda s: s.flat_map(lambda n: [n, n]),
    "both": lambda s: s.map(lambda n: n, Types.LONG()).union(s.map(lambda n: n + 5, Types.LONG())),
}


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class WithTime(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


def numbers(env: StreamExecutionEnvironment, count: int, timed: bool) -> DataStream:
    env.set_parallelism(1)
    stream = env.from_collection(list(range(count)), Types.LONG())
    if not timed:
        return stream
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OwnTime())
    return stream.assign_timestamps_and_watermarks(strategy)


def results(steps: list[str], timed: bool) -> list[Any]:
    env = StreamExecutionEnvironment()
    stream = numbers(env, 200, timed)
    for step in steps:
        stream = STEPS[step](stream)
    stream.process(WithTime()).collect_async()
    return run_local(env).elements


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_results_are_those_of_operators_one_by_one(seed: int, timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = random.Random(seed).choices(list(STEPS), k=6)
    fused = results(steps, timed)
    monkeypatch.setattr(fusion, "fuse", lambda operators: None)
    assert sorted(fused) == sorted(results(steps, timed)) != []


def test_the_faster_variant_is_chosen_and_both_are_equivalent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "_TRIED_ELEMENTS", 1)
    env = StreamExecutionEnvironment()
    numbers(env, 20_000, False).map(lambda n: n + 1).filter(lambda n: n % 3).map(lambda n: -n).collect_async()
    found = run_local(env, batch_elements=500).elements
    assert found == [-n for n in range(1, 20_001) if n % 3]


class Third(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.base = 100

    def map(self, value: Any) -> Any:
        return self.base // (value - 5)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    ("last", "error", "name", "in_hand"),
    [
        (lambda s: s.map(Third()).name("third"), "ZeroDivisionError", "third", "record 5"),
        (lambda s: s.filter(lambda n: n.missing).name("third"), "AttributeError", "third", "record 1"),
        (lambda s: s.map(lambda n: str(n), Types.LONG()).name("third"), "LONG", "third", "record '1'"),
        (lambda s: s.map(lambda n: next(iter(()))).name("third"), "StopIteration", "third", "record 1"),
    ],
)
def test_error_is_that_of_the_operator_and_the_element(
    last: Any, error: str, name: str, in_hand: str, timed: bool
) -> None:
    env = StreamExecutionEnvironment()
    stream = numbers(env, 10, timed)
    last(stream.map(lambda n: n + 1).name("first").filter(lambda n: n < 8).name("second")).map(lambda n: n).print()
    with pytest.raises(UserFunctionError) as raised:
        run_local(env)
    assert raised.value.failure["operator_name"] == name
    assert raised.value.failure["in_hand"] == in_hand
    assert error in str(raised.value.failure["message"])


def test_side_outputs_of_a_map_still_come_out() -> None:
    tag = OutputTag("aside", Types.LONG())
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    mapped = env.from_collection([1, 2, 3], Types.LONG()).map(lambda n: n + 1).map(lambda n: (tag, n) if n == 3 else n)
    mapped.map(lambda n: n).map(lambda n: ("main", n)).collect_async()
    mapped.get_side_output(tag).map(lambda n: n).map(lambda n: ("aside", n)).collect_async()
    assert sorted(run_local(env).elements) == [("aside", 3), ("main", 2), ("main", 4)]
