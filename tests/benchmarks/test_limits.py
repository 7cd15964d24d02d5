"""`make bench-limits` fails where firesteel has become slower."""

from __future__ import annotations

import json

import bench_workloads
import harness
import pytest

pytestmark = pytest.mark.slow


def test_a_case_below_its_limit_and_one_that_is_gone_are_reported(tmp_path, monkeypatch):
    limits = tmp_path / "limits.json"
    limits.write_text(json.dumps({"Workloads": {"w1": 0.75, "w2": 0.5, "gone": 1}}))
    monkeypatch.setattr(harness, "LIMITS", limits)
    results = {
        case: [harness.Result("firesteel", 100, [seconds], {}), harness.Result("by hand", 100, [1.0], {})]
        for case, seconds in (("w1", 1.5), ("w2", 1.5), ("free", 9.0))
    }
    assert harness._below_limits("Workloads", results) == [
        "gone: there is no such case",
        "w1: 0.67 times as fast as by hand, 0.75 is the least allowed",
    ]


def test_each_limit_names_a_case_of_its_benchmark():
    assert json.loads(harness.LIMITS.read_text())["Workloads"].keys() <= set(bench_workloads.NAMES)
