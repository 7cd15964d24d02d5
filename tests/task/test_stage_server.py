"""Duplicate, late and misdirected requests to a slot."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.exchange.buffers import decode
from firesteel.task import stage_server
from firesteel.task.batch_plan import BatchPlan, StageReport
from firesteel.task.protocol import REPORT_GATE, Row, StageRequest
from firesteel.task.slot_tasks import SlotTasks
from firesteel.task.stage_server import StageServer, StaleRequestError
from firesteel.task.version_store import VersionStore, claim_run
from firesteel.task.versions import BatchTry, Chain, TryIsOverError

CALLS: list[int] = []


class Slot:
    """One slot of a job with two stages; `server` is replaced when its process dies."""

    def __init__(self, directory: Path) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        source = NumberSequenceSource(1, 40)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        numbers.map(_counted, Types.LONG()).rebalance().print()
        job_graph = env.get_stream_graph().get_job_graph()
        self._enumerator = SplitEnumerator(job_graph, job_graph.configuration, 10)
        self._job = cloudpickle.dumps(job_graph)
        self.directory = directory
        self.run = claim_run(directory)
        self.parents: dict[int, Chain] = {}
        self.plan = self._enumerator.plan(0)
        self.start_process()

    def start_process(self) -> None:
        self.server = StageServer("tasks", self._open)

    def _open(self, request: StageRequest) -> SlotTasks:
        return SlotTasks(self._job, {}, 0, 0, VersionStore(Path(request.checkpoint), 0))

    def request(self, at: BatchTry, stage: int = 0, deployment: str = "tasks") -> StageRequest:
        plan = pickle.dumps(self.plan if stage == 0 else BatchPlan(ended=self.plan.ended))
        parent = self.parents.get(stage, ())
        return StageRequest(stage, at, str(self.directory), plan, deployment, parent)

    def ask(self, at: BatchTry, stage: int = 0, rows: Iterator[tuple[int, int, bytes]] | None = None) -> list[Row]:
        return list(self.server.serve(self.request(at, stage), rows or iter(())))

    def accept(self, rows: list[Row]) -> None:
        """Do as the coordinator does when the batch has ended."""
        report = report_in(rows)
        self.parents[report.stage] = report.chain
        self.plan = self._enumerator.plan(0)


def _counted(value: int) -> int:
    CALLS.append(value)
    return value


def report_in(rows: list[Row]) -> StageReport:
    return next(decode(row[3])[0][0][0] for row in rows if row[2] == REPORT_GATE)  # type: ignore[index]


@pytest.fixture
def slot(tmp_path: Path) -> Slot:
    CALLS.clear()
    return Slot(tmp_path)


def test_a_second_copy_of_a_task_gets_the_same_buffers_without_user_code(slot: Slot) -> None:
    first = slot.ask(BatchTry(slot.run, 0))
    calls = list(CALLS)
    again = slot.ask(BatchTry(slot.run, 0))
    assert (again, CALLS) == (first, calls)
    slot.accept(first)
    assert report_in(slot.ask(BatchTry(slot.run, 1))).chain[:1] == report_in(first).chain


def test_a_recorded_answer_may_be_larger_than_memory(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_server, "_RECORD_BYTES", 10)
    first = slot.ask(BatchTry(slot.run, 0))
    assert slot.ask(BatchTry(slot.run, 0)) == first


def test_the_rows_of_a_second_copy_are_read_to_their_end(slot: Slot) -> None:
    """Whoever sends them would block otherwise."""
    first = slot.ask(BatchTry(slot.run, 0))
    rows = [(source, gate, payload) for _, source, gate, payload in first if gate >= 0]
    second = slot.ask(BatchTry(slot.run, 0), stage=1, rows=iter(rows))
    waiting = iter(rows)
    assert slot.ask(BatchTry(slot.run, 0), stage=1, rows=waiting) == second
    assert list(waiting) == []


def test_an_interrupted_stage_starts_again_from_its_parent_version(slot: Slot) -> None:
    first = slot.server.serve(slot.request(BatchTry(slot.run, 0)), iter(()))
    next(first)
    first.close()
    calls = list(CALLS)
    slot.ask(BatchTry(slot.run, 0))
    assert calls == list(range(1, 11))
    assert [*calls, *range(1, 11)] == CALLS


@pytest.mark.parametrize("late", [BatchTry(1, 0), BatchTry(1, 1, 1), BatchTry(0, 5)])
def test_requests_older_than_the_newest_one_are_refused(slot: Slot, late: BatchTry) -> None:
    slot.accept(slot.ask(BatchTry(1, 0)))
    slot.ask(BatchTry(1, 1, 2))
    before = sorted(slot.directory.rglob("*"))
    with pytest.raises(StaleRequestError):
        slot.ask(late)
    assert sorted(slot.directory.rglob("*")) == before


def test_requests_for_other_tasks_are_refused_even_by_a_new_process(slot: Slot) -> None:
    with pytest.raises(StaleRequestError, match="the request is for tasks of before, the slot is at tasks tasks"):
        list(slot.server.serve(slot.request(BatchTry(1, 0), deployment="of before"), iter(())))
    assert CALLS == []


def test_an_attempt_ends_with_its_process(slot: Slot) -> None:
    """Its buffers may have been consumed, and the same ones can't be made again."""
    slot.ask(BatchTry(slot.run, 0))
    slot.start_process()
    calls = list(CALLS)
    with pytest.raises(TryIsOverError):
        slot.ask(BatchTry(slot.run, 0))
    assert calls == CALLS
    slot.accept(slot.ask(BatchTry(slot.run, 0, 2)))
    assert [file.path.rpartition("/")[2] for file in slot.parents[0]] == ["0-2.full"]


def test_a_new_try_starts_from_the_version_that_was_accepted(slot: Slot) -> None:
    slot.accept(slot.ask(BatchTry(slot.run, 0)))
    first = slot.ask(BatchTry(slot.run, 1))
    second = slot.ask(BatchTry(slot.run, 1, 2))
    assert CALLS[10:] == [*range(11, 21)] * 2
    assert [row for row in first if row[2] >= 0] == [row for row in second if row[2] >= 0]
    assert report_in(first).chain != report_in(second).chain


def test_the_next_batch_starts_from_the_copy_that_was_accepted(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zombie in another process has written another version of the batch before."""
    slot.accept(slot.ask(BatchTry(slot.run, 0)))
    zombie = StageServer("tasks", slot._open)
    list(zombie.serve(slot.request(BatchTry(slot.run, 1, 1)), iter(())))
    slot.accept(slot.ask(BatchTry(slot.run, 1, 2)))
    slot.start_process()
    read: list[Chain] = []
    real = VersionStore.read
    monkeypatch.setattr(VersionStore, "read", lambda store, chain: read.append(chain) or real(store, chain))
    slot.ask(BatchTry(slot.run, 2))
    assert [[file.path.rpartition("/")[2] for file in chain] for chain in read] == [["0-1.full", "1-2.delta"]]
