"""The slots of a TaskExecutor (scenarios L)."""

from __future__ import annotations

import pytest

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotStatus
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.taskexecutor.task_executor_gateway import (
    SlotAllocationError,
    SlotNotActiveError,
    SlotNotFoundError,
    SlotOccupiedError,
)
from firesteel.runtime.taskexecutor.task_slot_table import TaskSlotState, TaskSlotTable


def test_an_allocated_slot_is_allocated_again_to_the_same_job_only() -> None:  # L02
    table = TaskSlotTable(1)
    assert table.allocate(0, "job", "a") is True
    assert table.allocate(0, "job", "a") is False
    with pytest.raises(SlotOccupiedError, match=r"slot 0 is occupied by job job \(allocation a\)") as error:
        table.allocate(0, "other", "b")
    assert error.value.occupied_by == SlotStatus(0, "job", "a")
    with pytest.raises(SlotAllocationError, match="slot 1 does not exist; there are 1"):
        table.allocate(1, "job", "c")


def test_the_report_lists_every_slot() -> None:  # L13
    table = TaskSlotTable(2)
    table.allocate(1, "job", "a")
    assert table.report() == SlotReport((SlotStatus(0), SlotStatus(1, "job", "a")))


def test_slots_share_the_resources_and_more_is_refused() -> None:  # L12 L13
    table = TaskSlotTable(3, ResourceProfile(cpu_cores=3))
    third, two = ResourceProfile(cpu_cores=1), ResourceProfile(cpu_cores=2)
    assert table.allocate(0, "job", "a", two)
    assert table.report().slots[:2] == (SlotStatus(0, "job", "a", two), SlotStatus(1, None, None, third))
    with pytest.raises(SlotAllocationError, match=r"slot 1 can't have {cpu_cores=2}: {cpu_cores=1} is left of"):
        table.allocate(1, "job", "b", two)
    assert table.allocate(1, "job", "b")
    with pytest.raises(SlotAllocationError, match=r"slot 2 can't have {cpu_cores=1}: {} is left"):
        table.allocate(2, "job", "c")
    slot = table.get("a")
    assert slot is not None
    table.free(slot)
    assert table.allocate(0, "job", "d", two)


@pytest.mark.parametrize("cpu_cores", [0.1, 0.5, 1, 2, 1 / 3])
@pytest.mark.parametrize("slots", [1, 3, 7, 10])
def test_all_slots_fit_into_the_total_resources(slots: int, cpu_cores: float) -> None:  # L12
    table = TaskSlotTable(slots, ResourceProfile(cpu_cores=cpu_cores, extended=(("gpu", 1),)))
    assert all(table.allocate(index, "job", f"a{index}") for index in range(slots))


def test_an_active_slot_has_no_timeout_and_an_inactive_one_a_new_one() -> None:  # L08
    table = TaskSlotTable(1)
    table.allocate(0, "job", "a")
    slot = table.get("a")
    assert slot is not None
    first = slot.ticket
    assert table.has_timed_out(slot, first)
    assert table.mark_slot_active("a") is slot
    assert not table.has_timed_out(slot, first)
    second = table.mark_slot_active("a").ticket
    assert table.mark_slot_inactive("a").state is TaskSlotState.ALLOCATED
    assert not table.has_timed_out(slot, second)
    assert table.has_timed_out(slot, slot.ticket)
    for mark in (table.mark_slot_active, table.mark_slot_inactive):
        with pytest.raises(SlotNotFoundError, match="no slot has allocation b; there are a"):
            mark("b")


def test_the_timeout_of_a_reallocated_slot_is_void() -> None:  # L09
    table = TaskSlotTable(1)
    table.allocate(0, "job", "a")
    former = table.get("a")
    assert former is not None
    table.free(former)
    table.allocate(0, "job", "a")
    assert not table.has_timed_out(former, former.ticket)


def test_tasks_run_in_active_slots_only() -> None:  # L16
    table = TaskSlotTable(2)
    table.allocate(0, "job", "a")
    with pytest.raises(SlotNotActiveError, match="the slot of allocation a is ALLOCATED"):
        table.add_task("a", "attempt")
    with pytest.raises(SlotNotFoundError, match="no slot has allocation b"):
        table.add_task("b", "attempt")
    slot = table.mark_slot_active("a")
    assert table.add_task("a", "attempt")
    assert not table.add_task("a", "attempt")
    table.set_state(slot, TaskSlotState.RELEASING)
    with pytest.raises(SlotNotActiveError, match="is RELEASING"):
        table.mark_slot_active("a")
