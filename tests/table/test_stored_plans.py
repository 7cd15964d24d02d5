"""Compiled plans of former releases are read: what a plan consists of is a format, not an internal name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firesteel.table import PlanReference
from firesteel.table.plans.plan_classes import BY_NAME
from tests.table.stored_plans import STORED, classes_of, tables
from tests.table.test_compiled_plans import sink_for

PLANS: dict[str, Any] = json.loads(STORED.read_text())


@pytest.mark.parametrize("query", PLANS)
def test_a_stored_plan_is_read(query: str) -> None:
    made = tables()
    sink_for(made, query)
    loaded = made.load_plan(PlanReference.from_json_string(json.dumps(PLANS[query])))
    assert "Sink(table=[default_catalog.default_database.sink]" in loaded.explain()


def test_ranks_of_a_plan_that_does_not_say_whether_they_are_narrowed() -> None:
    """Those of former releases do not."""
    query, plan = next((query, plan) for query, plan in PLANS.items() if "Rank" in classes_of(plan))
    for node in plan["nodes"]:
        node.pop("is_narrowed", None)
    made = tables()
    sink_for(made, query)
    assert "Rank" in made.load_plan(PlanReference.from_json_string(json.dumps(plan))).explain()


def test_all_that_a_plan_can_contain_is_in_a_stored_one() -> None:
    stored = {name for plan in PLANS.values() for name in classes_of(plan)}
    assert BY_NAME.keys() - stored == {"StreamScan"}, "run python -m tests.table.stored_plans"
