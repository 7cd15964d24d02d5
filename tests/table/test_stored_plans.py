"""Compiled plans of former releases are read: what a plan consists of is a format, not an internal name."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from firesteel.table import PlanReference
from firesteel.table.planner.rel import rel
from firesteel.table.plans.plan_classes import BY_NAME
from firesteel.table.plans.plan_reader import PlanReader
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


def test_aggregates_of_matches_of_a_plan_that_says_whether_they_are_distinct() -> None:
    """Plans of former releases do; none is."""
    query = (
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES SUM(A.v) AS x, COUNT(*) AS n "
        "PATTERN (A+ B) DEFINE B AS B.v < 1) AS m"
    )
    made = tables()
    sink_for(made, query)
    today = json.dumps(json.loads(made.compile_plan_sql(f"INSERT INTO sink {query}").as_json_string()))
    former, found = re.subn(r'("AGGREGATE [^{]*{[^}]*})', r'\1, {"literal": false, "of": "NULL"}', today)
    assert found == 2
    read, again = (PlanReader(made._catalogs, json.loads(text)["nodes"]).node(2) for text in (former, today))
    assert isinstance(read, rel.Match)
    assert isinstance(again, rel.Match)
    assert read.measures == again.measures


def test_all_that_a_plan_can_contain_is_in_a_stored_one() -> None:
    stored = {name for plan in PLANS.values() for name in classes_of(plan)}
    assert BY_NAME.keys() - stored == {"StreamScan"}, "run python -m tests.table.stored_plans"
