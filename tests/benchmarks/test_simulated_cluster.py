"""The benchmarks of the control plane run, on small simulated clusters."""

from __future__ import annotations

import bench_rescaling_control
import bench_scheduling
import pytest

pytestmark = pytest.mark.slow


def test_a_job_is_scheduled() -> None:
    assert bench_scheduling.one_job(10)["calls"] > 10
    assert bench_scheduling.many_jobs(10)["submitted_s"] > 0


def test_a_job_is_rescaled() -> None:
    figures = bench_rescaling_control.rescales(20)
    assert figures["up_calls"] > 20
    assert figures["down_calls"] > 10


def test_an_autoscaler_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_rescaling_control, "LOOKS_S", 2.5)
    assert bench_rescaling_control.looks(20)["decisions"] >= 1
