"""Interval joins: single rules, and a comparison with a model in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import ProcessJoinFunction
from firesteel.functions.operator_descriptors import IntervalJoinOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import OperatorHarness
from tests.seeds import examples

LEFT_LATE = OutputTag("left late")
RIGHT_LATE = OutputTag("right late")
SIDE = OutputTag("side")


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        assert ctx.get_timestamp() == max(ctx.get_left_timestamp(), ctx.get_right_timestamp())
        yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp()


def join(lower: int, upper: int, function: Any = None, **settings: Any) -> OperatorHarness:
    descriptor = IntervalJoinOperator(function or Pairs(), lower, upper, LEFT_LATE, RIGHT_LATE, Types.STRING())
    return OperatorHarness(descriptor, key_selectors=[lambda e: e[0], lambda e: e[0]], **settings)


def left(harness: OperatorHarness, name: str, timestamp: int) -> None:
    harness.process(("k", name), timestamp, 0)


def right(harness: OperatorHarness, name: str, timestamp: int) -> None:
    harness.process(("k", name), timestamp, 1)


def names(harness: OperatorHarness) -> list[str]:
    return [f"{pair[0][1]}{pair[1][1]}" for pair in harness.take()]


def test_bounds_are_inclusive_and_relative_to_the_left_element() -> None:
    with join(-2, 3) as h:
        left(h, "a", 10)
        for time in (7, 8, 13, 14):
            right(h, str(time), time)
        assert names(h) == ["a8", "a13"]


def test_result_has_the_later_timestamp_of_its_pair() -> None:
    with join(-5, 5) as h:
        left(h, "a", 10)
        right(h, "1", 7)
        right(h, "2", 12)
        assert [timestamp for _, timestamp in h.elements] == [10, 12]


def test_elements_of_other_keys_do_not_meet() -> None:
    with join(-5, 5) as h:
        h.process(("k", "a"), 1, 0)
        h.process(("l", "b"), 1, 1)
        assert h.values == []


def test_element_at_the_watermark_is_in_time_and_one_before_it_is_late() -> None:
    with join(0, 5) as h:
        left(h, "a", 10)
        h.watermark(12)
        right(h, "1", 11)
        left(h, "b", 11)
        right(h, "2", 12)
        assert names(h) == ["a2"]
        assert h.side_output(LEFT_LATE) == [("k", "b")]
        assert h.side_output(RIGHT_LATE) == [("k", "1")]


def test_elements_expired_by_the_watermark_do_not_join_one_at_the_watermark() -> None:
    with join(-8, 0) as h:
        right(h, "1", 9)
        h.watermark(16)
        left(h, "a", 16)
        h.watermark(17)
        left(h, "b", 17)
        assert names(h) == ["a1"]


def test_late_elements_are_dropped_without_a_tag() -> None:
    with OperatorHarness(IntervalJoinOperator(Pairs(), 0, 5), key_selectors=[lambda e: e[0]] * 2) as h:
        h.watermark(12)
        left(h, "a", 11)
        right(h, "1", 11)
        assert (h.values, h.num_keyed_state_entries()) == ([], 0)


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(0, 5, 15, 10), (-5, 0, 10, 15), (-3, 4, 14, 13), (2, 5, 15, 10), (-5, -2, 10, 15)],
)
def test_element_is_kept_until_no_partner_may_come(lower: int, upper: int, left_until: int, right_until: int) -> None:
    for feed, until in ((left, left_until), (right, right_until)):
        with join(lower, upper) as h:
            feed(h, "a", 10)
            h.watermark(until - 1)
            assert h.num_keyed_state_entries() > 0
            h.watermark(until)
            assert h.num_keyed_state_entries() == 0


def test_final_watermark_removes_all_state() -> None:
    with join(-3, 4) as h:
        for time in (1, 1, 5, 90):
            left(h, "a", time)
            right(h, "1", time)
        h.end(inputs=2)
        assert h.num_keyed_state_entries() == 0


def test_element_without_event_time_is_an_error_with_a_hint() -> None:
    with (
        join(0, 1) as h,
        pytest.raises(UserFunctionError, match=r"found one without; call assign_timestamps_and_watermarks\(\)"),
    ):
        h.process(("k", "a"))


class ToTheSide(ProcessJoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.opened = runtime_context.get_task_name()

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield SIDE, (self.opened, left[1], right[1])


def test_function_is_opened_and_yields_to_side_outputs() -> None:
    with join(0, 1, ToTheSide()) as h:
        left(h, "a", 1)
        right(h, "1", 1)
        assert h.side_output(SIDE) == [("vertex", "a", "1")]
        assert h.values == []


# --- against a model ----------------------------------------------------------------------------------------------

Event = tuple[str, int, int]
"""("left" or "right" or "watermark" or "restore", key, time)."""

KINDS = st.sampled_from(["left", "left", "right", "right", "watermark", "restore"])
EVENTS = st.lists(st.tuples(KINDS, st.sampled_from("abc"), st.integers(0, 40)), max_size=40)
BOUNDS = st.tuples(st.integers(-8, 8), st.integers(-8, 8)).map(sorted)


def model(events: list[Event], lower: int, upper: int, is_batch: bool) -> tuple[Counter[Any], list[Any], list[Any]]:
    """Every pair of elements in time whose distance is within the bounds; elements behind the watermark are late.

    As in Flink, an element at the watermark is in time, but what waited for it until then is gone.
    """
    watermark = -1
    in_time: tuple[list[Any], list[Any]] = ([], [])
    late: tuple[list[Any], list[Any]] = ([], [])
    for number, (kind, key, time) in enumerate(events):
        if kind == "watermark":
            watermark = max(watermark, time)
        elif kind != "restore":
            side = ("left", "right").index(kind)
            until = time + max(0, (upper, -lower)[side])
            arrived = -1 if is_batch else watermark
            (in_time if time >= arrived else late)[side].append((key, number, time, arrived, until))
    found = Counter(
        ((a[0], a[1]), (b[0], b[1]), a[2], b[2])
        for a in in_time[0]
        for b in in_time[1]
        if a[0] == b[0] and lower <= b[2] - a[2] <= upper and meet(*sorted((a, b), key=lambda e: e[1]))
    )
    return found, [e[:2] for e in late[0]], [e[:2] for e in late[1]]


def meet(earlier: Any, later: Any) -> bool:
    """Whether the one that came first was still there when the other one came."""
    return bool(later[3] == earlier[3] or later[3] < earlier[4])


@settings(max_examples=examples(200), deadline=None)
@given(EVENTS, BOUNDS, st.booleans())
def test_pairs_and_late_elements_are_those_of_the_model(events: list[Event], bounds: list[int], is_batch: bool) -> None:
    lower, upper = bounds
    harness = join(lower, upper, is_batch=is_batch)
    found: list[Any] = []
    late: tuple[list[Any], list[Any]] = ([], [])

    def gather() -> None:
        found.extend(harness.take())
        late[0].extend(harness.side_output(LEFT_LATE))
        late[1].extend(harness.side_output(RIGHT_LATE))

    watermark = -1
    for number, (kind, key, time) in enumerate(events):
        if kind == "watermark" and time > watermark:
            watermark = time
            harness.watermark(time)
        elif kind == "restore" and not is_batch:
            gather()
            harness = join(lower, upper, snapshot=harness.snapshot())
        elif kind in ("left", "right"):
            harness.process((key, number), time, ("left", "right").index(kind))
    harness.end(inputs=2)
    gather()
    assert (Counter(found), *late) == model(events, lower, upper, is_batch)
    assert harness.num_keyed_state_entries() == 0
