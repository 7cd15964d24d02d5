"""The time of batches by part."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from firesteel.client.job_client import EmbeddedJobClient
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.runtime.executiongraph.batch_times import PARTS
from firesteel.spark.batch_parts import BatchParts
from firesteel.task.batch_plan import StageReport, SubtaskReport


def report(stage: int, slot: int, busy_ms: float, read_ms: float = 0, state_s: float = 0.0) -> StageReport:
    metrics = {"accumulateBusyTimeMs": busy_ms, "accumulateReadTimeMs": read_ms}
    subtask = SubtaskReport(f"v{stage}", slot, 0, 0, False, metrics=metrics)
    return StageReport(stage, slot, [subtask], [], None, (), 1, state_s=state_s)


def test_a_batch_has_the_parts_of_the_slowest_slots_and_the_rest_is_exchange() -> None:
    times = iter([0.0, 1.0, 1.5, 4.5, 5.0, 10.0, 10.0, 10.5, 10.5])
    parts = BatchParts(lambda: next(times))
    parts.begin()
    parts.planned()
    parts.processed()
    first = parts.ended([report(0, 0, 400, 100), report(0, 1, 300, 300), report(1, 0, 500, 0, 0.5), report(1, 1, 900)])
    assert first.batches == 1
    assert first.seconds == pytest.approx(
        {"plan": 0.5, "read": 0.1, "operators": 0.8, "state": 0.5, "exchange": 1.6, "commit": 0.5}
    )
    parts.begin()
    parts.planned()
    parts.processed()
    second = parts.ended([report(0, 0, 450, 140), report(0, 1, 20, 5)])
    assert second.seconds == pytest.approx(
        {"plan": 0, "read": 0.04, "operators": 0.01, "state": 0, "exchange": 0.45, "commit": 0}
    ), "totals of a subtask that was created anew begin at 0"
    assert (first + second).batches == 2
    assert list((first + second).seconds) == list(PARTS)
    assert (first + second).busy_s == pytest.approx(1.45)


@pytest.mark.spark
def test_a_job_tells_its_backlog_and_where_its_time_goes(tmp_path: Path) -> None:
    size = (tmp_path / "in").write_text("".join(f"{number}\n" for number in range(20_000)))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "in")).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines", Types.STRING())
    numbers = lines.map(slowly, Types.LONG()).key_by(lambda number: number % 10, Types.LONG())
    numbers.reduce(lambda a, b: a + b).filter(lambda _: False).print()
    client = EmbeddedJobClient(env.get_stream_graph().get_job_graph())
    job_id, seen = str(client.get_job_id()), []
    while not seen or not seen[-1].status.is_globally_terminal:
        seen.append(client._cluster.ask(lambda dispatcher: dispatcher.request_job_details(job_id)).result())
        time.sleep(0.05)
    of_source = [details.vertices[0] for details in seen if details.vertices[0].pending_bytes is not None]
    left = [vertex.pending_bytes for vertex in of_source]
    assert 0 < left[0] < size
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert [vertex.share_read for vertex in of_source] == [pytest.approx(1 - one / size) for one in left]
    assert seen[-1].vertices[1].pending_bytes is None
    batches = seen[-1].batches
    assert batches.batches > 1
    assert all(batches.seconds[part] > 0 for part in PARTS), "no part is always zero"
    assert batches.seconds["operators"] > 1, "each of two subtasks sleeps for a second"


def slowly(line: str) -> int:
    time.sleep(0.0001)
    return int(line)
