"""A job with state of every kind: `python -m tests.task.older_savepoints.program DIRECTORY` writes its savepoint.

The savepoint beside this file was written by the release before the packages got rooms.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from firesteel.common import Configuration, Encoder, Row, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import AggregateFunction, KeyedBroadcastProcessFunction, KeyedProcessFunction
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    PurgingTrigger,
    TumblingEventTimeWindows,
)
from firesteel.testing import run_local

LAST = 99
KEYS = 7


class _OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value * 100


class _States(KeyedProcessFunction):
    """Has one state of each kind and a timer at the end of all input."""

    def open(self, runtime_context: Any) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.STRING()))
        self.row = runtime_context.get_state(ValueStateDescriptor("row", Types.ROW([Types.LONG(), Types.STRING()])))
        limited = ValueStateDescriptor("limited", Types.LONG())
        limited.enable_time_to_live(StateTtlConfig.new_builder(Time.days(36500)).build())
        self.limited = runtime_context.get_state(limited)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.list.add(value)
        self.map.put(value, f"v{value}")
        if value % 3 == 0 and value > 20:
            self.map.remove(value - 3 * KEYS)
        self.row.update(Row(value, f"r{value}"))
        self.limited.update((self.limited.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**60)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield str(
            (
                "states",
                ctx.get_current_key(),
                list(self.list),
                sorted(self.map.items()),
                tuple(self.row.value()),
                self.limited.value(),
            )
        )


class _Rules(KeyedBroadcastProcessFunction):
    """Keeps what is broadcast and shows how much of it there is."""

    descriptor = MapStateDescriptor("rules", Types.LONG(), Types.LONG())

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value == LAST:
            yield f"rules {len(list(ctx.get_broadcast_state(self.descriptor).items())) > LAST // 2}"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.descriptor).put(value, value)


class _Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def begun(restore: Path | None, options: dict[str, str]) -> tuple[StreamExecutionEnvironment, Any]:
    """Return an environment with some options, maybe with the state of a savepoint, and its stream of numbers."""
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    if restore is not None:
        configuration.set_string("execution.state-recovery.path", str(restore))
        configuration.set_string("execution.state-recovery.claim-mode", "NO_CLAIM")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_OwnTime())
    return env, env.from_source(NumberSequenceSource(0, LAST), strategy, "numbers", Types.LONG()).uid("numbers")


def environment(files: Path, restore: Path | None = None) -> StreamExecutionEnvironment:
    """Return the job; it prints one line per result, and writes files."""
    env, numbers = begun(restore, {})
    keyed = numbers.key_by(lambda value: value % KEYS, Types.LONG())
    keyed.process(_States(), Types.STRING()).uid("states").print().uid("print states")
    broadcast = numbers.broadcast(_Rules.descriptor)
    keyed.connect(broadcast).process(_Rules(), Types.STRING()).uid("rules").print().uid("print rules")
    windows = {
        "tumbling": keyed.window(TumblingEventTimeWindows.of(Time.seconds(3))),
        "late": keyed.window(TumblingEventTimeWindows.of(Time.seconds(4))).allowed_lateness(1000),
        "sessions": keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(2))),
        "counts": keyed.window(CountTumblingWindowAssigner.of(4)),
        "purging": keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).trigger(
            PurgingTrigger.of(CountTrigger.of(3))
        ),
    }
    for name, window in windows.items():
        summed = window.aggregate(_Sum(), accumulator_type=Types.LONG(), output_type=Types.LONG()).uid(name)
        summed.map(lambda value, name=name: f"{name} {value}", Types.STRING()).uid(f"named {name}").print().uid(
            f"print {name}"
        )
    sink = FileSink.for_row_format(str(files), Encoder.simple_string_encoder()).build()
    numbers.map(str, Types.STRING()).uid("text").sink_to(sink).uid("files")
    return env


def main(directory: Path) -> None:
    """Run the first half of the job, and write its savepoint and the lines that it printed."""
    result = run_local(environment(directory / "files"), batch_elements=5, batches=4, savepoint=directory / "savepoint")
    (directory / "printed.txt").write_text("".join(f"{line}\n" for line in result.lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
