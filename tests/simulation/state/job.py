"""The simulated job: records that arrive over time, state of every kind, and what must come of them.

Records of a split arrive in the order of event time, some splits with a delay. A split with a delay has no quiet times,
so it is never idle. So no record is late, however long batches take, as long as nobody takes a split for idle that is
not.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.common import Configuration, Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.graph.job_graph import JobGraph

KEYS = 100
SPAN_MS = 40_000
"""Event time of the records of a seed."""

TAIL_MS = 120_000
"""Time after the last record in which timers fire; then the input ends."""

BUCKET_MS = 5_000
IDLE_MS = 1_000
MOST_LATE_MS = 900_000
"""Timers by processing time may be as late as a batch with pauses takes, but not by the step of a clock."""

RECORD = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
"""(event time, key, id)."""

Record = tuple[int, int, int]


@dataclass
class World:
    """What happens outside of the job.

    Attributes:
        now_ms: The true time since the seed began.
        splits: The records of each split, in order of their time, by source and split.
    """

    now_ms: int = 0
    splits: dict[str, dict[str, list[Record]]] = field(default_factory=dict)
    delays_ms: dict[str, int] = field(default_factory=dict)

    @property
    def end_ms(self) -> int:
        """The time at which all input has arrived."""
        return SPAN_MS + TAIL_MS


WORLD = World()


def make_world(chance: random.Random) -> World:
    """Return records for two sources; splits have quiet times, a few keys have most of the records."""
    world, number = World(), 0
    for source in ("a", "b"):
        world.splits[source] = {}
        for split in range(chance.choice([1, 2, 3])):
            records, at = [], 0
            pace = chance.choice([100, 300, 1_000])
            delay_ms = world.delays_ms[f"{source}{split}"] = chance.choice([0, 0, 600])
            while (at := at + 1 + int(chance.uniform(0, 300) if delay_ms else chance.expovariate(1 / pace))) < SPAN_MS:
                if not delay_ms and chance.random() < 0.02:
                    at += chance.choice([IDLE_MS // 2, 3 * IDLE_MS, 10 * IDLE_MS])
                key = chance.choice([chance.randrange(4), chance.randrange(KEYS)])
                number += 1
                records.append((at, key, number))
            world.splits[source][f"{source}{split}"] = records
    return world


class Arrivals(Source):
    """Reads what has arrived by now; ends after the tail."""

    grows_to_end = True
    discovery_interval_ms = 50

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def discover_splits(self) -> Sequence[SourceSplit]:
        found = []
        for split, records in WORLD.splits[self.name].items():
            is_over = WORLD.now_ms >= WORLD.end_ms
            latest = WORLD.now_ms - WORLD.delays_ms[split]
            end = len(records) if is_over else sum(1 for at, _, _ in records if at <= latest)
            # One position after the last record is reached when the input ends.
            found.append(SourceSplit(split, end + is_over, final_end=len(records) + 1))
        return found

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[Record]:
        return WORLD.splits[self.name][split_id][start:end]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


def bucket_end(at: int) -> int:
    return (at // BUCKET_MS + 1) * BUCKET_MS


class AllState(KeyedProcessFunction):
    """Uses each kind of state and of timers; what it emits does not depend on the order of splits."""

    def open(self, runtime_context: Any) -> None:
        self.ids = runtime_context.get_list_state(ListStateDescriptor("ids", Types.PICKLED_BYTE_ARRAY()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))
        self.pending = runtime_context.get_map_state(MapStateDescriptor("pending", Types.LONG(), Types.LONG()))
        self.open_buckets = runtime_context.get_state(ValueStateDescriptor("open", Types.LONG()))
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        at, key, number = value
        timers, end = ctx.timer_service(), bucket_end(at)
        if at <= timers.current_watermark():
            yield f"late {number}"
        if self.seen.value() is None:
            self.seen.update(True)
            yield f"first {key}"
        self.ids.add((at, number))
        if self.counts.get(end) is None:
            self.open_buckets.update((self.open_buckets.value() or 0) + 1)
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        timers.register_event_time_timer(end)
        # Timers that are deleted: at once, and when the one of the bucket fires.
        timers.register_event_time_timer(end + 7)
        timers.delete_event_time_timer(end + 7)
        timers.register_event_time_timer(end + 11)
        if number % 4 == 0:
            due = timers.current_processing_time() + 1 + number % 20_000
            self.pending.put(number, due)
            timers.register_processing_time_timer(due)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        key, timers = ctx.get_current_key(), ctx.timer_service()
        due = [number for number, at in self.pending.items() if at == timestamp]
        if due:
            late_ms = timers.current_processing_time() - timestamp
            for number in due:
                self.pending.remove(number)
                yield f"timer {number}" if late_ms <= MOST_LATE_MS else f"timer {number} is {late_ms} ms late"
            return
        if timestamp % BUCKET_MS:
            yield f"deleted timer {key} {timestamp}"
            return
        ids = list(self.ids.get())
        before = sorted(number for at, number in ids if at < timestamp)
        yield f"bucket {key} {timestamp} {self.counts.get(timestamp)} {before}"
        self.ids.update([entry for entry in ids if entry[0] >= timestamp])
        self.counts.remove(timestamp)
        left = self.open_buckets.value() - 1
        if left != len(list(self.counts.keys())):
            yield f"open {key} {timestamp} {left}"
        self.open_buckets.update(left) if left else self.open_buckets.clear()
        timers.delete_event_time_timer(timestamp + 11)


class Contents(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        yield f"window {key} {context.window().start} {sorted(number for _, _, number in elements)}"

    def clear(self, context: Any) -> None:
        pass


def job_graph(parallelism: int, options: dict[str, str]) -> JobGraph:
    """Return the job: two regions, each with a source of several splits."""
    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    strategy = strategy.with_idleness(Duration.of_millis(IDLE_MS))
    for name in ("a", "b"):
        records = env.from_source(Arrivals(name), strategy, name, RECORD).uid(f"source {name}")
        keyed = records.key_by(lambda record: record[1], Types.LONG())
        keyed.process(AllState(), Types.STRING()).uid(f"state {name}").print(name)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(BUCKET_MS)))
        windows.process(Contents(), Types.STRING()).uid(f"windows {name}").print(name)
    graph = env.get_stream_graph().get_job_graph()
    graph.configuration = {**configuration.to_dict(), **graph.configuration}
    return graph


def expected(world: World) -> Counter[str]:
    """Return the lines of the job, by a model without failures."""
    lines: Counter[str] = Counter()
    for source, splits in world.splits.items():
        buckets: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for records in splits.values():
            for at, key, number in records:
                buckets[key, bucket_end(at)].append(number)
                if number % 4 == 0:
                    lines[f"{source}> timer {number}"] += 1
        for (key, end), numbers in buckets.items():
            lines[f"{source}> bucket {key} {end} {len(numbers)} {sorted(numbers)}"] += 1
            lines[f"{source}> window {key} {end - BUCKET_MS} {sorted(numbers)}"] += 1
        for key in {key for key, _ in buckets}:
            lines[f"{source}> first {key}"] += 1
    return lines
