"""The alert rules: they name metrics that there are, and Prometheus accepts them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from firesteel.rest.metric_help import HELP

RULES = Path(__file__).parents[2] / "deploy/prometheus/rules.yaml"
DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/dashboard.json"
_SCOPES = "jobmanager_job|jobmanager|taskmanager_job_task_operator|taskmanager_job_task|taskmanager"
HISTOGRAMS = {"rest_latency_seconds_bucket", "checkpoint_duration_seconds_bucket", "checkpoint_size_bytes_bucket"}
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="PROMTOOL IS MISSING: apt-get install prometheus"
)


def names_in(expression: str) -> set[str]:
    """The names of metrics in an expression, without their scopes."""
    return set(re.findall(rf"\bflink_(?:{_SCOPES})_(\w+)", expression))


def known() -> set[str]:
    return {name.replace(".", "_") for name in HELP} | HISTOGRAMS


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_name_metrics_that_there_are() -> None:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert len(rules) > 5
    for rule in rules:
        names = names_in(rule["expr"])
        assert names, rule["alert"]
        assert names <= known(), rule["alert"]
        assert rule["annotations"]["summary"]


@needs_promtool
def test_prometheus_accepts_the_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", RULES)


@needs_promtool
def test_each_alert_fires_on_its_fault_and_none_without() -> None:
    tests = RULES.with_name("rules_test.yaml")
    assert "SUCCESS" in promtool("test", "rules", tests)
    alerts = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert [test["name"] for test in yaml.safe_load(tests.read_text())["tests"]] == [
        "a cluster without faults",
        *alerts,
    ]


def test_each_alert_is_told_of_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs/operations/day_two.md").read_text()
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            assert f"`{rule['alert']}`" in page


def expressions() -> list[str]:
    """The queries of the dashboard, with its variables replaced."""
    found = [
        target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", ())
    ]
    return [text.replace("$__rate_interval", "5m").replace("$job", ".*") for text in found]


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    assert len(expressions()) > 20
    for text in expressions():
        assert names_in(text) <= known(), text
        assert names_in(text) or "ALERTS" in text
        assert "$" not in text


def test_panels_of_the_dashboard_do_not_overlap_and_are_described() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or panel["description"]


@needs_promtool
def test_prometheus_accepts_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions())]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", tmp_path / "queries.yaml")
