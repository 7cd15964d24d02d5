from __future__ import annotations

from typing import Any

from firesteel.runtime.executiongraph.task_metrics import TaskMetrics


def totals(records: float, busy_ms: float) -> dict[str, float]:
    return {"numRecordsIn": records, "accumulateBusyTimeMs": busy_ms, "Map.seen": 3}


def at(metrics: TaskMetrics, now_s: int, **options: Any) -> tuple[float, float, float]:
    found = metrics.values(now_s * 1000, 0, is_over=False)
    return found["numRecordsInPerSecond"], found["busyTimeMsPerSecond"], found["accumulateIdleTimeMs"]


def test_no_usage_is_known_before_the_first_report() -> None:
    assert TaskMetrics().values(5, 0, is_over=False) == {}


def test_rates_are_averages_since_the_start_and_over_a_minute_at_most() -> None:
    metrics = TaskMetrics()
    for second in range(1, 121):
        metrics.report(totals(10 * second if second <= 60 else 600 + (second - 60), 100 * second), second * 1000, 0)
        if second == 30:
            assert at(metrics, 30) == (10, 100, 27_000)
    assert at(metrics, 120) == (1, 100, 108_000)


def test_rates_of_an_idle_task_decrease_to_zero() -> None:
    metrics = TaskMetrics()
    metrics.report(totals(100, 500), 1000, 0)
    assert at(metrics, 10) == (10, 50, 9500)
    assert at(metrics, 61) == (0, 0, 60_500)


def test_totals_that_restart_cause_no_negative_rates() -> None:
    metrics = TaskMetrics()
    for second, records in ((1, 100), (7, 200), (14, 5)):
        metrics.report(totals(records, 0), second * 1000, 0)
    metrics.report(totals(1, 0), 70_000, 0)
    assert at(metrics, 70)[0] == 0


def test_a_finished_task_has_only_totals_and_user_metrics() -> None:
    metrics = TaskMetrics()
    metrics.report(totals(100, 500), 1000, 0)
    found = metrics.values(2000, 0, is_over=True)
    assert found == totals(100, 500) | {"accumulateIdleTimeMs": 1500, "accumulateBackPressuredTimeMs": 0}
