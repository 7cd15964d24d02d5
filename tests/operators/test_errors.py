"""Errors of user code name the operator, the subtask, the current record and the line of user code."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from firesteel.common import Configuration, Row, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import (
    AggregateFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import CountTrigger, EventTimeTrigger, GlobalWindows, TumblingEventTimeWindows
from firesteel.functions import operator_descriptors as op
from firesteel.operators.chain.operator import MAX_WATERMARK
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.runtime.failure import TaskFailure
from firesteel.testing import OperatorHarness, run_local

BAD = ("k", 2)
VALUES = [("k", 1), BAD, ("k", 3)]


def check(value: Any, *context: Any) -> Any:
    """Anything for any value but the bad one."""
    if value == BAD:
        raise RuntimeError("spoilt")
    return (value,)


def check_second(first: Any, second: Any) -> Any:
    check(second)
    return second


def check_then(value: Any, context: Any) -> Any:
    yield value
    check(value)


class Process(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return check_then(value, ctx)


class KeyedProcess(KeyedProcessFunction):
    """Calls back into our own code, which has records of its own at hand."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("n", Types.TUPLE([Types.STRING(), Types.INT()])))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.state.update(("k", "no number") if value == BAD else value)


class CoMap(CoMapFunction):
    map1 = map2 = staticmethod(check)


class CoProcess(CoProcessFunction):
    process_element1 = process_element2 = staticmethod(check)


class Broadcast:
    process_element = process_broadcast_element = staticmethod(check)


class Async:
    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(0)
        return check(value)


class Aggregate(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        check(value)
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


def aggregating() -> op.WindowOperator:
    return op.WindowOperator(TumblingEventTimeWindows(10, 0), EventTimeTrigger(), 0, None, Aggregate(), None)


def first(value: Any) -> Any:
    return value[0]


DESCRIPTORS = [
    (op.MapOperator(check), False),
    (op.FlatMapOperator(check), False),
    (op.FilterOperator(check), False),
    (op.ProcessOperator(Process()), False),
    (op.KeyByOperator(lambda value: check(value)[0][0], Types.STRING()), False),
    (op.KeyByOperator(check, None), False),
    (op.TagAndKeyByOperator(0, check, None), False),
    (op.ExtractTimestampOperator(check), False),
    (op.CoMapOperator(CoMap()), False),
    (op.CoProcessOperator(CoProcess()), False),
    (op.BroadcastProcessOperator(Broadcast(), ()), False),
    (op.AsyncWaitOperator(Async(), 1000, 10, True), False),
    (op.AsyncWaitOperator(Async(), 1000, 1, False), False),
    (op.SinkFunctionOperator(check), False),
    (op.MapOperator(check, keyed=True), True),
    (op.FlatMapOperator(check, keyed=True), True),
    (op.FilterOperator(check, keyed=True), True),
    (op.KeyedProcessOperator(KeyedProcess()), True),
    (op.CoMapOperator(CoMap(), keyed=True), True),
    (op.ReduceOperator(check_second), True),
    (aggregating(), True),
]


@pytest.mark.parametrize(("descriptor", "keyed"), DESCRIPTORS, ids=lambda p: type(p).__name__ if p else "plain")
@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]], ids=["no timestamps", "timestamps"])
def test_spoilt_record_is_named(descriptor: Any, keyed: bool, timestamps: Any) -> None:
    if isinstance(descriptor, op.WindowOperator):
        timestamps = [1, 2, 3]
    if isinstance(descriptor, op.ExtractTimestampOperator):
        descriptor = op.ExtractTimestampOperator(lambda value, previous: check(value) and 1)
    harness = OperatorHarness(descriptor, key_selectors=[first] if keyed else [], subtask_index=1, parallelism=4)
    with harness, pytest.raises(UserFunctionError) as caught:
        harness.process_batch(VALUES, timestamps)
    failure = caught.value.failure
    assert failure["in_hand"] == "record ('k', 2)"
    assert str(caught.value).endswith("; on record ('k', 2)")
    assert "test_errors.py" in str(failure["user_location"])


def test_failure_names_operator_subtask_record_and_line_in_that_order() -> None:
    with (
        pytest.raises(UserFunctionError) as caught,
        OperatorHarness(op.MapOperator(check), subtask_index=1, parallelism=4) as h,
    ):
        h.process(BAD)
    told = str(TaskFailure(**caught.value.failure)).splitlines()  # type: ignore[arg-type]
    assert told[0] == "operator 'operator' (subtask 2/4) failed: RuntimeError: spoilt"
    assert told[1] == "  on record ('k', 2)"
    assert told[2].startswith("  at ")
    assert told[2].endswith('in check: raise RuntimeError("spoilt")')


def test_result_that_does_not_fit_its_type_is_named() -> None:
    with (
        pytest.raises(UserFunctionError) as caught,
        OperatorHarness(op.MapOperator(lambda n: "x" * n), output_type=Types.INT()) as h,
    ):
        h.process_batch([1, 2])
    assert caught.value.failure["in_hand"] == "record 'x'"


class OnTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise RuntimeError("spoilt")


def test_timer_is_named() -> None:
    with OperatorHarness(op.KeyedProcessOperator(OnTimer()), key_selectors=[first]) as h:
        h.process(BAD)
        with pytest.raises(UserFunctionError, match="on timer 7 of key 'k'"):
            h.watermark(7)


class Fail(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        raise RuntimeError("spoilt")


def feed(harness: OperatorHarness) -> None:
    harness.process(BAD, 1)
    harness.watermark(MAX_WATERMARK)


@pytest.mark.parametrize(
    ("assigner", "trigger", "window"),
    [
        (TumblingEventTimeWindows.of(Time.milliseconds(5)), EventTimeTrigger(), r"TimeWindow\(start=0, end=5\)"),
        (GlobalWindows(), CountTrigger(1), "GlobalWindow"),
    ],
)
def test_window_is_named(assigner: Any, trigger: Any, window: str) -> None:
    descriptor = op.WindowOperator(assigner, trigger, 0, None, None, Fail())
    failing = pytest.raises(UserFunctionError, match=f"on window {window} of key 'k'")
    with OperatorHarness(descriptor, key_selectors=[first]) as h, failing:
        feed(h)


class JoinFails(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        check(right)


def test_record_that_brought_a_failing_pair_about_is_named() -> None:
    with OperatorHarness(op.IntervalJoinOperator(JoinFails(), 0, 5), key_selectors=[first, first]) as h:
        h.process(("k", 1), 1, 0)
        with pytest.raises(UserFunctionError, match=r"on record \('k', 2\)"):
            h.process(BAD, 1, 1)


def test_error_of_open_has_no_record() -> None:
    class Opens(ProcessFunction):
        def open(self, runtime_context: Any) -> None:
            raise RuntimeError("spoilt")

        def process_element(self, value: Any, ctx: Any) -> Any:
            """Nothing."""

    with pytest.raises(UserFunctionError, match=r"spoilt$") as caught:
        OperatorHarness(op.ProcessOperator(Opens()))
    assert caught.value.failure["in_hand"] is None


class Unreadable:
    def __repr__(self) -> str:
        raise ValueError("no text")


def fail(value: Any) -> Any:
    raise RuntimeError("spoilt")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 10_000, "x" * 50),
        (list(range(10_000)), "[0, 1, 2, 3, 4, 5, ...]"),
        ("two\nlines", r"'two\nlines'"),
        (Row("a", 1), "Row('a', 1)"),
        (Unreadable(), "<Unreadable instance at"),
        ({"deep": [[[[[[1]]]]]]}, "{'deep': [[[[...]]]]}"),
    ],
)
def test_record_is_shown_in_one_short_line(value: Any, shown: str) -> None:
    with pytest.raises(UserFunctionError) as caught, OperatorHarness(op.MapOperator(fail)) as h:
        h.process(value)
    in_hand = str(caught.value.failure["in_hand"])
    assert shown in in_hand
    assert len(in_hand) < 220
    assert "\n" not in in_hand


def parse(text: str) -> Any:
    return json.loads(text)


def test_users_line_is_shown_where_a_library_fails_below_it() -> None:
    with pytest.raises(UserFunctionError) as caught, OperatorHarness(op.MapOperator(parse)) as h:
        h.process("{")
    assert str(caught.value.failure["user_location"]).endswith("in parse: return json.loads(text)")


class NotThree(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        if value == 3:
            raise RuntimeError("spoilt")
        return int(value)


def test_record_of_a_source_is_named() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(NotThree())
    env.from_source(NumberSequenceSource(0, 5), strategy, "numbers", Types.LONG()).print()
    with pytest.raises(UserFunctionError, match="operator 'Source: numbers': RuntimeError: spoilt; on record 3"):
        run_local(env)
