"""The alert rules: they name metrics that there are, and Prometheus accepts them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from firesteel.rest.metric_help import HELP

RULES = Path(__file__).parents[2] / "deploy/prometheus/rules.yaml"
_SCOPES = "jobmanager_job|jobmanager|taskmanager_job_task|taskmanager"


def test_rules_name_metrics_that_there_are() -> None:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert len(rules) > 5
    for rule in rules:
        names = re.findall(rf"\bflink_(?:{_SCOPES})_(\w+)", rule["expr"])
        assert names, rule["alert"]
        assert set(names) <= set(HELP), rule["alert"]
        assert rule["annotations"]["summary"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="PROMTOOL IS MISSING: apt-get install prometheus")
def test_prometheus_accepts_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
