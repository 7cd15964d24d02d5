"""Metrics, spans and events reach a receiver of OpenTelemetry's protocol, and wrong reporters are refused by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.options.option import InvalidOptionError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.rest.job_telemetry import Event, JobTelemetry, Span
from firesteel.rest.metric_reporters import reporters_of
from firesteel.rest.telemetry_reporters import EVENTS, TRACES, telemetry_of
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.job_activity import BatchStats, JobActivityListener
from tests.rest.otlp import Receiver, plain
from tests.rest.rest_cluster import Rest
from tests.rest.test_server import running

METRICS = "org.apache.flink.metrics.otel.OpenTelemetryMetricReporterFactory"
JOB = "1" * 32


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def options(kind: str, factory: str, **given: str) -> dict[str, str]:
    names = {key.replace("_", "."): value for key, value in given.items()}
    return {f"{kind}.reporter.otel.{key}": value for key, value in {"factory.class": factory, **names}.items()}


@pytest.mark.parametrize("protocol", ["gRPC", "http"])
async def test_metrics_are_exported_with_flinks_names(
    make_rest: Callable[..., Any], receiver: Receiver, protocol: str
) -> None:
    endpoint = receiver.grpc if protocol == "gRPC" else f"{receiver.http}/v1/metrics"
    given = {"exporter_endpoint": endpoint, "exporter_protocol": protocol, "exporter_compression": "gzip"}
    named = {"interval": "50 ms", "service_name": "streams", "service_version": "7"}
    rest: Rest = await make_rest(**options("metrics", METRICS, **given, **named))
    job_id = await running(rest)
    async with asyncio.timeout(20):
        while "flink.jobmanager.job.numRestarts" not in receiver.metrics:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (point,) = receiver.metrics["flink.jobmanager.job.numRestarts"].gauge.data_points
    assert plain(point.attributes) == {"job_id": job_id, "job_name": "job"}
    assert point.as_double == 0
    assert receiver.metrics["flink.jobmanager.numRegisteredTaskManagers"].gauge.data_points[0].as_double == 1
    assert "flink.taskmanager.Status.JVM.CPU.Time" in receiver.metrics
    assert (receiver.resource["service.name"], receiver.resource["service.version"]) == ("streams", "7")
    assert protocol == "gRPC" or receiver.encodings == {"gzip"}
    await rest.get("/overview")  # counts in a histogram
    async with asyncio.timeout(20):
        while not any(one.count for one in latencies(receiver)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (found,) = [one for one in latencies(receiver) if one.count]
    assert plain(found.attributes) == {"method": "GET", "route": "/overview"}
    assert sum(found.bucket_counts) == found.count == 1
    assert len(found.bucket_counts) == len(found.explicit_bounds) + 1


def latencies(receiver: Receiver) -> Any:
    return receiver.metrics["flink_jobmanager_rest_latency_seconds"].histogram.data_points


def events_of_a_job(listener: JobTelemetry) -> None:
    """A job starts from a checkpoint, takes one, fails, recovers, and is cancelled."""
    listener.job_named(JOB, "words")
    cause = TaskFailure("ValueError: bad", vertex_id="v")
    listener.job_status_changed(JOB, JobEvent(JobStatus.RUNNING, 1000))
    listener.checkpoint_restored(JOB, RestoredCheckpoint(4, True, "/s", 1100))
    listener.batch_ended(JOB, BatchStats(0, 0, 1200, 50, True, 1))
    listener.checkpoint_completed(JOB, CheckpointStats(5, False, 1200, 60, "/c", {"o": {0: 10}}, {"o": {0: 30}}))
    listener.checkpoints_failed(JOB, 1)
    listener.job_status_changed(JOB, JobEvent(JobStatus.RESTARTING, 2000, cause))
    listener.job_status_changed(JOB, JobEvent(JobStatus.RUNNING, 2500))
    listener.batch_ended(JOB, BatchStats(0, 1, 2600, 100, False, 2))
    listener.job_status_changed(JOB, JobEvent(JobStatus.CANCELED, 3000))


class Kept(list[Any]):
    def add(self, one: Span | Event) -> None:
        self.append(one)


def test_spans_and_events_of_a_job_have_flinks_names_and_attributes() -> None:
    spans, events = Kept(), Kept()
    telemetry = JobTelemetry(lambda: 1500, [spans], [events])
    assert isinstance(telemetry, JobActivityListener)
    events_of_a_job(telemetry)
    assert [(one.name, one.begin_ms, one.end_ms) for one in spans] == [
        ("Batch", 1200, 1250),
        ("JobInitialization", 1000, 1250),
        ("Checkpoint", 1200, 1260),
        ("Batch", 2600, 2700),
        ("JobInitialization", 2500, 2700),
        ("Recovery", 2000, 2700),
    ]
    labels = {"job_id": JOB, "job_name": "words"}
    assert spans[1].attributes == labels | {"initializationStatus": "COMPLETED", "checkpointId": 4}
    completed = {"checkpointId": 5, "fullSize": 30, "checkpointedSize": 10, "checkpointStatus": "COMPLETED"}
    assert spans[2].attributes == labels | completed | {"isUnaligned": "false", "checkpointType": "Checkpoint"}
    assert spans[4].attributes == labels | {"initializationStatus": "COMPLETED"}
    assert spans[5].attributes == labels | {"cause": "ValueError: bad"}
    assert [one.name for one in events] == [
        "JobStatusChangeEvent",
        "AllSubtasksStatusChangeEvent",
        "CheckpointEvent",
        "CheckpointEvent",
        "JobStatusChangeEvent",
        "AllSubtasksStatusChangeEvent",
        "JobFailureEvent",
        "JobStatusChangeEvent",
        "AllSubtasksStatusChangeEvent",
        "JobStatusChangeEvent",
        "AllSubtasksStatusChangeEvent",
    ]
    run, not_all = "ALL_RUNNING_OR_FINISHED", "NOT_ALL_RUNNING_OR_FINISHED"
    assert [one.attributes["status"] for one in events if "status" in one.attributes] == [run, not_all, run, not_all]
    assert events[2].attributes == spans[2].attributes
    assert events[3].attributes == labels | {"checkpointStatus": "FAILED"}
    assert events[6].attributes == labels | {"canRestart": "true", "isGlobalFailure": "false"}
    telemetry.batch_ended(JOB, BatchStats(0, 2, 3000, 1, False, 1))  # late, after the end


@pytest.mark.parametrize("protocol", ["grpc", "HTTP"])
async def test_spans_and_events_are_exported(receiver: Receiver, protocol: str) -> None:
    def endpoint(signal: str) -> dict[str, str]:
        url = receiver.grpc if protocol == "grpc" else f"{receiver.http}/v1/{signal}"
        return {"exporter_endpoint": url, "exporter_protocol": protocol}

    telemetry = telemetry_of(
        options(
            "traces", TRACES, **endpoint("traces"), filter_excludes="*:Batch", scope_variables_additional="team:red"
        )
        | options("events", EVENTS, **endpoint("logs"), filter_includes="jobmanager.*:JobStatus*,JobFailure*")
    )
    assert telemetry is not None
    events_of_a_job(telemetry.listener)
    await telemetry.stop()
    names = [span.name for span in receiver.spans]
    assert sorted(names) == ["Checkpoint", "JobInitialization", "JobInitialization", "Recovery"]
    checkpoint = receiver.spans[names.index("Checkpoint")]
    assert (checkpoint.start_time_unix_nano, checkpoint.end_time_unix_nano) == (1_200_000_000, 1_260_000_000)
    assert plain(checkpoint.attributes)["checkpointedSize"] == 10
    assert plain(checkpoint.attributes)["team"] == "red"
    assert receiver.scopes[names.index("Checkpoint")].endswith(".CheckpointStatsTracker")
    found = [plain(log.attributes) for log in receiver.logs]
    assert [one["newJobStatus"] for one in found if one["name"] == "JobStatusChangeEvent"] == [
        "RUNNING",
        "RESTARTING",
        "RUNNING",
        "CANCELED",
    ]
    assert len(found) == 5
    assert receiver.logs[0].severity_text == "INFO"
    assert receiver.logs[0].time_unix_nano == 1_000_000_000


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            options("traces", "com.example.Own"),
            r"traces\.reporter\.otel\.factory\.class' is 'com.example.Own'; allowed",
        ),
        (options("events", TRACES), r"events\.reporter\.otel\.factory\.class' is .*; allowed: .*OpenTelemetryEvent"),
        (options("traces", TRACES.replace("otel.OpenTelemetry", "slf4j.Slf4j")), "the log has the same"),
        ({"traces.reporters": "x"}, r"traces\.reporter\.x\.factory\.class' is ''"),
        (options("traces", TRACES), r"exporter\.endpoint' is '', expected such as"),
        (options("traces", TRACES, exporter_endpoint="collector:4317"), "is 'collector:4317', expected such as"),
        (options("traces", TRACES, exporter_endpoint="http://h:1", exporter_protocol="udp"), "expected grpc or http"),
        (options("events", EVENTS, exporter_endpoint="http://h:1", exporter_timeout="soon"), r"exporter\.timeout'"),
        (
            options("events", EVENTS, exporter_endpoint="http://h:1", batch_size="5"),
            r"batch\.size' is not known; allow",
        ),
        (
            options("traces", TRACES, exporter_endpoint="http://h:1", scope_variables_additional="red"),
            "has 'red', expected such as team:red",
        ),
    ],
)
def test_wrong_reporters_are_refused_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidOptionError, match=problem):
        telemetry_of(given)


def test_a_metric_reporter_needs_an_endpoint_and_no_other_options() -> None:
    with pytest.raises(InvalidOptionError, match=r"metrics\.reporter\.otel\.exporter\.endpoint' is ''"):
        reporters_of(options("metrics", METRICS))
    with pytest.raises(InvalidOptionError, match=r"batch\.size' is not known"):
        reporters_of(options("metrics", METRICS, exporter_endpoint="http://h:1", batch_size="5"))


def test_no_reporters_no_listener() -> None:
    assert telemetry_of({"metrics.reporters": "x"}) is None


@pytest.mark.spark
def test_a_program_in_its_own_process_reports_its_metrics_checkpoints_and_recovery(
    receiver: Receiver, tmp_path: Path
) -> None:
    telemetry = (
        options("metrics", METRICS, exporter_endpoint=receiver.grpc, interval="100 ms")
        | options("traces", TRACES, exporter_endpoint=receiver.grpc)
        | options("events", EVENTS, exporter_endpoint=receiver.grpc)
    )
    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
    every = {"execution.checkpointing.interval": "50 ms", "execution.checkpointing.dir": str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(telemetry | restarts | every))
    env.set_parallelism(1)
    marker = tmp_path / "failed"

    def slowly(number: int) -> int:
        time.sleep(0.02)
        if number == 60 and not marker.exists():
            marker.touch()
            raise ValueError("once")
        return number

    numbers = env.from_source(NumberSequenceSource(0, 119), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.map(slowly, Types.LONG()).name("slowly").add_sink(lambda number: None)
    job_id = str(env.execute("reported").get_job_id())
    names = {span.name for span in receiver.spans}
    assert names == {"Checkpoint", "JobInitialization", "Recovery", "Batch"}
    (recovery,) = [span for span in receiver.spans if span.name == "Recovery"]
    assert plain(recovery.attributes) == {"job_id": job_id, "job_name": "reported", "cause": "ValueError: once"}
    checkpoints = [plain(span.attributes)["checkpointId"] for span in receiver.spans if span.name == "Checkpoint"]
    assert sorted(checkpoints) == list(range(1, len(checkpoints) + 1))
    events = [plain(log.attributes) for log in receiver.logs]
    statuses = [one["newJobStatus"] for one in events if one["name"] == "JobStatusChangeEvent"]
    assert statuses[-3:] == ["RESTARTING", "RUNNING", "FINISHED"]
    assert [one["canRestart"] for one in events if one["name"] == "JobFailureEvent"] == ["true"]
    assert "flink.jobmanager.job.numRestarts" in receiver.metrics
