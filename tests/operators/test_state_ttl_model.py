"""States with a time to live under random accesses, compared with a model in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.testing import ManualClock, OperatorHarness

TTL = 20

CLEANUPS = {
    "none": lambda ttl: ttl.disable_cleanup_in_background(),
    "default": lambda ttl: ttl,
    "each record": lambda ttl: ttl.cleanup_incrementally(2, True),
    "full snapshot": lambda ttl: ttl.disable_cleanup_in_background().cleanup_full_snapshot(),
    "all": lambda ttl: ttl.cleanup_incrementally(1, True).cleanup_full_snapshot(),
}


class All(KeyedProcessFunction):
    """Processes elements `(key, action, number)`: one access to one of four states."""

    def __init__(self, cleanup: str, renews: bool) -> None:
        ttl = CLEANUPS[cleanup](StateTtlConfig.new_builder(Time.milliseconds(TTL)))
        self.ttl = (ttl.update_ttl_on_read_and_write() if renews else ttl).build()

    def open(self, runtime_context: Any) -> None:
        descriptors = {
            "value": ValueStateDescriptor("value", Types.INT()),
            "list": ListStateDescriptor("list", Types.INT()),
            "map": MapStateDescriptor("map", Types.INT(), Types.INT()),
            "sum": ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT()),
        }
        for descriptor in descriptors.values():
            descriptor.enable_time_to_live(self.ttl)
        self.value = runtime_context.get_state(descriptors["value"])
        self.list = runtime_context.get_list_state(descriptors["list"])
        self.map = runtime_context.get_map_state(descriptors["map"])
        self.sum = runtime_context.get_reducing_state(descriptors["sum"])

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, what, number = value
        yield [getattr(self, f"do_{what}")(number)]

    def do_value_write(self, number: int) -> Any:
        return self.value.update(number)

    def do_value_read(self, number: int) -> Any:
        return self.value.value()

    def do_list_write(self, number: int) -> Any:
        return self.list.add(number)

    def do_list_read(self, number: int) -> Any:
        return self.list.get()

    def do_map_write(self, number: int) -> Any:
        return self.map.put(number % 3, number)

    def do_map_read(self, number: int) -> Any:
        return self.map.get(number % 3)

    def do_map_items(self, number: int) -> Any:
        return sorted(self.map.items())

    def do_sum_write(self, number: int) -> Any:
        return self.sum.add(number)

    def do_sum_read(self, number: int) -> Any:
        return self.sum.get()


class Model:
    """All that was ever written, as `[slot, number, when its life began]`."""

    def __init__(self, renews: bool) -> None:
        self.renews = renews
        self.written: list[list[Any]] = []

    def alive(self, slot: Any, now: int) -> list[list[Any]]:
        return [one for one in self.written if one[0][: len(slot)] == slot and now < one[2] + TTL]

    def read(self, slot: Any, now: int) -> list[tuple[Any, int]]:
        alive = self.alive(slot, now)
        if self.renews:
            for one in alive:
                one[2] = now
        return [(one[0], one[1]) for one in alive]

    def write(self, slot: Any, number: int, now: int, replaces: bool = True) -> None:
        if replaces:
            self.written = [one for one in self.written if one[0] != slot]
        self.written.append([slot, number, now])

    def access(self, key: str, what: str, number: int, now: int) -> Any:
        kind, _, how = what.partition("_")
        slot = (key, kind, number % 3) if kind == "map" and how != "items" else (key, kind)
        if how == "write":
            added_to = sum(one[1] for one in self.alive(slot, now)) if kind == "sum" else 0
            self.write(slot, number + added_to, now, replaces=kind != "list")
            return None
        found = self.read(slot, now)
        if kind == "list":
            return [number for _, number in found]
        if how == "items":
            return sorted((at[2], number) for at, number in found)
        return found[0][1] if found else None


ACCESSES = [name.removeprefix("do_") for name in dir(All) if name.startswith("do_")]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("renews", [False, True])
@pytest.mark.parametrize("cleanup", CLEANUPS)
def test_reads_are_those_of_the_model_whatever_cleans_up_and_wherever_it_is_restored(
    cleanup: str, renews: bool, seed: int
) -> None:
    chosen, model = random.Random(seed), Model(renews)
    operator = KeyedProcessOperator(All(cleanup, renews))
    harness = OperatorHarness(operator, key_selectors=[lambda e: e[0]])
    with ManualClock(1_000) as clock:
        for number in range(600):
            clock.advance(chosen.choice([0, 0, 1, 3, 7]))
            if chosen.random() < 0.05:
                restored = KeyedProcessOperator(All(cleanup, renews))
                harness = OperatorHarness(restored, key_selectors=[lambda e: e[0]], snapshot=harness.snapshot())
            key, what = chosen.choice("abc"), chosen.choice(ACCESSES)
            harness.process((key, what, number))
            assert harness.take() == [[model.access(key, what, number, clock.now_ms)]], (number, key, what)
