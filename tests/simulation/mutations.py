"""Rules that are broken on purpose; each has a seed that detects it, so the simulation can fail.

`PYTHONHASHSEED=0 python -m tests.simulation.mutations` searches for the first seed that detects each and writes
docs/simulation.md; with `--check` it only checks the seeds in the document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from tests.simulation.simulation import simulate

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulation.md"
MOST_SEEDS = 1000

ViolationsOf = Callable[[int], Sequence[str]]
"""Seed -> what its simulation finds wrong."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule, and how it is broken."""

    rule: str
    owner: type
    method: str
    broken: Callable[..., Any]

    def caught_by(self, seed: int, violations_of: ViolationsOf) -> str | None:
        """Return the violation that the simulation of a seed finds."""
        with mock.patch.object(self.owner, self.method, self.broken):
            violations = violations_of(seed)
        return violations[0] if violations else None


def _any_job_master(self: TaskExecutor, tdd: Any, job_master_id: str) -> None:
    return None


def _no_memory(self: TaskSlotTable, attempt_id: str) -> None:
    slot = self._by_task.pop(attempt_id, None)
    if slot is not None:
        slot.tasks.discard(attempt_id)


def _without_confirmation(self: Scheduler, vertex: Any) -> None:
    execution = vertex.current
    if execution.task_manager_id is not None:
        self._to_cancel.append(CancelTask(execution.task_manager_id, execution.attempt_id))


def _not_repeated(self: TaskReports, job_id: str, states: Any) -> None:
    self._forget(states)


_allocate = TaskSlotTable.allocate


def _second_owner(self: TaskSlotTable, index: int, job_id: str, allocation_id: str, *wanted: Any) -> bool:
    slot = self._slots.pop(index, None)
    if slot is not None and (slot.job_id, slot.allocation_id) != (job_id, allocation_id):
        self._left = self._left.merge(slot.resource_profile)
    elif slot is not None:
        self._slots[index] = slot
    return _allocate(self, index, job_id, allocation_id, *wanted)


_change = RegisteredSlots.change


def _never_withheld(self: RegisteredSlots, slot: Any, now_s: float, **settings: Any) -> None:
    _change(self, slot, now_s, **{**settings, "withhold": False})


_attach = ExecutionGraph._attach


def _id_of_the_job(self: ExecutionGraph, job_vertex: Any, created_ms: int) -> None:
    self.id = self.job_id
    _attach(self, job_vertex, created_ms)


async def _no_duplicates(self: Dispatcher, job_id: str) -> None:
    return None


_open = TaskExecutor._open


async def _left_open(self: TaskExecutor, slot: Any) -> None:
    with mock.patch.object(self._runner, "close_slot", _nothing):
        await _open(self, slot)


async def _nothing(*_: Any) -> None:
    return None


async def _cancelled_without_asking(self: TaskCalls, action: CancelTask) -> None:
    self._perform(self._parts.scheduler.task_stopped(action.attempt_id))


@property
def _restart_beside_the_query(self: Scheduler) -> bool:
    return not self._unconfirmed


MUTATIONS = (
    Mutation("a task is accepted from the leading JobMaster only", TaskExecutor, "_check_job_master", _any_job_master),
    Mutation("a slot belongs to one job at a time", TaskSlotTable, "allocate", _second_owner),
    Mutation("an ended attempt does not run again", TaskSlotTable, "remove_task", _no_memory),
    Mutation("a restart waits for the end of former attempts", Scheduler, "_stop_to_be_sure", _without_confirmation),
    Mutation("a restart waits until the query has stopped", Scheduler, "_may_restart", _restart_beside_the_query),
    Mutation("a cancellation is confirmed by the TaskExecutor", TaskCalls, "_try_to_cancel", _cancelled_without_asking),
    Mutation("an unanswered report is repeated", TaskReports, "_repeat", _not_repeated),
    Mutation("attempts of different leaders have different ids", ExecutionGraph, "_attach", _id_of_the_job),
    Mutation("a known job is not submitted again", Dispatcher, "_check_duplicate", _no_duplicates),
    Mutation("a refused slot is withheld until its next report", RegisteredSlots, "change", _never_withheld),
    Mutation("a slot that is freed while it opens is closed", TaskExecutor, "_open", _left_open),
)

_ROW = re.compile(r"^\| (?P<rule>[^|]+) \| (?P<seed>\d+) \|", re.MULTILINE)


def documented() -> dict[str, int]:
    """Return the documented seed of each rule."""
    return {match["rule"]: int(match["seed"]) for match in _ROW.finditer(DOCUMENT.read_text())}


def check(mutations: Sequence[Mutation], violations_of: ViolationsOf) -> list[str]:
    """Return the rules whose documented seeds no longer detect that they are broken."""
    seeds = documented()
    return [
        one.rule for one in mutations if one.rule not in seeds or one.caught_by(seeds[one.rule], violations_of) is None
    ]


def write_document(mutations: Sequence[Mutation], violations_of: ViolationsOf, title: str) -> list[str]:
    """Search for a seed of each mutation, write them below a title, and return the rules without a seed."""
    rows, missed = [], []
    for mutation in mutations:
        found = ((seed, mutation.caught_by(seed, violations_of)) for seed in range(MOST_SEEDS))
        seed, violation = next(((seed, text) for seed, text in found if text), (None, ""))
        print(f"{mutation.rule}: {seed} {violation}", flush=True)
        if seed is None:
            missed.append(mutation.rule)
        broken = f"`{mutation.owner.__name__}.{mutation.method}`"
        text = re.sub("[0-9a-f]{16,}", "…", re.sub(r"/\S*firesteel-simulated-\w+/", "", violation))
        rows.append(f"| {mutation.rule} | {seed} | {broken} | {text[:120]} |")
    document = DOCUMENT.read_text()
    begin = document.index("| rule |", document.index(title))
    end = document.find("\n\n", begin)
    header = ["| rule | seed | broken in | what is found |", "|---|--:|---|---|"]
    rest = "\n" if end < 0 else document[end:]
    DOCUMENT.write_text(document[:begin] + "\n".join([*header, *rows]) + rest)
    return missed


def run_mutations(mutations: Sequence[Mutation], violations_of: ViolationsOf, title: str) -> int:
    """Check the document with `--check`, else write it; return 1 if a broken rule is not detected."""
    sys.unraisablehook = lambda _: None
    is_check = "--check" in sys.argv
    missed = check(mutations, violations_of) if is_check else write_document(mutations, violations_of, title)
    for rule in missed:
        print(f"broken and not found: {rule}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(run_mutations(MUTATIONS, lambda seed: simulate(seed).violations, "### Detection of broken rules"))
