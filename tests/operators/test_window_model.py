"""Windows over random elements, compared with a model in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import ProcessWindowFunction
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.testing import OperatorHarness

LATE = OutputTag("late")
KEYS = "abc"


class Show(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.window().end, sorted(elements)


def run(assigner: Any, elements: list[Any], watermark_every: int | None, bound: int = 0) -> OperatorHarness:
    """Elements are `(key, time)`; watermarks are `bound` behind the largest time."""
    descriptor = WindowOperator(assigner, EventTimeTrigger(), 0, LATE, None, Show())
    harness = OperatorHarness(descriptor, key_selectors=[lambda e: e[0]])
    largest = 0
    for position, element in enumerate(elements):
        harness.process(element, element[1])
        largest = max(largest, element[1])
        if watermark_every is not None and position % watermark_every == 0:
            harness.watermark(largest - bound - 1)
    harness.end()
    return harness


def random_elements(seed: int) -> list[Any]:
    """Out of order by less than 20."""
    chosen = random.Random(seed)
    times = sorted(chosen.randrange(1000) for _ in range(200))
    return [(chosen.choice(KEYS), time) for time in sorted(times, key=lambda t: t + chosen.randrange(20))]


def aligned(elements: list[Any], size: int, slide: int) -> list[Any]:
    starts = range(-size, 1000, slide)
    found = [
        (key, start, start + size, sorted(e for e in elements if e[0] == key and start <= e[1] < start + size))
        for key in KEYS
        for start in starts
    ]
    return sorted(window for window in found if window[3])


def sessions(elements: list[Any], gap: int) -> list[Any]:
    found = []
    for key in KEYS:
        group: list[Any] = []
        for element in sorted(e for e in elements if e[0] == key):
            if group and element[1] > group[-1][1] + gap:
                found.append((key, group[0][1], group[-1][1] + gap, group))
                group = []
            group = [*group, element]
        found.append((key, group[0][1], group[-1][1] + gap, group))
    return sorted(found)


@pytest.mark.parametrize("watermark_every", [None, 1, 7])
@pytest.mark.parametrize("seed", range(5))
def test_without_late_elements(seed: int, watermark_every: int | None) -> None:
    elements = random_elements(seed)
    tumbling = run(TumblingEventTimeWindows.of(Time.milliseconds(10)), elements, watermark_every, bound=20)
    assert sorted(tumbling.values) == aligned(elements, 10, 10)
    windows = SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
    assert sorted(run(windows, elements, watermark_every, bound=20).values) == aligned(elements, 30, 10)
    gap = EventTimeSessionWindows.with_gap(Time.milliseconds(7))
    assert sorted(run(gap, elements, watermark_every, bound=20).values) == sessions(elements, 7)


@pytest.mark.parametrize("seed", range(5))
def test_each_element_is_in_a_window_or_late(seed: int) -> None:
    elements = random_elements(seed)
    harness = run(TumblingEventTimeWindows.of(Time.milliseconds(10)), elements, 1)
    largest, late = -1, []
    for element in elements:
        if element[1] - element[1] % 10 + 9 <= largest - 1:
            late.append(element)
        largest = max(largest, element[1])
    assert harness.side_output(LATE) == late != []
    in_windows = [element for _, _, _, members in harness.values for element in members]
    assert sorted(in_windows + late) == sorted(elements)
