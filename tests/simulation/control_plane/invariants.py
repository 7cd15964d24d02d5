"""Invariants that hold at all times, and conditions that hold at the end."""

from __future__ import annotations

from firesteel.runtime.executiongraph.job_status import JobStatus
from tests.simulation.control_plane.cluster import SimulatedCluster


def check_always(cluster: SimulatedCluster) -> None:
    """Invariants of every moment."""
    _slots_have_one_job(cluster)
    _subtasks_have_one_attempt(cluster)
    _jobs_have_one_leader(cluster)


def _slots_have_one_job(cluster: SimulatedCluster) -> None:
    for host in cluster.task_executors:
        if not host.is_up or not host.runner.live:
            continue
        owners = {slot.allocation_id: slot.job_id for slot in host.task_executor._table._slots.values()}
        users: dict[str, str] = {}
        for task in host.runner.live.values():
            allocation, job = task.tdd.allocation_id, task.tdd.job_id
            owner = owners.get(allocation, job)
            if owner != job:
                cluster.seed.violated(f"a slot of {host.name} is given to {owner} while a task of {job} runs in it")
            user = users.setdefault(allocation, job)
            if user != job and allocation in owners:
                cluster.seed.violated(f"slot {allocation} of {host.name} belongs to {sorted((user, job))}")
    _job_masters_agree(cluster)


def _job_masters_agree(cluster: SimulatedCluster) -> None:
    """No two jobs run tasks in the same slot, as far as their leaders know."""
    users: dict[str, str] = {}
    for manager in cluster.job_managers:
        if not manager.process.is_alive:
            continue
        for job_master in manager.job_masters():
            if job_master.fencing_token != cluster.leader_session:
                continue
            for execution in job_master.graph.executions:
                if execution.state.name == "RUNNING" and execution.allocation_id is not None:
                    owner = users.setdefault(execution.allocation_id, job_master.job_id)
                    if owner != job_master.job_id:
                        cluster.seed.violated(
                            f"slot {execution.allocation_id} runs tasks of {owner} and {job_master.job_id}"
                        )


def _subtasks_have_one_attempt(cluster: SimulatedCluster) -> None:
    """Among the tasks that a leader can reach, no subtask runs twice."""
    leaders = {
        job_master.job_id: job_master
        for manager in cluster.job_managers
        if manager.process.is_alive
        for job_master in manager.job_masters()
        if job_master.fencing_token is not None and job_master.fencing_token == cluster.leader_session
    }
    seen: dict[tuple[str, str, int], str] = {}
    for host in cluster.task_executors:
        if not host.is_up:
            continue
        for attempt, task in host.runner.live.items():
            leader = leaders.get(task.tdd.job_id)
            if leader is None or host.name not in leader._task_managers or task.session_id != leader.fencing_token:
                continue
            subtask = (task.tdd.job_id, task.tdd.vertex_id, task.tdd.subtask_index)
            other = seen.setdefault(subtask, f"{attempt} on {host.name}")
            if other != f"{attempt} on {host.name}":
                cluster.seed.violated(f"a subtask runs twice: {other} and {attempt} on {host.name}")


def _jobs_have_one_leader(cluster: SimulatedCluster) -> None:
    leading: dict[str, str] = {}
    for manager in cluster.job_managers:
        if not manager.process.is_alive:
            continue
        for job_master in manager.job_masters():
            token = job_master.fencing_token
            if token is None or token != cluster.leader_session or not job_master.is_running:
                continue
            if job_master.graph.status is JobStatus.SUSPENDED:
                continue
            other = leading.setdefault(job_master.job_id, manager.name)
            if other != manager.name:
                cluster.seed.violated(f"job {job_master.job_id} is led by {other} and {manager.name}")


def check_ended(cluster: SimulatedCluster) -> list[str]:
    """Return why an idle cluster has not completed all jobs; empty if it has."""
    missing = [job_id[:6] for job_id in sorted(cluster.client.acknowledged - cluster.finished_jobs())]
    return [f"job {job_id} was acknowledged and has no result" for job_id in missing]


def check_nothing_left(cluster: SimulatedCluster) -> None:
    """Once all jobs are over, nothing of them is left."""
    for host in cluster.task_executors:
        used = [status for status in host.task_executor._table.report().slots if status.allocation_id is not None]
        if used or host.runner.live or host.runner.slots:
            cluster.seed.violated(
                f"{host.name} still has {used} with tasks {sorted(host.runner.live)}, {host.runner.slots}"
            )
        if host.task_executor._jobs._jobs:
            cluster.seed.violated(f"{host.name} still follows jobs {sorted(host.task_executor._jobs._jobs)}")
    for manager in cluster.job_managers:
        left = [one.address for one in manager.job_masters()]
        if left:
            cluster.seed.violated(f"{manager.name} still runs {left}")
        if any(not query.is_over for query in manager.data_plane.queries):
            cluster.seed.violated(f"{manager.name} still runs a query")
        resource_manager = manager.resource_manager._process
        if resource_manager is not None:
            slots = resource_manager._slot_manager
            if slots.slots_wanted or slots.slots_free != slots.slots_total:
                cluster.seed.violated(
                    f"{slots.slots_wanted} requests wait, {slots.slots_free} of {slots.slots_total} are free"
                )
    for folder in ("jobs", "dirty-results"):
        if cluster.ha._entries.folders[folder]:
            cluster.seed.violated(f"{folder} still has {sorted(cluster.ha._entries.folders[folder])}")


def waiting_work(cluster: SimulatedCluster) -> dict[str, tuple[int, int]]:
    """Tasks and timers of each process: what a cluster without jobs has is all that may be left.

    Heartbeats under way, each with the timer of its call, do not count.
    """
    waiting = {}
    for process in (one.process for one in (*cluster.job_managers, *cluster.task_executors)):
        heartbeats = sum(task.get_coro().coroutine.__name__.startswith("_ask") for task in process.tasks)  # type: ignore[union-attr]
        waiting[process.name] = len(process.tasks) - heartbeats, process.timers - heartbeats
    return waiting
