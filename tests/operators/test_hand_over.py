"""User code cannot change values after it emitted them, in any operator; results are emitted in parts."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.configuration import Configuration
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.datastream.functions import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
)
from firesteel.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from firesteel.functions.async_functions import AsyncFunction
from firesteel.functions.operator_descriptors import (
    AsyncWaitOperator,
    ExtractTimestampOperator,
    FlatMapOperator,
    IntervalJoinOperator,
    KeyedProcessOperator,
    MapOperator,
    ProcessOperator,
    WindowOperator,
)
from firesteel.operators.chain import function_calls as functions
from firesteel.operators.chain import fusion
from firesteel.operators.chain.factory import make_operator
from firesteel.operators.chain.operator import OperatorInput, Output, TaskInfo
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.operators.chain.retention import is_ours
from firesteel.testing import OperatorHarness, run_local

TAG = OutputTag("aside")
MIXED = Types.TUPLE([Types.INT(), Types.PICKLED_BYTE_ARRAY()])


class Growing(MapFunction):
    """The same list in each result."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def map(self, value: Any) -> Any:
        self.seen.append(value)
        return value, self.seen

    def flat_map(self, value: Any) -> Any:
        return [self.map(value)]

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.map(value)
        yield TAG, self.seen
        self.seen.append(-1)
        self.seen.pop()


EXPECTED = [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]


@pytest.mark.parametrize("output_type", [None, MIXED])
@pytest.mark.parametrize("make", [MapOperator, FlatMapOperator, ProcessOperator])
def test_later_changes_do_not_affect_emitted_results(make: Any, output_type: Any) -> None:
    with OperatorHarness(make(Growing()), output_type=output_type) as h:
        h.process_batch([1, 2, 3])
        assert h.values == EXPECTED
        if make is ProcessOperator:
            assert h.side_output(TAG) == [seen for _, seen in EXPECTED]


@pytest.mark.parametrize("make", [MapOperator, FlatMapOperator, ProcessOperator])
def test_object_reuse_hands_the_objects_themselves_on(make: Any) -> None:
    with OperatorHarness(make(Growing()), configuration={"pipeline.object-reuse": "true"}) as h:
        h.process_batch([1, 2, 3])
        assert [seen for _, seen in h.values] == [[1, 2, 3]] * 3
        assert h.values[0][1] is h.values[1][1]


def test_branches_share_only_with_object_reuse() -> None:
    def results(reuse: str) -> list[Any]:
        configuration = Configuration()
        configuration.set_string("pipeline.object-reuse", reuse)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        stream = env.from_collection([1]).map(lambda n: (n, [n]))
        for name in ("left", "right"):
            stream.map(lambda pair, name=name: pair[1].append(name) or pair).collect_async()
        return sorted(run_local(env).elements)

    assert results("false") == [(1, [1, "left"]), (1, [1, "right"])]
    assert results("true") == [(1, [1, "left", "right"])] * 2


class Answers(AsyncFunction):
    def __init__(self) -> None:
        self.answer: list[int] = []

    async def async_invoke(self, value: Any) -> list[Any]:
        self.answer.append(value)
        return [self.answer]

    def timeout(self, value: Any) -> list[Any]:
        return []


def test_later_changes_do_not_affect_emitted_async_results() -> None:
    with OperatorHarness(AsyncWaitOperator(Answers(), 1000, 1, True, None)) as h:
        h.process_batch([1, 2, 3])
        assert h.values == [[1], [1, 2], [1, 2, 3]]


class Joined(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        left.append("joined")
        right.append("joined")
        yield left, right


def test_elements_that_wait_for_partners_do_not_change() -> None:
    descriptor = IntervalJoinOperator(Joined(), -10, 10, None, None, None)
    with OperatorHarness(descriptor, key_selectors=[lambda v: 1, lambda v: 1]) as h:
        h.process(["l"], 1)
        h.process(["r"], 1, 1)
        h.process(["s"], 1, 1)
        assert h.values == [(["l", "joined"], ["r", "joined"]), (["l", "joined"], ["s", "joined"])]


# --- parts ----------------------------------------------------------------------------------------------------------


class Many(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        for number in range(1000):
            yield str(number) * 5000

    def flat_map(self, value: Any) -> Iterable[Any]:
        return self.process_element(value, None)


class ManyOfKey(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(1)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        for number in range(1000):
            yield str(number) * 5000


class Largest:
    """Takes results and forgets them."""

    def __init__(self) -> None:
        self.count = self.largest = 0

    def process(self, values: list[Any], timestamps: Any) -> None:
        assert timestamps is None or len(timestamps) == len(values)
        self.count += len(values)
        self.largest = max(self.largest, sum(map(len, values)))

    def watermark(self, timestamp: int) -> None: ...


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]])
@pytest.mark.parametrize(
    "descriptor", [ProcessOperator(Many()), FlatMapOperator(Many()), KeyedProcessOperator(ManyOfKey())]
)
def test_results_of_a_buffer_are_not_all_in_memory(descriptor: Any, timestamps: Any) -> None:
    output, taken = Output(), Largest()
    output.connect(taken, None)  # type: ignore[arg-type]
    operator = make_operator(descriptor, "o", TaskInfo("j", "v", "v", 0, 1, 128, 0, False, {}), output)
    operator.open()
    is_keyed = isinstance(descriptor, KeyedProcessOperator)
    tracemalloc.start()
    operator.process([(key, key) for key in range(3)] if is_keyed else [1, 2, 3], timestamps)
    operator.process_watermark(2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken.count == 3000
    assert taken.largest < 2 * functions.PART_BYTES
    assert peak < 3 * functions.PART_BYTES


# --- errors ---------------------------------------------------------------------------------------------------------


def fails_at(number: int) -> Any:
    return lambda n: n if n != number else n / 0


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("first", ["map", "filter", "flat_map"])
def test_failure_is_that_of_the_first_element_that_fails(
    first: str, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fused:
        monkeypatch.setattr(fusion, "_TRIED_BUFFERS", 0)
    else:
        monkeypatch.setattr(fusion, "fuse", lambda operators: None)
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    stream = env.from_collection(list(range(1, 10)))
    call = {"map": fails_at(5), "filter": fails_at(5), "flat_map": lambda n: [fails_at(5)(n)]}[first]
    getattr(stream, first)(call).name("first").map(fails_at(3)).name("second").print()
    with pytest.raises(UserFunctionError) as raised:
        run_local(env)
    assert (raised.value.failure["operator_name"], raised.value.failure["in_hand"]) == ("second", "record 3")


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]])
@pytest.mark.parametrize("make", [FlatMapOperator, ProcessOperator, MapOperator])
def test_results_before_a_failure_are_emitted_with_their_timestamps(make: Any, timestamps: Any) -> None:
    class Failing(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value
            if value == 2:
                raise ValueError

        def flat_map(self, value: Any) -> Iterable[Any]:
            return self.process_element(value, None)

        def map(self, value: Any) -> Any:
            return [*self.process_element(value, None)].pop() if value == 2 else value

    output, elements = Output(), []

    class Taking:
        def process(self, values: list[Any], stamps: Any) -> None:
            elements.extend(zip(values, stamps or [None] * len(values), strict=True))

    output.connect(Taking(), None)  # type: ignore[arg-type]
    operator = make_operator(make(Failing()), "o", TaskInfo("j", "v", "v", 0, 1, 128, 0, False, {}), output)
    operator.open()
    with pytest.raises(UserFunctionError):
        OperatorInput(operator).process([1, 2, 3], timestamps)
    count = 1 if make is MapOperator else 2
    assert elements == [(n, None if timestamps is None else n) for n in (1, 2)][:count]


# --- code that sees elements in passing ------------------------------------------------------------------------------


class Spoiling(TimestampAssigner, Trigger):  # type: ignore[type-arg]
    """Changes former elements."""

    def __init__(self) -> None:
        self.last: list[Any] = []

    def see(self, value: Any) -> None:
        self.last.append("changed later")
        self.last = value

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self.see(value)
        return 1

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        self.see(element)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None: ...

    def clear(self, window: Any, ctx: Any) -> None: ...


def test_timestamp_assigner_does_not_change_elements() -> None:
    with OperatorHarness(ExtractTimestampOperator(Spoiling())) as h:
        h.process_batch([["a"], ["b"]])
        assert h.values == [(1, ["a"]), (1, ["b"])]


def test_trigger_does_not_change_elements() -> None:
    descriptor = WindowOperator(TumblingEventTimeWindows(10, 0), Spoiling(), 0, None, None, None)
    with OperatorHarness(descriptor, key_selectors=[lambda v: 1]) as h:
        h.process_batch([["a"], ["b"]], [1, 2])
        h.end()
        assert h.values == [["a"], ["b"]]


def test_errors_in_triggers_and_assigners_show_the_users_code() -> None:
    assert is_ours(EventTimeTrigger())
    assert is_ours(PurgingTrigger.of(CountTrigger.of(2)))
    assert not is_ours(PurgingTrigger.of(Spoiling()))
    assert not is_ours(EventTimeSessionWindows.with_dynamic_gap(lambda element: 1))
