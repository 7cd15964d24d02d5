"""Small batches run all their stages in one task of Spark, which gets them through a socket."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from firesteel.common import Configuration
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.spark import small_batches as small_batches_module
from firesteel.spark.lane_jobs import LaneJobs, RunStages
from firesteel.spark.lanes import Lanes
from firesteel.spark.shim import FAILURE_MARK, SlotFailedError, Stage
from firesteel.spark.small_batches import SmallBatchError, SmallBatches, small_batches
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.task.protocol import REPORT_GATE, Row, StageRequest
from firesteel.task.versions import BatchTry
from tests.waiting import wait_for

pytestmark = pytest.mark.spark

GATE_OF_STAGE_1 = 0
SLOTS = (0, 1, 2)


@dataclass(frozen=True)
class Slots:
    """Slots that send what they get to the next slot, with their stage, and report."""

    deed: str = ""

    def __call__(self, requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
        found = list(rows)
        stage = next(iter(requests.values())).stage
        if stage == 1:
            self._do()
        for slot in requests:
            if stage == 0:
                yield (slot + 1) % len(SLOTS), slot, GATE_OF_STAGE_1, b"from %d" % slot
            own = sorted(payload for target, _, _, payload in found if target == slot)
            yield slot, slot, REPORT_GATE, b"%d %d: %s" % (stage, slot, b", ".join(own))

    def _do(self) -> None:
        if self.deed == "fail":
            raise SlotFailedError({"message": "wrong"})
        if self.deed == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.deed == "hang":
            time.sleep(600)


REPORTS = [f"0 {slot}: ".encode() for slot in SLOTS] + [f"1 {slot}: from {(slot - 1) % 3}".encode() for slot in SLOTS]


@pytest.fixture(scope="module")
def context() -> Any:
    return shared_gateway(Configuration().to_dict()).context()


@pytest.fixture
def batches(context: Any) -> Iterator[SmallBatches]:
    with closing(SmallBatches(context, SLOTS)) as made:
        yield made


def stages(batches: RunStages, deed: str = "") -> list[Stage]:
    requests = [StageRequest(stage, BatchTry(1, 0), "", b"") for stage in (0, 1)]
    return [Stage(Slots(deed), request, {}, dict.fromkeys(SLOTS, ()), batches.lanes, (1,)) for request in requests]


def reports(batches: RunStages, deed: str = "") -> list[bytes]:
    return sorted(row[3] for row in batches(stages(batches, deed)))


def test_rows_of_a_stage_go_to_the_slots_of_the_next(batches: SmallBatches) -> None:
    assert [reports(batches) for _ in range(3)] == [REPORTS] * 3


def test_each_batch_is_a_job_of_one_task_in_the_group_of_its_run(batches: SmallBatches, context: Any) -> None:
    context.setJobGroup("small", "small batches")
    for _ in range(3):
        reports(batches)
    tracker = context.statusTracker()
    jobs = tracker.getJobIdsForGroup("small")
    assert len(jobs) == 3
    (stage,) = tracker.getJobInfo(max(jobs)).stageIds
    assert tracker.getStageInfo(stage).numTasks == 1


def test_the_task_of_an_expected_batch_is_started_before_it(batches: SmallBatches, context: Any) -> None:
    context.setJobGroup("expected", "small batches")
    for _ in range(3):
        batches.expect()
        batches.expect()  # It is expected already.
        assert reports(batches) == REPORTS
    assert len(context.statusTracker().getJobIdsForGroup("expected")) == 3


def test_a_task_whose_batch_does_not_come_ends(batches: SmallBatches, context: Any) -> None:
    context.setJobGroup("in vain", "small batches")
    batches.expect()
    expected = batches._expected
    batches.stand_down()
    assert_ends(expected)
    assert reports(batches) == REPORTS
    batches.expect()
    expected = batches._expected
    batches.close()
    assert_ends(expected)


def test_a_task_whose_batch_is_late_ends_and_another_one_runs_the_batch(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_batches_module, "_PATIENCE_S", 0.5)
    with closing(SmallBatches(context, SLOTS)) as batches:
        batches.expect()
        assert_ends(batches._expected)
        assert reports(batches) == REPORTS


@pytest.mark.parametrize("then", ["batch", "stand down"])
def test_an_expected_batch_may_be_cancelled(then: str, batches: SmallBatches, context: Any) -> None:
    context.setJobGroup(f"cancelled {then}", "small batches", interruptOnCancel=True)
    batches.expect()
    expected = batches._expected
    context.cancelJobGroup(f"cancelled {then}")
    assert_ends(expected)
    if then == "stand down":
        batches.stand_down()
    else:
        with suppress(ConnectionError, Py4JError):  # or its task had asked for the batch before it was cancelled
            reports(batches)
    assert reports(batches) == REPORTS


def test_batches_that_follow_each_other_are_expected_and_leave_no_task(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = []
    expect = SmallBatches.expect
    monkeypatch.setattr(SmallBatches, "expect", lambda batches: expected.append(1) or expect(batches))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.buffer-timeout.interval", "10 ms")
    options = "'connector' = 'datagen', 'rows-per-second' = '500', 'number-of-rows' = '500'"
    t_env.execute_sql(f"CREATE TABLE numbers (n INT) WITH ({options})")
    t_env.execute_sql("CREATE TABLE counts (n BIGINT) WITH ('connector' = 'blackhole')")
    t_env.execute_sql("INSERT INTO counts SELECT COUNT(*) FROM numbers").wait()
    assert expected
    wait_for(lambda: not context.statusTracker().getActiveJobsIds())


def assert_ends(job: Any) -> None:
    wait_for(job.isDone)


def test_an_error_of_user_code_carries_its_failure(batches: SmallBatches) -> None:
    with pytest.raises(SmallBatchError, match=FAILURE_MARK):
        reports(batches, "fail")
    assert reports(batches) == REPORTS


def test_a_killed_worker_is_a_lost_connection(batches: SmallBatches) -> None:
    with pytest.raises(ConnectionError, match=r"before its answer was complete: .*Python worker exited unexpectedly"):
        reports(batches, "die")
    assert reports(batches) == REPORTS


def test_a_cancelled_job_ends_its_batch(batches: SmallBatches, context: Any) -> None:
    context.setJobGroup("to be cancelled", "small batches", interruptOnCancel=True)
    timer = threading.Timer(1.0, context.cancelJobGroup, ["to be cancelled"])
    timer.start()
    with pytest.raises(ConnectionError, match="cancelled"):
        reports(batches, "hang")
    timer.join()
    assert reports(batches) == REPORTS


def test_tasks_that_wait_for_a_batch_end_when_it_is_closed(context: Any) -> None:
    batches = SmallBatches(context, SLOTS)
    waiting = batches._tasks.collectAsync()
    assert reports(batches) == REPORTS  # One of the two tasks runs the batch.
    batches.close()
    assert_ends(waiting)


def test_a_jvm_that_is_gone_leaves_no_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("gone")  # a socket is below it, whose path must not be long
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(AttributeError):
        SmallBatches(None, [0])
    assert list(tmp_path.rglob("firesteel-tmp-*")) == []


ADDRESSES = dict.fromkeys(SLOTS, "slot:///tmp/0")


@pytest.mark.parametrize(("hosts", "tasks"), [("111", [1]), ("112", [2, 2])])
def test_without_a_socket_each_executor_has_one_task_and_all_slots_in_one_need_no_exchange(
    hosts: str, tasks: list[int], context: Any
) -> None:
    addresses = {slot: f"slot://10.0.0.{host}:77/tmp/{slot}" for slot, host in enumerate(hosts)}
    batches = LaneJobs(context, Lanes.of(addresses, cores=1), fuses=True)
    context.setJobGroup(hosts, "small batches")
    assert reports(batches) == REPORTS
    tracker = context.statusTracker()
    (job,) = tracker.getJobIdsForGroup(hosts)
    assert [tracker.getStageInfo(stage).numTasks for stage in tracker.getJobInfo(job).stageIds] == tasks


def test_a_path_too_long_for_a_socket_leaves_batches_to_lanes(
    context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    with small_batches(context, ADDRESSES) as found:
        assert reports(found) == REPORTS
    assert "AF_UNIX path too long" in caplog.text
    monkeypatch.undo()
    with small_batches(context, ADDRESSES) as found:
        assert isinstance(found, SmallBatches)
