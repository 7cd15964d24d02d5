"""Rules of functions with two inputs: time, timers, side outputs and state, with and without keys."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.time_domain import TimeDomain
from firesteel.functions.operator_descriptors import (
    BroadcastProcessOperator,
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
)
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.operators.state.descriptions import DESCRIBED
from firesteel.operators.state.state_table import DELETED
from firesteel.testing import ManualClock, OperatorHarness

SIDE = OutputTag("side", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
MIN, MAX = -(2**63), 2**63 - 1


def first(value: Any) -> Any:
    return value[0]


# --- without keys --------------------------------------------------------------------------------------------------


class Times(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()
        yield SIDE, f"first {value}"

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield SIDE, f"second {value}"


def test_co_process_sees_timestamp_and_watermark_and_writes_side_outputs_from_both_inputs() -> None:
    with OperatorHarness(CoProcessOperator(Times())) as h:
        h.process(1, 10, 0)
        h.watermark(7)
        h.process(2, 11, 0)
        h.process(3, 12, 1)
        assert h.elements == [((1, 10, MIN), 10), ((2, 11, 7), 11)]
        assert h.side_output(SIDE) == ["first 1", "first 2", "second 3"]


def test_restored_co_process_knows_the_watermark() -> None:
    with OperatorHarness(CoProcessOperator(Times())) as h:
        h.watermark(7)
        with OperatorHarness(CoProcessOperator(Times()), snapshot=h.snapshot()) as other:
            other.process(1, 10, 0)
            assert other.values == [(1, 10, 7)]


@pytest.mark.parametrize("keyed", [False, True])
def test_co_map_drops_none_as_pyflink_does(keyed: bool) -> None:
    class Positive(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value if value >= 0 else None

        def map2(self, value: Any) -> Any:
            return -value if value > 0 else None

    selectors = [lambda value: value] * 2 if keyed else []
    with OperatorHarness(CoMapOperator(Positive(), keyed=keyed), key_selectors=selectors) as h:
        for value in (1, -1, 0):
            h.process(value, 10, 0)
            h.process(value, 10, 1)
        assert h.values == [1, -1, 0]


@pytest.mark.parametrize("timestamp", [None, 7])
def test_an_element_without_timestamp_has_the_least_one_as_in_pyflink(timestamp: int | None) -> None:
    with OperatorHarness(CoProcessOperator(Times())) as h:
        h.process(1, timestamp, 0)
        assert h.values == [(1, MIN if timestamp is None else timestamp, MIN)]


class Registers(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(1)

    process_element2 = process_element1


def test_co_process_without_keys_gets_no_timers() -> None:
    with (
        OperatorHarness(CoProcessOperator(Registers())) as h,
        pytest.raises(UserFunctionError, match="timers are only supported on keyed streams"),
    ):
        h.process(1, 10, 1)


class Nothing:
    def flat_map1(self, value: Any) -> Any:
        return None

    def flat_map2(self, value: Any) -> Any:
        return [(SIDE, str(value)), value]


def test_co_flat_map_gives_any_number_of_results_also_to_side_outputs() -> None:
    with OperatorHarness(CoFlatMapOperator(Nothing())) as h:
        h.process(1)
        h.process(2, input_index=1)
        assert (h.values, h.side_output(SIDE)) == ([2], ["2"])


# --- keyed ---------------------------------------------------------------------------------------------------------


class WaitForBoth(KeyedCoProcessFunction):
    """Gives the sum of both inputs' numbers, or the lonely one 10 ms later."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.seen.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        ctx.timer_service().register_processing_time_timer(1000)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().delete_event_time_timer(ctx.timestamp() + 10)
        yield ctx.get_current_key(), sum(self.seen.get()) + value[1]
        self.seen.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), ctx.time_domain().name, ctx.timestamp(), list(self.seen.get())
        yield SIDE, str(timestamp)


def co_keyed(**settings: Any) -> OperatorHarness:
    return OperatorHarness(CoProcessOperator(WaitForBoth(), keyed=True), key_selectors=[first, first], **settings)


def test_inputs_share_state_and_timers_of_their_key_in_both_domains() -> None:
    with ManualClock(0), co_keyed() as h:
        h.process(("a", 1), 5, 0)
        h.process(("b", 2), 5, 0)
        h.process(("a", 10), 5, 1)
        h.watermark(15)
        h.advance_processing_time(1000)
        assert h.elements == [
            (("a", 11), 5),
            (("b", TimeDomain.EVENT_TIME.name, 15, [2]), 15),
            (("a", TimeDomain.PROCESSING_TIME.name, 1000, []), 1000),
            (("b", TimeDomain.PROCESSING_TIME.name, 1000, [2]), 1000),
        ]
        assert h.side_output(SIDE) == ["15", "1000", "1000"]


def test_state_and_timers_of_both_inputs_are_restored() -> None:
    with co_keyed() as h:
        h.process(("a", 1), 5, 0)
        with co_keyed(snapshot=h.snapshot()) as other:
            other.process(("a", 2), 6, 1)
            other.watermark(20)
            assert other.values == [("a", 3), ("a", "EVENT_TIME", 15, [])]


def test_batch_mode_gives_a_key_its_elements_then_its_timers() -> None:
    with ManualClock(0), co_keyed(is_batch=True) as h:
        h.process(("a", 1), 5, 0)
        h.process(("b", 2), 5, 0)
        h.process(("a", 3), 1, 1)
        assert h.values == []
        h.end(inputs=2)
        assert h.values == [
            ("a", 3),
            ("a", "EVENT_TIME", 15, [1]),
            ("a", "PROCESSING_TIME", 1000, [1]),
            ("b", "EVENT_TIME", 15, [2]),
            ("b", "PROCESSING_TIME", 1000, [2]),
        ]


# --- broadcast -----------------------------------------------------------------------------------------------------


class Price(KeyedBroadcastProcessFunction):
    """Counts per key; the broadcast side says by how much."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        by = ctx.get_broadcast_state(RULES).get("by") or 1
        self.total.update((self.total.value() or 0) + by)
        ctx.timer_service().register_event_time_timer(20)
        yield ctx.get_current_key(), self.total.value(), ctx.current_watermark()
        yield SIDE, "element"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("by", value)
        yield SIDE, f"rule at {ctx.timestamp()}"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        by = ctx.get_broadcast_state(RULES).get("by")
        yield ctx.get_current_key(), self.total.value(), by, ctx.time_domain().name


def priced(function: Any = None, **settings: Any) -> OperatorHarness:
    descriptor = BroadcastProcessOperator(function or Price(), [RULES], keyed=True)
    return OperatorHarness(descriptor, key_selectors=[first], **settings)


def test_keyed_broadcast_has_state_timers_and_side_outputs_on_both_sides() -> None:
    with priced() as h:
        h.process("a", 1)
        h.process(5, 2, 1)
        h.process("a", 3)
        h.watermark(20)
        assert h.values == [("a", 1, MIN), ("a", 6, MIN), ("a", 6, 5, "EVENT_TIME")]
        assert h.side_output(SIDE) == ["element", "rule at 2", "element"]


def test_restored_keyed_broadcast_has_its_rules_and_counts() -> None:
    with priced() as h:
        h.process(5, 2, 1)
        h.process("a", 3)
        with priced(snapshot=h.snapshot()) as other:
            other.process("a", 4)
            assert other.values == [("a", 10, MIN)]


class Rules(BroadcastProcessFunction):
    """Adds rules, or removes them if they are negative, and emits all rules for each element."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield sorted(ctx.get_broadcast_state(ALL).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(ALL)
        if value[0] == "clear":
            state.clear()
        elif value[1] is None:
            state.remove(value[0])
        else:
            state.put(*value)


ALL = MapStateDescriptor("all", Types.STRING(), Types.INT())


@pytest.mark.parametrize("keyed", [False, True])
def test_versions_have_the_changes_of_broadcast_states(keyed: bool) -> None:
    function: Any = type("KeyedRules", (KeyedBroadcastProcessFunction,), dict(vars(Rules)))() if keyed else Rules()

    def started() -> OperatorHarness:
        descriptor = BroadcastProcessOperator(function, [ALL], keyed=keyed)
        return OperatorHarness(descriptor, key_selectors=[first] if keyed else [])

    def version(full: bool = False) -> list[Any]:
        parts = list(h.operator.state_parts(full))
        versions.extend(parts)
        return [entries for name, entries in parts if name != DESCRIBED]

    versions: list[Any] = []
    with started() as h, started() as restored:
        h.process_batch([(f"rule {n}", n) for n in range(100)], None, 1)
        assert [len(entries) for entries in version(full=True)] == [100]
        h.process("a")
        assert version() == []
        h.process_batch([("rule 1", 10), ("rule 2", None), ("rule 1", 11)], None, 1)
        assert version() == [{"rule 1": 11, "rule 2": DELETED}]
        h.process_batch([("clear", 0), ("new", 1)], None, 1)
        assert len(version()[0]) == 100
        for delta in versions:
            restored.operator.load_keyed(delta)
            restored.operator.load_copied(delta)
        restored.process("a")
        assert restored.values == [[("new", 1)]]


KEYS_LIKE_ONE = (1, 1.0, True)


def test_broadcast_state_distinguishes_keys_and_keeps_values() -> None:
    class Odd(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            state = ctx.get_broadcast_state(ODD)
            state.get(1.0).append("read")
            yield sorted((type(key).__name__, parts) for key, parts in state.items())
            yield state.contains(float("nan"))

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            parts = [value]
            for key in (*KEYS_LIKE_ONE, float("nan"), float("nan")):
                ctx.get_broadcast_state(ODD).put(key, parts)
            parts.append("changed")

    with OperatorHarness(BroadcastProcessOperator(Odd(), [ODD], keyed=False)) as h:
        h.process("rule", None, 1)
        h.process("a")
        kinds = ["bool", "float", "float", "int"]
        assert h.values == [[(kind, ["rule"]) for kind in kinds], True]


ODD = MapStateDescriptor("odd", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())


def test_batch_mode_reads_the_rules_first_and_each_key_sees_no_watermark_before_its_end() -> None:
    with priced(is_batch=True) as h:
        h.process("a", 1)
        h.process(5, 2, 1)
        h.end(inputs=2)
        assert h.values == [("a", 5, MIN), ("a", 5, 5, "EVENT_TIME")]


class WritesRules(Price):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("by", 1)


class CountsRules(Price):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        self.total.update(1)


class ReadsAtOpen(Price):
    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.total.value()


@pytest.mark.parametrize(
    ("function", "input_index", "message"),
    [
        (WritesRules(), 0, "read-only here: change it in process_broadcast_element only"),
        (CountsRules(), 1, "keyed state and timers belong to the key of an element or timer"),
    ],
)
def test_state_is_refused_where_it_must_not_be_used(function: Any, input_index: int, message: str) -> None:
    with priced(function) as h:
        if input_index == 1:
            h.process("a", 1)
        with pytest.raises(UserFunctionError, match=message):
            h.process("a", 1, input_index)


def test_keyed_state_has_no_value_at_open() -> None:
    with pytest.raises(UserFunctionError, match="keyed state and timers belong to the key"):
        priced(ReadsAtOpen())


class Late:
    """Shows which watermark the kept elements of the first side see."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        """Nothing."""


def test_batch_mode_keeps_the_watermark_after_elements_that_waited_for_the_rules() -> None:
    with OperatorHarness(BroadcastProcessOperator(Late(), [RULES]), is_batch=True) as h:
        h.process("a", 1)
        h.watermark(MAX)
        assert (h.values, h.watermarks) == ([], [])
        h.end(inputs=2)
        assert (h.values, h.watermarks) == ([("a", MIN)], [MAX])
