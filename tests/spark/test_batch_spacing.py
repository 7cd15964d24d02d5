"""Batches begin as often as an option says, or as little as they cost."""

from __future__ import annotations

import pytest

from firesteel.spark.batch_spacing import BatchSpacing


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def rests_after(options: dict[str, str], *took_s: float) -> list[float]:
    """Return how long no batch may begin, after batches that took so long."""
    clock = Clock()
    spacing = BatchSpacing(options, clock)
    rests = [spacing.rest_s()]
    for one in took_s:
        spacing.begin()
        clock.now_s += one
        assert spacing.end() == pytest.approx(one)
        rests.append(spacing.rest_s())
    return rests


def test_small_batches_take_a_third_of_the_time_if_nobody_says_how_often_they_begin():
    assert rests_after({}, 0.01, 0.02, 0.05, 0.2, 0.01) == pytest.approx([-float("inf"), 0.02, 0.04, 0.05, -0.1, 0.02])


@pytest.mark.parametrize("key", ["execution.buffer-timeout.interval", "execution.buffer-timeout"])
def test_batches_begin_as_often_as_the_option_says(key):
    assert rests_after({key: "100 ms"}, 0.01, 0.2) == pytest.approx([-float("inf"), 0.09, -0.1])
    assert rests_after({key: "5 s"}, 0.01) == pytest.approx([-float("inf"), 4.99])
    assert rests_after({key: "0 ms"}, 0.01) == pytest.approx([-float("inf"), -0.01])


def test_batches_do_not_begin_sooner_without_a_buffer_timeout():
    """As `set_buffer_timeout(-1)` wants few and large ones."""
    assert rests_after({"execution.buffer-timeout.enabled": "false"}, 0.01) == pytest.approx([-float("inf"), 0.09])
