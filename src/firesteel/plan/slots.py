"""The slots that a job needs, their sharing, and whether a cluster has enough of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firesteel.graph.job_graph import JobGraph
from firesteel.plan.diagram import Cluster, Diagram, Node, count, subtask_node_id
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.scheduler.local_input_preferred import ExecutionSlotSharingGroup, local_input_preferred

__all__ = ["GroupNeed", "SlotPlan", "plan_slots", "slots_diagram", "slots_text", "slots_to_dict"]

MOST_SLOTS = 64
"""Maximum number of slots that are shown individually."""


@dataclass(frozen=True, slots=True)
class GroupNeed:
    """The slots that a slot sharing group needs.

    Attributes:
        name: Name of the group, with `region of ...` for the groups of a batch job, which are all called `default`.
        slots: The largest parallelism in the group.
        vertices: Names and parallelism of its vertices.
    """

    name: str
    slots: int
    vertices: tuple[tuple[str, int], ...]

    def above(self, parallelism: int) -> list[str]:
        """Return the names of the vertices with more subtasks than `parallelism`."""
        return [name for name, own in self.vertices if own > parallelism]


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """The assignment of a job to slots.

    Attributes:
        job_graph: The job.
        groups: The slots needed by each slot sharing group.
        needed: Number of slots needed to run all subtasks concurrently.
        needed_by_stages: Number of slots that suffice if Flink runs the stages of a batch job one after the other.
        shared: The slots with their subtasks.
        task_managers: Number of TaskManagers; as many as needed unless given.
        slots_per_task_manager: Number of slots per TaskManager.
    """

    job_graph: JobGraph
    groups: tuple[GroupNeed, ...]
    shared: tuple[ExecutionSlotSharingGroup, ...]
    needed_by_stages: int
    task_managers: int
    slots_per_task_manager: int

    @property
    def needed(self) -> int:
        """The number of slots for all subtasks."""
        return len(self.shared)

    @property
    def available(self) -> int:
        """The number of slots of the cluster."""
        return self.task_managers * self.slots_per_task_manager

    @property
    def fits(self) -> bool:
        """Whether the cluster has enough slots for all subtasks."""
        return self.needed <= self.available

    def task_manager_of(self, slot: int) -> int | None:
        """Return the number, from 1, of the TaskManager of a slot; None if no TaskManager has a free slot."""
        return slot // self.slots_per_task_manager + 1 if slot < self.available else None


def plan_slots(graph: ExecutionGraph, task_managers: int | None = None, slots_per_task_manager: int = 1) -> SlotPlan:
    """Return the slots of a job on a number of TaskManagers, or on as many as it needs."""
    job_graph, needs = graph.job_graph, tuple(_needs(graph.job_graph))
    shared = tuple(local_input_preferred(graph))
    enough = -(-len(shared) // slots_per_task_manager)
    return SlotPlan(
        job_graph,
        needs,
        shared,
        max((need.slots for need in needs), default=0) if _runs_by_stages(job_graph) else len(shared),
        enough if task_managers is None else task_managers,
        slots_per_task_manager,
    )


def _runs_by_stages(job_graph: JobGraph) -> bool:
    return all(
        data_set.result_type.is_blocking_or_blocking_persistent_result_partition
        for vertex in job_graph.vertices
        for data_set in vertex.produced_data_sets
    )


def _needs(job_graph: JobGraph) -> Iterator[GroupNeed]:
    vertices = {vertex.id: vertex for vertex in job_graph.vertices}
    names = [group.name for group in job_graph.slot_sharing_groups]
    for group in job_graph.slot_sharing_groups:
        members = [vertices[vertex_id] for vertex_id in group.vertex_ids]
        name = group.name if names.count(group.name) == 1 else f"{group.name}, region of {members[0].name!r}"
        yield GroupNeed(
            name,
            max(vertex.parallelism for vertex in members),
            tuple((vertex.name, vertex.parallelism) for vertex in members),
        )


# --- as text -----------------------------------------------------------------------------------------------------


def slots_text(plan: SlotPlan) -> str:
    """Return the needs of the groups, the verdict, and the slots with their subtasks."""
    lines = [f"Slots of {plan.job_graph.name!r}: {_verdict(plan)}", ""]
    for need in plan.groups:
        widest = ", ".join(f"{name!r}" for name in need.above(need.slots - 1))
        lines.append(f"slot sharing group {need.name}: {count(need.slots, 'slot')}, for {widest}")
    placed: int | None = 0
    for number, slot in enumerate(plan.shared[:MOST_SLOTS]):
        if plan.task_manager_of(number) != placed:
            placed = plan.task_manager_of(number)
            lines += ["", f"TaskManager {placed}" if placed else "No slot left for"]
        lines.append(f"  slot {number}: {_tenants(slot)}")
    if plan.needed > MOST_SLOTS:
        lines.append(f"  ... and {count(plan.needed - MOST_SLOTS, 'slot')} more")
    return "\n".join(lines)


def _tenants(slot: ExecutionSlotSharingGroup) -> str:
    return ", ".join(subtask.name for subtask in slot.subtasks)


def _verdict(plan: SlotPlan) -> str:
    by_stages = ""
    if plan.needed_by_stages < plan.needed:
        by_stages = f" ({plan.needed_by_stages} are enough where Flink runs its stages one after the other)"
    have = f"{plan.available} available"
    if plan.fits:
        return f"needs {count(plan.needed, 'slot')}{by_stages}, {have}: fits"
    return f"needs {count(plan.needed, 'slot')}{by_stages}, {have}: {'; or '.join(_remedies(plan))}"


def _remedies(plan: SlotPlan) -> Iterator[str]:
    missing = plan.needed - plan.available
    for need in plan.groups:
        lowered = need.slots - missing
        if lowered >= 1:
            who = " and ".join(f"{name!r}" for name in need.above(lowered))
            yield f"lower the parallelism of {who} to {lowered}"
    more = -(-missing // plan.slots_per_task_manager)
    yield f"add {count(missing, 'slot')} ({count(more, 'TaskManager')} of {count(plan.slots_per_task_manager, 'slot')})"


# --- as data and as a drawing -------------------------------------------------------------------------------------


def slots_to_dict(plan: SlotPlan) -> dict[str, object]:
    """Return the plan as plain data."""
    return {
        "job": plan.job_graph.name,
        "needed": plan.needed,
        "needed_by_stages": plan.needed_by_stages,
        "available": plan.available,
        "fits": plan.fits,
        "verdict": _verdict(plan),
        "task_managers": plan.task_managers,
        "slots_per_task_manager": plan.slots_per_task_manager,
        "slot_sharing_groups": [
            {
                "name": need.name,
                "slots": need.slots,
                "vertices": [{"name": name, "parallelism": parallelism} for name, parallelism in need.vertices],
            }
            for need in plan.groups
        ],
        "slots": [
            {
                "slot": number,
                "task_manager": plan.task_manager_of(number),
                "subtasks": [_subtask_to_dict(subtask) for subtask in slot.subtasks],
            }
            for number, slot in enumerate(plan.shared)
        ],
    }


def _subtask_to_dict(subtask: ExecutionVertex) -> dict[str, object]:
    return {"vertex": subtask.job_vertex.id, "subtask": subtask.subtask_index, "name": subtask.name}


def slots_diagram(plan: SlotPlan) -> Diagram:
    """Return TaskManagers with their slots and subtasks, and the subtasks without a slot."""
    diagram = Diagram(plan.job_graph.name, f"Slots of {plan.job_graph.name!r}: {_verdict(plan)}")
    for number in range(min(max(plan.available, plan.needed), MOST_SLOTS)):
        task_manager = plan.task_manager_of(number)
        cluster = f"taskmanager-{task_manager or 'none'}"
        if not diagram.clusters or diagram.clusters[-1].id != cluster:
            title = f"TaskManager {task_manager}" if task_manager else "no slot left"
            diagram.clusters.append(Cluster(cluster, title))
        diagram.nodes.append(_slot_node(number, plan.shared[number : number + 1], cluster))
    if plan.needed > MOST_SLOTS:
        diagram.notes.append(f"... and {count(plan.needed - MOST_SLOTS, 'slot')} more")
    return diagram


def _slot_node(number: int, found: Sequence[ExecutionSlotSharingGroup], cluster: str) -> Node:
    if not found:
        return Node(f"slot-{number}", f"slot {number}: free", kind="free", cluster=cluster)
    by_vertex = [f"{subtask.job_vertex.name} ({subtask.subtask_index + 1})" for subtask in found[0].subtasks]
    links = [subtask_node_id(subtask.job_vertex.id, subtask.subtask_index) for subtask in found[0].subtasks]
    return Node(f"slot-{number}", f"slot {number}", tuple(by_vertex), "slot", (), tuple(links), cluster)
