"""Decisions of the autoscaler, from samples of a job alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings
from firesteel.runtime.autoscaler.job_sample import JobSample, SourceSample
from firesteel.runtime.autoscaler.job_scaler import JobScaler, ScalingDecision
from tests.runtime.helpers import an_id, job_graph

A, B, C = an_id("a"), an_id("b"), an_id("c")
QUICK = {
    "enabled": "true",
    "metrics.window": "10 s",
    "stabilization.interval": "5 s",
    "scale-down.interval": "0 s",
    "catch-up.duration": "60 s",
    "restart.time": "3 s",
}


def settings(**changed: Any) -> AutoscalerSettings:
    found = AutoscalerSettings.of({f"job.autoscaler.{name}": value for name, value in QUICK.items()})
    assert found is not None
    return replace(found, **changed)


def pair(a_to_b: str = "ALL_TO_ALL") -> JobGraph:
    return job_graph(("a", 2, []), ("b", 2, [("a", a_to_b, "PIPELINED")]))


@dataclass
class Job:
    """A job of one region whose subtasks read `rate` units per second each; `fixed` is lost in each second."""

    scaler: JobScaler
    rate: float = 100.0
    fixed: float = 0.0
    parallelism: int = 2
    now_s: float = 0.0
    since_s: float = 0.0
    read: float = 0.0
    pending: float = 0.0
    busy_s: float = 0.0

    def sample(self) -> JobSample:
        sizes = {A: self.parallelism, B: self.parallelism}
        source = SourceSample(self.read, self.pending)
        return JobSample(self.now_s, self.since_s, sizes, dict.fromkeys(sizes, 128), {A: source}, {0: self.busy_s})

    def second(self, arrival: float) -> list[ScalingDecision]:
        """Let a second pass in which so many units come in, and look at the job."""
        self.now_s += 1
        self.pending += arrival
        speed = self.rate * self.parallelism
        read = min(self.pending, speed * (1 - self.fixed))
        self.read, self.pending, self.busy_s = self.read + read, self.pending - read, self.busy_s + read / speed
        return self.scaler.observe(self.sample())

    def follow(self, load: Callable[[int], float], seconds: int) -> list[tuple[int, int]]:
        """Let time pass and change the parallelism as decided; return (second, parallelism) of each change."""
        changes = []
        for second in range(seconds):
            for decision in self.second(load(second)):
                assert set(decision.before.values()) == {self.parallelism}
                self.parallelism = decision.after[A]
                self.since_s = self.now_s + 2  # it stands still meanwhile
                changes.append((second, self.parallelism))
        return changes


def test_a_job_gets_the_parallelism_for_its_target_utilization() -> None:
    job = Job(JobScaler(pair(), settings(divides_evenly=False)))
    (change,) = job.follow(lambda _: 450.0, 60)
    # 450/s at 70 % of 100/s per subtask are 6.4; the rest reads what has come meanwhile within a minute.
    assert change[1] in (7, 8)
    assert job.follow(lambda _: 450.0, 120) == []
    assert job.pending < 450


def test_nothing_is_decided_before_the_window_is_full_and_stable() -> None:
    job = Job(JobScaler(pair(), settings()))
    (first, *_) = job.follow(lambda _: 1000.0, 30)
    assert first[0] + 1 == 5 + 10


@pytest.mark.parametrize("load", [100.0, 140.0, 190.0])
def test_within_the_bounds_nothing_changes(load: float) -> None:
    job = Job(JobScaler(pair(), settings()))
    assert job.follow(lambda _: load, 200) == []


def test_load_that_rises_and_falls_four_times_has_no_reversals_and_no_backlog() -> None:
    job = Job(JobScaler(pair(), settings()), fixed=0.1)
    for cycle in range(4):
        up = job.follow(lambda _: 600.0, 150)
        down = job.follow(lambda _: 90.0, 150)
        assert up, f"cycle {cycle} has no increase"
        assert job.pending < 90
        grows = [after for _, after in up]
        assert grows == sorted(grows)
        shrinks = [after for _, after in down]
        assert shrinks == sorted(shrinks, reverse=True)
        assert shrinks[-1] <= 2


def test_a_backlog_alone_asks_for_more() -> None:
    job = Job(JobScaler(pair(), settings()))
    job.pending = 50_000
    (change, *_) = job.follow(lambda _: 10.0, 30)
    assert change[1] >= 8, "50,000 in a minute are 8 subtasks"
    ignoring = Job(JobScaler(pair(), settings(catch_up_s=0.0, backlog_s=1.0)))
    ignoring.pending = 50_000
    assert ignoring.follow(lambda _: 10.0, 60) == []


def test_fewer_subtasks_come_late_and_as_many_as_were_enough_all_the_time() -> None:
    loads = [40.0] * 40 + [100.0] * 10 + [40.0] * 40
    job = Job(JobScaler(pair(), settings(down_after_s=40.0, divides_evenly=False)), parallelism=8)
    (change, *_) = job.follow(lambda second: loads[second], 90)
    assert change[0] >= 14 + 40
    assert change[1] == 4, "one change takes at most 60 % away"
    busy = Job(JobScaler(pair(), settings(down_after_s=40.0)), parallelism=8)
    assert busy.follow(lambda second: 40.0 if second % 30 < 20 else 700.0, 200) == [], "the load came again"


def test_one_change_is_bounded() -> None:
    job = Job(JobScaler(pair(), settings(up_factor=1.0)))
    assert job.follow(lambda _: 2000.0, 15)[0][1] == 4
    job = Job(JobScaler(pair(), settings(most=3, divides_evenly=False)))
    assert job.follow(lambda _: 2000.0, 15)[0][1] == 3
    job = Job(JobScaler(pair(), settings(least=3)), parallelism=8)
    assert [after for _, after in job.follow(lambda _: 0.0, 60)] == [4, 3], (
        "at most 60 % at a time, and not below the least"
    )


def test_a_job_without_input_shrinks_and_one_that_reads_nothing_of_its_backlog_is_left_alone() -> None:
    job = Job(JobScaler(pair(), settings()), parallelism=8)
    assert [after for _, after in job.follow(lambda _: 0.0, 100)] == [4, 2, 1]
    stuck = Job(JobScaler(pair(), settings()), rate=0.0001, pending=100)
    stuck.scaler.observe(stuck.sample())
    for second in range(1, 40):
        stuck.now_s = second
        assert stuck.scaler.observe(stuck.sample()) == []


def test_the_rate_that_is_seen_counts_if_batches_have_fixed_costs() -> None:
    def factor(switch: float) -> int:
        job = Job(JobScaler(pair(), settings(observed_switch=switch, observed_s=1.0, divides_evenly=False)), fixed=0.5)
        job.pending = 5_000
        return job.follow(lambda _: 300.0, 30)[0][1]

    assert 0 <= 2 * factor(9.0) - factor(0.15) <= 1, "half of the time is lost, so it needs twice as many"


def test_an_increase_without_effect_is_not_repeated() -> None:
    for detects, expected in ((True, 1), (False, 80 // 15)):
        job = Job(JobScaler(pair(), settings(detects_effect=detects, up_factor=1.0, divides_evenly=False)))
        changes = 0
        for _ in range(80):
            job.rate = 200 / job.parallelism  # However many subtasks there are.
            for decision in job.second(400.0):
                job.parallelism, job.since_s = decision.after[A], job.now_s
                changes += 1
        assert changes == expected


def test_excluded_vertices_and_what_is_connected_to_them_keep_their_parallelism() -> None:
    apart = Job(JobScaler(pair(), settings(excluded=frozenset({B}))))
    (decision,) = [one for _ in range(15) for one in apart.second(400.0)]
    assert set(decision.after) == {A}
    together = pair("POINTWISE")
    for vertex in together.vertices:
        for edge in vertex.inputs:
            edge.partitioner = replace(edge.partitioner, name="FORWARD")
    job = Job(JobScaler(together, settings(excluded=frozenset({B}))))
    assert [one for _ in range(15) for one in job.second(400.0)] == []


def test_a_restart_another_parallelism_and_a_replay_begin_a_new_window() -> None:
    for change in (
        lambda job: setattr(job, "since_s", job.now_s - 5),
        lambda job: setattr(job, "parallelism", 1),
        lambda job: setattr(job, "read", 0.0),
    ):
        job = Job(JobScaler(pair(), settings()))
        assert [one for _ in range(14) for one in job.second(1000.0)] == []
        change(job)
        assert [one for _ in range(10) for one in job.second(1000.0)] == []
        assert job.scaler.observe(None) == []
        assert [one for _ in range(10) for one in job.second(1000.0)] == [], "a job that did not run, too"
        assert [one for _ in range(3) for one in job.second(1000.0)] != []


def test_regions_are_decided_apart_and_those_without_backlog_are_left_alone() -> None:
    scaler = JobScaler(job_graph(("a", 2, []), ("b", 2, []), ("c", 2, [])), settings())
    found = []
    for second in range(20):
        sources = {A: SourceSample(200.0 * second, 500.0 * second), B: SourceSample(140.0 * second, 0)}
        sizes = dict.fromkeys((A, B, C), 2)
        busy = {0: 1.0 * second, 1: 0.7 * second, 2: 1.0 * second}
        found += scaler.observe(JobSample(second, 0, sizes, dict.fromkeys(sizes, 128), sources, busy))
    assert {one.region for one in found} == {0}
    assert (found[0].busy, found[0].arrival, found[0].true_rate, found[0].pending) == (1.0, 700.0, 200.0, 7500.0)


def test_settings_have_the_operators_defaults_keys_and_bounds() -> None:
    assert AutoscalerSettings.of({}) is None
    plain = AutoscalerSettings.of({"kubernetes.operator.job.autoscaler.enabled": "true"})
    assert plain is not None
    assert (plain.target, plain.lowest, plain.highest) == (0.7, pytest.approx(0.4), 1.0)
    assert (plain.window_s, plain.stabilization_s, plain.down_after_s) == (900, 300, 3600)
    enabled = {"job.autoscaler.enabled": "true"}
    for old, new in (
        ("job.autoscaler.target.utilization", "0.5"),
        ("kubernetes.operator.job.autoscaler.utilization.target", "0.5"),
    ):
        found = AutoscalerSettings.of({**enabled, old: new})
        assert found is not None
        assert found.target == 0.5
    found = AutoscalerSettings.of({**enabled, "job.autoscaler.vertex.exclude.ids": f"{A}; {B}"})
    assert found is not None
    assert found.excluded == {A, B}
    for name, value in (("utilization.target", "1.7"), ("metrics.busy-time.aggregator", "AVG")):
        with pytest.raises(InvalidOptionError):
            AutoscalerSettings.of({**enabled, f"job.autoscaler.{name}": value})
