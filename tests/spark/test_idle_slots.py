"""A batch skips exactly the slots that have nothing to do, and tells each of the others only what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from firesteel.spark.idle_slots import IdleSlots
from firesteel.spark.lanes import Lanes
from firesteel.spark.shim import Stage
from firesteel.task.batch_plan import BatchPlan, StageReport
from firesteel.task.protocol import Row, StageRequest
from firesteel.task.stage_plan import StagePlan
from firesteel.task.versions import BatchTry, VersionFile
from firesteel.testing.manual_clock import ManualClock
from tests.simulation.data_plane.job import job, job_graph_of

BATCH = BatchPlan(is_checkpoint=False)
CHAIN = (VersionFile("versions-1/0/0/1-1.full", 10, {}),)


def iter_nothing(requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
    return iter(())


@pytest.fixture
def plan(tmp_path: Path) -> StagePlan:
    return StagePlan(job_graph_of(job(str(tmp_path))))


def reports(plan: StagePlan, next_time: int | None = None) -> list[StageReport]:
    return [
        StageReport(stage, slot, [], ["commit this"], next_time, CHAIN, 1)
        for stage in range(plan.levels)
        for slot in range(plan.slots)
    ]


def ended(plan: StagePlan, next_time: int | None = None) -> IdleSlots:
    idle = IdleSlots(plan)
    idle.batch_ended(reports(plan, next_time))
    return idle


def test_the_first_batch_of_a_run_asks_all_slots(plan: StagePlan) -> None:
    assert IdleSlots(plan).only_with_rows(0, BATCH, range(plan.slots)) == frozenset()


def test_an_idle_slot_is_asked_only_if_it_has_rows(plan: StagePlan) -> None:
    assert ended(plan).only_with_rows(0, BATCH, range(plan.slots)) == frozenset(range(plan.slots))


@pytest.mark.parametrize("batch", [BatchPlan(), replace(BATCH, in_full=True)])
def test_a_checkpoint_is_taken_in_all_slots(plan: StagePlan, batch: BatchPlan) -> None:
    assert ended(plan).only_with_rows(0, batch, range(plan.slots)) == frozenset()


def test_a_slot_that_reads_or_ends_is_asked(plan: StagePlan) -> None:
    source = next(vertex for vertex in plan.job_graph.vertices if not vertex.inputs)
    slot = plan.base_of(source) + 1
    others = frozenset(range(plan.slots)) - {slot}
    for batch in (replace(BATCH, ranges={(source.id, 1): []}), replace(BATCH, ended=frozenset({(source.id, 1)}))):
        assert ended(plan).only_with_rows(0, batch, range(plan.slots)) == others


def test_a_slot_with_a_due_timer_is_asked(plan: StagePlan) -> None:
    batch = replace(BATCH, now_ms=1000)
    assert ended(plan, 1000).only_with_rows(0, batch, range(plan.slots)) == frozenset()
    assert ended(plan, 1001).only_with_rows(0, batch, range(plan.slots)) == frozenset(range(plan.slots))


def test_a_batch_without_a_time_is_one_at_processing_time(plan: StagePlan) -> None:
    with ManualClock(1000):
        assert ended(plan, 1000).only_with_rows(0, BATCH, range(plan.slots)) == frozenset()
        assert ended(plan, 1001).only_with_rows(0, BATCH, range(plan.slots)) == frozenset(range(plan.slots))


def test_a_skipped_slot_keeps_its_position_and_commits_nothing(plan: StagePlan) -> None:
    assert ended(plan).report(0, 1, try_number=3) == StageReport(0, 1, [], [], None, CHAIN, 3)


def test_a_slot_that_sends_files_of_a_checkpoint_is_asked(plan: StagePlan) -> None:
    batch = replace(BATCH, to_store={(0, 1): ("versions-1/0/1/0-1.full",)})
    assert ended(plan).only_with_rows(0, batch, range(plan.slots)) == frozenset(range(plan.slots)) - {1}
    assert ended(plan).only_with_rows(1, batch, range(plan.slots)) == frozenset(range(plan.slots))


def test_slots_with_something_of_their_own_get_a_plan_with_just_that(plan: StagePlan) -> None:
    source = plan.job_graph.vertices[0].id
    first, second = plan.slot_of(source, 0), plan.slot_of(source, 1)
    batch = replace(BATCH, ranges={(source, 0): [], (source, 1): []}, ended=frozenset({(source, 1)}))
    batch = replace(batch, to_store={(0, first): ("a",), (1, first): ("b",)}, unstored={(0, first): ("c",)})
    assert batch.of_slots(0, plan.slot_of) == {
        first: replace(BATCH, ranges={(source, 0): []}, to_store={(0, first): ("a",)}, unstored={(0, first): ("c",)}),
        second: replace(BATCH, ranges={(source, 1): []}, ended=frozenset({(source, 1)})),
    }
    assert batch.without_slots() == BATCH


def test_a_stage_asks_each_slot_with_its_own_plan_and_the_others_with_the_common_one() -> None:
    request = StageRequest(0, BatchTry(1, 0), "", b"common")
    stage = Stage(iter_nothing, request, {1: b"own"}, {0: (), 1: CHAIN}, Lanes.one_per_slot(2), (), frozenset({0}))
    assert stage.request_of(0) == replace(request, only_with_rows=True)
    assert stage.request_of(1) == replace(request, plan=b"own", parent=CHAIN)
