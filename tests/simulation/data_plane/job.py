"""The simulated job, whose output shows whether a record was lost, duplicated or taken from two executions.

The first function is not deterministic: each time it sees a number it sends it to another key. So if some consumers
take what one execution put out, and others what another one did, numbers are lost or doubled. The second one counts per
key.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import cloudpickle

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.graph.job_graph import JobGraph

NUMBERS = 24
PARALLELISM = 2
KEYS = 3

SEEN: Counter[int] = Counter()
"""How often each number was seen, over all executions: what the first function depends on."""

JOB_ID = "0" * 32

OUTPUT = "output"
"""Where it writes, below the working directory."""


def to_any_key(number: int) -> tuple[int, int]:
    SEEN[number] += 1
    return (number + SEEN[number]) % KEYS, number


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value[1]} {value[0]} {count}"


@cache
def job(sink: str) -> bytes:
    """Return the pickled job with a sink that is `rolling`, `whole` or `compacting`; it writes to `OUTPUT`."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(PARALLELISM)
    source = NumberSequenceSource(0, NUMBERS - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    pairs = numbers.map(to_any_key, Types.TUPLE([Types.LONG(), Types.LONG()]))
    lines = pairs.key_by(lambda pair: pair[0], Types.LONG()).process(Count(), Types.STRING())
    builder = FileSink.for_row_format(OUTPUT, Encoder.simple_string_encoder())
    builder = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    if sink != "whole":
        builder = builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=20))
    if sink == "compacting":
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
        builder = builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    lines.sink_to(builder.build()).uid("sink")
    job_graph = env.get_stream_graph().get_job_graph()
    job_graph.job_id = JOB_ID
    return cloudpickle.dumps(job_graph)  # type: ignore[no-any-return]


def with_options(data: bytes, options: dict[str, str]) -> bytes:
    """Return a pickled job with further options."""
    job_graph = job_graph_of(data)
    job_graph.configuration.update(options)
    return cloudpickle.dumps(job_graph)  # type: ignore[no-any-return]


def with_parallelism(data: bytes, parallelism: int) -> bytes:
    """Return a pickled job with another parallelism."""
    job_graph = job_graph_of(data)
    for vertex in job_graph.vertices:
        vertex.parallelism = parallelism
    return cloudpickle.dumps(job_graph)  # type: ignore[no-any-return]


def job_graph_of(data: bytes) -> JobGraph:
    """Return a job graph of one's own."""
    job_graph: JobGraph = cloudpickle.loads(data)
    return job_graph


def wrong_with(directory: Path) -> list[str]:
    """Say what is wrong with what a job that is over has committed."""
    lines = [line.split() for path in directory.glob("[!.]*") for line in path.read_text().splitlines()]
    numbers = Counter(int(number) for number, _, _ in lines)
    wrong = []
    if lost := sorted(set(range(NUMBERS)) - set(numbers)):
        wrong.append(f"lost: {lost}")
    if doubled := sorted(number for number, times in numbers.items() if times > 1):
        wrong.append(f"doubled: {doubled}")
    for key in range(KEYS):
        counts = sorted(int(count) for _, of_key, count in lines if int(of_key) == key)
        if counts != list(range(1, len(counts) + 1)):
            wrong.append(f"key {key} was counted {counts}")
    return wrong
