"""Which subtasks share a slot, against Flink 2.3 on real clusters; and how many slots are enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.plan.slots import plan_slots, slots_text
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from tests.plan import slot_programs
from tests.runtime.helpers import job_graph

RUNS = json.loads((Path(__file__).parent / "golden" / "slots.json").read_text())
# Cluster c3x2tasks balances tasks over TaskManagers (taskmanager.load-balance.mode), which moves them to other slots.
PLACED = [run for run in RUNS if run["slots"] and run["cluster"] != "c3x2tasks"]
REFUSED = [run for run in RUNS if not run["slots"]]


def name_of(run):
    return f"{run['cluster']}-{run['program']}"


def planned(program, task_managers=None, slots=1):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"parallelism.default": "4"}))
    getattr(slot_programs, program)(env)
    graph = env.get_stream_graph().get_job_graph()
    resolve_parallelism(graph, 4)
    return plan_slots(ExecutionGraph(graph, lambda: 0), task_managers, slots)


@pytest.mark.parametrize("run", PLACED, ids=name_of)
def test_subtasks_share_slots_as_on_a_flink_cluster(run):
    shared = [
        sorted(f"{subtask.job_vertex.name}#{subtask.subtask_index}" for subtask in slot.subtasks)
        for slot in planned(run["program"]).shared
    ]
    assert sorted(shared) == sorted(sorted(tenants) for tenants in run["slots"].values())


@pytest.mark.parametrize("run", RUNS, ids=name_of)
def test_the_plan_tells_whether_a_job_fits_as_a_flink_cluster_did(run):
    ran = run["final"][1] == "RUNNING"
    assert planned(run["program"], 1, run["slots_total"]).fits is ran
    assert REFUSED


def test_the_verdict_names_the_setting_to_change():
    graph = job_graph(
        ("a", 4, []), ("b", 3, [("a", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), groups={"a": "one", "b": "two"}
    )
    resolve_parallelism(graph, 1)
    first = slots_text(plan_slots(ExecutionGraph(graph, lambda: 0), 3, 2)).splitlines()[0]
    assert first == (
        "Slots of 'job': needs 7 slots, 6 available: lower the parallelism of 'a' to 3; "
        "or lower the parallelism of 'b' to 2; or add 1 slot (1 TaskManager of 2 slots)"
    )


def test_missing_slots_are_listed_separately():
    graph = job_graph(("a", 3, []))
    resolve_parallelism(graph, 1)
    text = slots_text(plan_slots(ExecutionGraph(graph, lambda: 0), 1, 2))
    assert text.endswith("TaskManager 1\n  slot 0: a (1/3)\n  slot 1: a (2/3)\n\nNo slot left for\n  slot 2: a (3/3)")


def test_stages_of_a_batch_job_may_follow_one_another():
    graph = job_graph(
        ("a", 2, []), ("b", 3, [("a", "ALL_TO_ALL", "BLOCKING")]), groups={"a": "1", "b": "2"}, job_type="BATCH"
    )
    resolve_parallelism(graph, 1)
    plan = plan_slots(ExecutionGraph(graph, lambda: 0))
    assert (plan.needed, plan.needed_by_stages) == (5, 3)
    assert "(3 are enough where Flink runs its stages one after the other)" in slots_text(plan)
