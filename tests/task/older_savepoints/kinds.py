"""A job with every kind of state and time to live, and windows that keep their elements, on disk.

`python -m tests.task.older_savepoints.kinds DIRECTORY` writes its savepoint. The one in `described` was
written by the first release whose states describe themselves.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from firesteel.common import Row, Time, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.testing import run_local
from tests.task.older_savepoints.program import KEYS, begun

NAMED = Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()])


def _add(a: int, b: int) -> int:
    return a + b


class _Collected(AggregateFunction):
    """The accumulator is a list."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[int]) -> str:
        return str(accumulator)

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return a + b


class _Kinds(KeyedProcessFunction):
    """Has each kind of state, and shows them at the end of all input."""

    def __init__(self, limited: bool) -> None:
        self.limited = limited

    def open(self, runtime_context: Any) -> None:
        def of(descriptor: StateDescriptor) -> Any:
            if self.limited:
                descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(36500)).build())
            return descriptor

        get = runtime_context
        self.value = get.get_state(of(ValueStateDescriptor("value", NAMED)))
        self.list = get.get_list_state(of(ListStateDescriptor("list", Types.TUPLE([Types.LONG(), Types.STRING()]))))
        self.map = get.get_map_state(of(MapStateDescriptor("map", Types.STRING(), Types.LIST(Types.LONG()))))
        self.sum = get.get_reducing_state(of(ReducingStateDescriptor("sum", _add, Types.LONG())))
        self.all = get.get_aggregating_state(
            of(AggregatingStateDescriptor("all", _Collected(), Types.PICKLED_BYTE_ARRAY()))
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.value.update(Row(value, f"r{value}"))
        self.list.add((value, f"l{value}"))
        self.map.put(f"m{value % 5}", [value])
        self.sum.add(value)
        self.all.add(value)
        ctx.timer_service().register_event_time_timer(2**60)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        found = self.value.value(), list(self.list), sorted(self.map.items()), self.sum.get(), self.all.get()
        yield f"kinds {self.limited} {ctx.get_current_key()} {found}"


class _Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield f"{key} {list(elements)}"


class _Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield f"pair {left} {right}"


def environment(backend: str, restore: Path | None = None) -> StreamExecutionEnvironment:
    """Return the job; it prints one line per result."""
    options = {"state.backend.type": backend, "state.backend.rocksdb.memory.fixed-per-slot": "1kb"}
    env, numbers = begun(restore, options)
    keyed = numbers.key_by(lambda value: value % KEYS, Types.LONG())
    shown = {
        f"kinds {limited}": keyed.process(_Kinds(limited), Types.STRING()).uid(f"kinds {limited}")
        for limited in (False, True)
    }
    windows = {
        "tumbling": keyed.window(TumblingEventTimeWindows.of(Time.seconds(3))),
        "sliding": keyed.window(SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2))),
        "late": keyed.window(TumblingEventTimeWindows.of(Time.seconds(4))).allowed_lateness(1000),
        "sessions": keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(2))),
        "counts": keyed.window(CountTumblingWindowAssigner.of(4)),
        "all": keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(5)),
    }
    for name, window in windows.items():
        shown[name] = window.process(_Elements(), Types.STRING()).uid(name)
    joined = keyed.interval_join(keyed).between(Time.milliseconds(-700), Time.milliseconds(700))
    shown["pairs"] = joined.process(_Pairs(), Types.STRING()).uid("pairs")
    reduced = keyed.reduce(_add).uid("reduced")
    shown["reduced"] = reduced.map(lambda value: f"reduced {value}", Types.STRING()).uid("reduced text")
    for name, stream in shown.items():
        stream.print().uid(f"print {name}")
    return env


def main(directory: Path) -> None:
    """Run the first half of the job, and write its savepoint and the lines that it printed."""
    result = run_local(environment("rocksdb"), batch_elements=5, batches=4, savepoint=directory / "written")
    [made] = (directory / "written").iterdir()
    shutil.move(made, directory / "savepoint")
    (directory / "written").rmdir()
    (directory / "savepoint" / "printed.txt").write_text("".join(f"{line}\n" for line in result.lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
