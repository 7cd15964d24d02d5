from __future__ import annotations

import asyncio
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import CoMapFunction, FilterFunction, ProcessFunction, SinkFunction
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import TranslationError
from firesteel.functions.operator_descriptors import (
    AsyncWaitOperator,
    BroadcastProcessOperator,
    CollectSinkOperator,
    CoMapOperator,
    FilterOperator,
    FlatMapOperator,
    KeyByOperator,
    MapOperator,
    PrintSinkOperator,
    ProcessOperator,
    ProjectOperator,
    SinkFunctionOperator,
)
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.operators.sinks.committables import CollectedElements, PrintedLines
from firesteel.testing import OperatorHarness

SIDE = OutputTag("side", Types.INT())


class Even(FilterFunction):
    def filter(self, value: Any) -> Any:
        return value % 2 == 0


class Chars:
    """A callable object."""

    def __call__(self, value: str) -> Any:
        yield from value


@pytest.mark.parametrize(
    ("descriptor", "values", "expected"),
    [
        (MapOperator(lambda n: n + 1), [1, 2], [2, 3]),
        (FilterOperator(Even()), [1, 2, 4], [2, 4]),
        (FilterOperator(lambda text: text), ["", "a", None], ["a"]),
        (FlatMapOperator(Chars()), ["ab", "", "c"], ["a", "b", "c"]),
        (FlatMapOperator(lambda n: range(n)), [2, 0, 1], [0, 1, 0]),
        (FlatMapOperator(lambda n: None), [1, 2], []),
        (ProjectOperator((2, 0)), [("a", "b", "c")], [("c", "a")]),
        (KeyByOperator(lambda t: t[0], Types.SHORT()), [(1.5, "x")], [(1, (1.5, "x"))]),
    ],
)
def test_results(descriptor: Any, values: list[Any], expected: list[Any]) -> None:
    with OperatorHarness(descriptor) as h:
        h.process_batch(values)
        assert h.values == expected


def test_results_keep_the_timestamps_of_their_elements() -> None:
    for descriptor in (FlatMapOperator(lambda n: [n] * n), FilterOperator(lambda n: n != 1)):
        with OperatorHarness(descriptor) as h:
            h.process_batch([0, 2, 1], [10, 20, 30])
            assert {(value, timestamp) for value, timestamp in h.elements} <= {(0, 10), (2, 20), (1, 30)}
            assert (2, 20) in h.elements


def test_results_have_their_declared_type() -> None:
    with OperatorHarness(MapOperator(lambda n: n * 1000), output_type=Types.SHORT()) as h:
        h.process_batch([1, 2.5])
        assert h.values == [1000, 2500]


def test_a_result_out_of_range_names_operator_record_and_type() -> None:
    map_operator = MapOperator(lambda n: n * 1000)
    with OperatorHarness(map_operator, output_type=Types.SHORT()) as h, pytest.raises(UserFunctionError) as error:
        h.process_batch([1, 43])
    assert str(error.value) == (
        "operator 'operator': ValueOverflowError: value: declared as SHORT (int), found int 43000, which is out of "
        "range; on record 43000"
    )


def test_value_that_does_not_fit_its_type_names_the_operator() -> None:
    with (
        OperatorHarness(MapOperator(str), output_type=Types.INT()) as h,
        pytest.raises(UserFunctionError, match="operator 'operator': TypeMismatchError: value: declared as INT"),
    ):
        h.process(1)


def test_stop_iteration_of_user_code_is_an_error() -> None:
    def stop(value: Any) -> Any:
        raise StopIteration

    with OperatorHarness(MapOperator(stop)) as h, pytest.raises(UserFunctionError, match="StopIteration"):
        h.process_batch([1, 2])


class Process(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if value < 0:
            yield SIDE, -value
        else:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_process_function_sees_time_and_yields_to_side_outputs() -> None:
    with OperatorHarness(ProcessOperator(Process())) as h:
        h.watermark(7)
        h.process(1, 9)
        h.process(-5)
        assert (h.elements, h.side_output(SIDE)) == ([((1, 9, 7), 9)], [5])


def test_process_function_without_a_key_gets_no_timers() -> None:
    class Timer(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(5)

    with OperatorHarness(ProcessOperator(Timer())) as h, pytest.raises(UserFunctionError, match=r"call key_by\(\)"):
        h.process(1)


class Refilled(ProcessFunction):
    """Yields one and the same list, over and over."""

    def open(self, runtime_context: Any) -> None:
        self.list: list[int] = []

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.list.append(value)
        yield self.list
        if len(self.list) == 2:
            self.list.clear()


def test_list_that_was_yielded_may_be_changed_afterwards() -> None:
    with OperatorHarness(ProcessOperator(Refilled())) as h:
        h.process_batch([1, 2, 3])
        assert h.values == [[1], [1, 2], [3]]


# --- two inputs ------------------------------------------------------------------------------------------------------


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return f"first {value}"

    def map2(self, value: Any) -> Any:
        return f"second {value}"


def test_co_map_has_a_function_per_input() -> None:
    with OperatorHarness(CoMapOperator(Sides())) as h:
        h.process(1)
        h.process(2, input_index=1)
        assert h.values == ["first 1", "second 2"]


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Rules:
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)


def test_broadcast_state_reaches_the_other_side_and_snapshots() -> None:
    descriptor = BroadcastProcessOperator(Rules(), [RULES])
    with OperatorHarness(descriptor) as h:
        h.process("a")
        h.process(("a", 1), input_index=1)
        h.process("a")
        assert h.values == [("a", None), ("a", 1)]
        with OperatorHarness(descriptor, snapshot=h.snapshot()) as other:
            other.process("a")
            assert other.values == [("a", 1)]


def test_batch_mode_reads_the_broadcast_side_first() -> None:
    with OperatorHarness(BroadcastProcessOperator(Rules(), [RULES]), is_batch=True) as h:
        h.process("a")
        h.process(("a", 1), input_index=1)
        h.end(inputs=2)
        assert h.values == [("a", 1)]


def test_broadcast_state_is_read_only_on_the_other_side() -> None:
    class Writes(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(value, 1)

    with (
        OperatorHarness(BroadcastProcessOperator(Writes(), [RULES])) as h,
        pytest.raises(UserFunctionError, match="read-only"),
    ):
        h.process("a")


# --- async -----------------------------------------------------------------------------------------------------------


class Slow:
    """Larger numbers are answered sooner; zero never."""

    def __init__(self) -> None:
        self.most = self.now = 0

    async def async_invoke(self, value: int) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(60 if value == 0 else 0.02 / value)
        self.now -= 1
        return [value] * (2 if value == 4 else 1)

    def timeout(self, value: int) -> Any:
        return ["timeout"]


def asynchronous(ordered: bool, capacity: int = 10, timeout_ms: int = 5000) -> Any:
    return AsyncWaitOperator(Slow(), timeout_ms, capacity, ordered)


def test_ordered_answers_keep_order_and_timestamps() -> None:
    with OperatorHarness(asynchronous(True)) as h:
        h.process_batch([1, 4, 2], [10, 20, 30])
        assert h.elements == [(1, 10), (4, 20), (4, 20), (2, 30)]


def test_unordered_answers_come_as_they_arrive_but_never_pass_a_watermark() -> None:
    with OperatorHarness(asynchronous(False)) as h:
        h.process_batch([1, 4])
        h.watermark(5)
        assert (h.values, h.watermarks) == ([4, 4, 1], [5])


def test_call_that_times_out_emits_the_result_of_timeout() -> None:
    with OperatorHarness(asynchronous(True, timeout_ms=50)) as h:
        h.process_batch([0, 4])
        assert h.values == ["timeout", 4, 4]


def test_at_most_capacity_calls_run_concurrently() -> None:
    descriptor = asynchronous(True, capacity=2)
    with OperatorHarness(descriptor) as h:
        h.process_batch([3] * 7)
    assert descriptor.function.most == 2


# --- sinks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [(None, 1, "(a,1)\n"), (None, 2, "2> (a,1)\n"), ("id", 2, "id:2> (a,1)\n"), ("id", 1, "id> (a,1)\n")],
)
def test_print_writes_javas_text(identifier: str | None, parallelism: int, line: str) -> None:
    descriptor = PrintSinkOperator(identifier, Types.TUPLE([Types.STRING(), Types.INT()]))
    with OperatorHarness(descriptor, subtask_index=parallelism - 1, parallelism=parallelism) as h:
        h.process(("a", 1))
        assert h.operator.committables() == (PrintedLines(line),)
        assert h.operator.committables() == ()


def test_collected_elements_travel_with_the_batch() -> None:
    with OperatorHarness(CollectSinkOperator("id")) as h:
        h.process_batch([1, 2])
        assert h.operator.committables() == (CollectedElements("id", [1, 2]),)


def test_sink_function_is_invoked_with_and_without_a_context() -> None:
    taken: list[Any] = []

    class Takes(SinkFunction):
        def invoke(self, value: Any, context: Any) -> None:
            taken.append(value)

    class TakesValue:
        def invoke(self, value: Any) -> None:
            taken.append(value)

    for function in (Takes.__new__(Takes), TakesValue()):
        with OperatorHarness(SinkFunctionOperator(function)) as h:
            h.process(1)
    assert taken == [1, 1]


def test_descriptor_without_a_rule_is_named() -> None:
    with pytest.raises(TranslationError, match="operator 'operator': no rule runs object"):
        OperatorHarness(object())
