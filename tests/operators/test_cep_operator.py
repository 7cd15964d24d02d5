"""The operator of event patterns: order of events, late ones, timeouts, state and time domains."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from firesteel.cep import IterativeCondition, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from firesteel.common import Duration, Types
from firesteel.common.keys.key_groups import key_group_range
from firesteel.datastream import OutputTag
from firesteel.functions.operator_descriptors import CepOperator
from firesteel.operators.chain.factory import make_operator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import OperatorHarness

LATE = OutputTag("late")
TIMED_OUT = OutputTag("timed out")


class Letters(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield text(match)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield TIMED_OUT, (text(match), ctx.timestamp())


def text(match: dict[str, list[Any]]) -> str:
    return "".join(event[1] for events in match.values() for event in events)


def letter(allowed: str) -> Any:
    return lambda event: event[1] in allowed


def ab() -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))


def descriptor_of(pattern: Pattern, function: Any = None, clock: bool = False, comparator: Any = None) -> CepOperator:
    return CepOperator(pattern, function or Letters(), clock, comparator, LATE, Types.STRING())


def harness(pattern: Pattern, function: Any = None, *, clock: bool = False, **settings: Any) -> OperatorHarness:
    descriptor = descriptor_of(pattern, function, clock, settings.pop("comparator", None))
    return OperatorHarness(descriptor, key_selectors=[lambda event: event[0]], **settings)


def send(h: OperatorHarness, *events: tuple[str, int], key: str = "k") -> None:
    for name, time in events:
        h.process((key, name), time)


def test_events_wait_for_the_watermark_and_are_in_the_order_of_time() -> None:
    with harness(ab()) as h:
        send(h, ("b", 20), ("a", 10), ("b", 5))
        assert h.take() == []
        h.watermark(30)
        assert h.elements == [("ab", 20)]


def test_events_of_one_time_are_in_the_order_of_the_comparator() -> None:
    with harness(ab(), comparator=lambda one, other: (one > other) - (one < other)) as h:
        send(h, ("b", 10), ("a", 10))
        h.watermark(10)
        assert h.values == ["ab"]


def test_keys_do_not_share_matches() -> None:
    with harness(ab()) as h:
        send(h, ("a", 1), key="one")
        send(h, ("b", 2), key="other")
        h.watermark(5)
        assert h.values == []


def test_late_events_go_to_the_side_output() -> None:
    with harness(ab()) as h:
        h.watermark(10)
        send(h, ("a", 10), ("a", 11))
        assert h.side_output(LATE) == [("k", "a")]


def test_a_partial_match_times_out_by_the_watermark_alone() -> None:
    with harness(ab().within(Duration.of_millis(10))) as h:
        send(h, ("a", 1))
        h.watermark(10)
        assert h.side_output(TIMED_OUT) == []
        h.watermark(11)
        assert h.side_output(TIMED_OUT) == [("a", 11)]
        assert h.num_keyed_state_entries() == 0


def test_an_event_that_does_not_come_completes_a_match() -> None:
    pattern = Pattern.begin("a").where(letter("a")).not_followed_by("b").where(letter("b"))
    with harness(pattern.within(Duration.of_millis(10))) as h:
        send(h, ("a", 1), ("a", 5), ("b", 12))
        h.watermark(30)
        assert h.values == ["a"]


def test_a_key_without_partial_matches_has_no_state() -> None:
    with harness(Pattern.begin("a").where(letter("a")).next("b").where(letter("b"))) as h:
        send(h, ("a", 1), ("b", 2), ("x", 3))
        h.watermark(5)
        assert h.values == ["ab"]
        assert h.num_keyed_state_entries() == 0


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_matches_continue_after_a_restore(backend: str) -> None:
    settings: Any = {"configuration": {"state.backend.type": backend}}
    pattern = Pattern.begin("a").where(letter("a")).one_or_more().followed_by("b").where(letter("b"))
    events = [("a", 1), ("x", 2), ("a", 3), ("b", 4), ("a", 5), ("b", 6)]
    with harness(pattern, **settings) as h:
        send(h, *events)
        h.watermark(50)
        expected = h.values
    found, snapshot = [], None
    for (_, time), following in zip(events, [*events[1:], ("x", 7)], strict=True):
        with harness(pattern, snapshot=snapshot, **settings) as h:
            send(h, *([] if snapshot else events[:1]), following)  # waits for the watermark after the snapshot
            h.watermark(time)
            found += h.values
            snapshot = h.snapshot()
    assert found == expected
    assert expected == ["aab", "ab", "ab", "aaab", "aab", "ab"]


def test_timers_are_restored() -> None:
    pattern = ab().within(Duration.of_millis(10))
    with harness(pattern) as h:
        send(h, ("a", 1))
        h.watermark(5)
        with harness(pattern, snapshot=h.snapshot()) as other:
            other.watermark(20)
            assert other.side_output(TIMED_OUT) == [("a", 11)]


def test_a_match_longer_than_the_stack_is_stored_and_restored() -> None:
    length = sys.getrecursionlimit() * 2
    pattern = Pattern.begin("s").where(letter("s")).next("a").where(letter("a")).times(length).consecutive()
    with harness(pattern) as h:
        h.process_batch([("k", "s"), *[("k", "a")] * (length - 1)], list(range(length)))
        h.watermark(length)
        with harness(pattern, snapshot=h.snapshot()) as other:
            send(other, ("a", length + 1))
            other.watermark(length + 2)
            assert other.values == ["s" + "a" * length]


def test_processing_time_matches_at_once_and_has_no_timestamps() -> None:
    with harness(ab(), clock=True) as h:
        h.process(("k", "a"))
        h.process(("k", "b"))
        assert h.elements == [("ab", None)]


def test_partial_matches_time_out_in_processing_time() -> None:
    with harness(ab().within(Duration.of_millis(10)), clock=True) as h:
        h.process(("k", "a"))
        due = h.operator.next_processing_time()
        assert due is not None
        h.advance_processing_time(due + 1)
        assert [match for match, _ in h.side_output(TIMED_OUT)] == ["a"]


def test_batch_mode_matches_each_key_to_its_end() -> None:
    with harness(ab().within(Duration.of_millis(10)), is_batch=True) as h:
        send(h, ("b", 3), ("a", 1), ("a", 9), key="one")
        send(h, ("a", 2), ("b", 20), key="other")
        h.end()
        assert h.values == ["ab"]
        assert sorted(h.side_output(TIMED_OUT)) == [("a", 11 + 1), ("a", 19)]


def test_iterative_conditions_see_the_events_of_their_match_only() -> None:
    seen = []

    class Seen(IterativeCondition):
        def filter(self, value: Any, context: Any) -> bool:
            seen.append((value[1], text({"a": context.get_events_for_pattern("a")}), context.timestamp()))
            return True

    pattern = Pattern.begin("a").where(letter("a")).followed_by_any("b").where(letter("bc")).where(Seen())
    with harness(pattern) as h:
        send(h, ("a", 1), ("b", 2), ("a", 3), ("c", 4))
        h.watermark(5)
    assert seen == [("b", "a", 2), ("c", "a", 4), ("c", "a", 4)]


def test_conditions_on_the_event_alone_are_evaluated_once_for_each_event() -> None:
    calls = []

    def is_b(event: Any) -> bool:
        calls.append(event[1])
        return event[1] == "b"

    pattern = Pattern.begin("a").where(letter("a")).followed_by("b").where(is_b)
    with harness(pattern) as h:
        send(h, ("a", 1), ("a", 2), ("a", 3), ("x", 4), ("b", 5))
        h.watermark(6)
        assert h.values == ["ab"] * 3
    assert calls == ["a", "a", "x", "b"]


def test_functions_are_opened_without_state() -> None:
    class Stateful(Letters):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(None)

    with pytest.raises(UserFunctionError, match="cannot use keyed state"), harness(ab(), Stateful()):
        pass


def test_an_event_without_time_is_refused() -> None:
    with harness(ab()) as h, pytest.raises(UserFunctionError, match="in_processing_time"):
        h.process(("k", "a"))


def test_results_of_timeouts_go_to_side_outputs() -> None:
    class Plain(Letters):
        def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
            return [text(match)]

    with harness(ab().within(Duration.of_millis(10)), Plain()) as h:
        send(h, ("a", 1))
        with pytest.raises(UserFunctionError, match="pairs of an OutputTag and a value"):
            h.watermark(20)


def test_an_error_of_a_condition_names_the_event_and_the_users_line() -> None:
    def wrong(event: Any) -> bool:
        return event[7] == "a"

    with harness(Pattern.begin("a").where(wrong)) as h:
        send(h, ("a", 1))
        with pytest.raises(UserFunctionError, match=r"IndexError.*on record \('k', 'a'\)") as error:
            h.watermark(2)
    assert "in wrong: return event[7]" in str(error.value.failure["user_location"])


def test_matches_follow_their_keys_to_another_parallelism() -> None:
    keys = [f"key {number}" for number in range(20)]
    with harness(ab()) as h:
        for key in keys:
            send(h, ("a", 1), ("x", 9), key=key)
        h.watermark(5)
        parts = list(h.operator.state_parts(True))
        watermark = h.operator.snapshot()
    found = []
    for index in range(2):
        groups = key_group_range(index, 2, 128)
        with harness(ab(), subtask_index=index, parallelism=2) as other:
            operator = make_operator(descriptor_of(ab()), "operator", other.operator.task, other.operator.output)
            for part in parts:
                operator.load_keyed(part, groups)
            operator.open()
            operator.restore(watermark)
            mine = [key for key in keys if operator.backend.key_group(key) in groups]
            operator.process([(key, (key, "b")) for key in mine], [10] * len(mine))
            operator.process_watermark(20)
            assert other.take() == ["ab"] * len(mine)
            found += mine
    assert sorted(found) == sorted(keys)
    assert 0 < len(mine) < 20
