"""Rules of the control plane that are broken on purpose, see `core/mutations.py`."""

from __future__ import annotations

from typing import Any
from unittest import mock

from firesteel.runtime.dispatcher.dispatcher import Dispatcher
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.jobmaster.task_calls import TaskCalls
from firesteel.runtime.resourcemanager.registered_slots import RegisteredSlots
from firesteel.runtime.scheduler.actions import CancelTask
from firesteel.runtime.scheduler.scheduler import Scheduler
from firesteel.runtime.taskexecutor.task_executor import TaskExecutor
from firesteel.runtime.taskexecutor.task_reports import TaskReports
from firesteel.runtime.taskexecutor.task_slot_table import TaskSlotTable
from tests.simulation.control_plane.simulation import simulate
from tests.simulation.core.mutations import Mutations

MUTATIONS = Mutations(simulate, "### Detection of broken rules")


@MUTATIONS.breaks("a task is accepted from the leading JobMaster only", TaskExecutor, "_check_job_master")
def _any_job_master(_: Any, self: TaskExecutor, tdd: Any, job_master_id: str) -> None:
    return None


@MUTATIONS.breaks("an ended attempt does not run again", TaskSlotTable, "remove_task")
def _no_memory(_: Any, self: TaskSlotTable, attempt_id: str) -> None:
    slot = self._by_task.pop(attempt_id, None)
    if slot is not None:
        slot.tasks.discard(attempt_id)


@MUTATIONS.breaks("a restart waits for the end of former attempts", Scheduler, "_stop_to_be_sure")
def _without_confirmation(_: Any, self: Scheduler, vertex: Any) -> None:
    execution = vertex.current
    if execution.task_manager_id is not None:
        self._to_cancel.append(CancelTask(execution.task_manager_id, execution.attempt_id))


@MUTATIONS.breaks("an unanswered report is repeated", TaskReports, "_repeat")
def _not_repeated(_: Any, self: TaskReports, job_id: str, states: Any) -> None:
    self._forget(states)


@MUTATIONS.breaks("a slot belongs to one job at a time", TaskSlotTable, "allocate")
def _second_owner(
    original: Any, self: TaskSlotTable, index: int, job_id: str, allocation_id: str, *wanted: Any
) -> bool:
    slot = self._slots.pop(index, None)
    if slot is not None and (slot.job_id, slot.allocation_id) != (job_id, allocation_id):
        self._left = self._left.merge(slot.resource_profile)
    elif slot is not None:
        self._slots[index] = slot
    return original(self, index, job_id, allocation_id, *wanted)


@MUTATIONS.breaks("a refused slot is withheld until its next report", RegisteredSlots, "change")
def _never_withheld(original: Any, self: RegisteredSlots, slot: Any, now_s: float, **settings: Any) -> None:
    original(self, slot, now_s, **{**settings, "withhold": False})


@MUTATIONS.breaks("attempts of different leaders have different ids", ExecutionGraph, "_attach")
def _id_of_the_job(original: Any, self: ExecutionGraph, job_vertex: Any, created_ms: int) -> None:
    self.id = self.job_id
    original(self, job_vertex, created_ms)


@MUTATIONS.breaks("a known job is not submitted again", Dispatcher, "_check_duplicate")
async def _no_duplicates(_: Any, self: Dispatcher, job_id: str) -> None:
    return None


@MUTATIONS.breaks("a slot that is freed while it opens is closed", TaskExecutor, "_open")
async def _left_open(original: Any, self: TaskExecutor, slot: Any) -> None:
    with mock.patch.object(self._runner, "close_slot", _nothing):
        await original(self, slot)


async def _nothing(*_: Any) -> None:
    return None


@MUTATIONS.breaks("a cancellation is confirmed by the TaskExecutor", TaskCalls, "_try_to_cancel")
async def _cancelled_without_asking(_: Any, self: TaskCalls, action: CancelTask) -> None:
    self._perform(self._parts.scheduler.task_stopped(action.attempt_id))


@MUTATIONS.breaks("a restart waits until the query has stopped", Scheduler, "_may_restart")
def _restart_beside_the_query(_: Any, self: Scheduler) -> bool:
    return not self._unconfirmed


if __name__ == "__main__":
    raise SystemExit(MUTATIONS.main())
