"""Restart strategies (scenarios Q)."""

from __future__ import annotations

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.scheduler.restart_strategy import (
    ExponentialDelayRestartStrategy,
    NoRestartStrategy,
    RestartStrategy,
    describe_restart_strategy,
    restart_strategy,
)


def after_failures(strategy: RestartStrategy, *at_s: float) -> list[bool]:
    answers = []
    for now_s in at_s:
        strategy.notify_failure(now_s)
        answers.append(strategy.can_restart())
    return answers


def test_without_a_strategy_the_first_failure_is_the_last() -> None:  # Q01
    assert after_failures(restart_strategy({}), 0) == [False]
    assert after_failures(restart_strategy({"restart-strategy.type": "off"}), 0) == [False]


def test_fixed_delay_restarts_a_number_of_times_over_the_jobs_life() -> None:  # Q02
    strategy = restart_strategy(
        {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "2",
            "restart-strategy.fixed-delay.delay": "3 s",
        }
    )
    assert after_failures(strategy, 0, 1000, 100_000) == [True, True, False]
    assert strategy.backoff_s() == 3
    assert str(strategy) == "FixedDelayRestartBackoffTimeStrategy(maxNumberRestartAttempts=2, backoffTimeMS=3000)"


def test_failure_rate_counts_within_a_sliding_interval() -> None:  # Q03
    options = {
        "restart-strategy.type": "failure-rate",
        "restart-strategy.failure-rate.max-failures-per-interval": "2",
        "restart-strategy.failure-rate.failure-rate-interval": "10 s",
    }
    assert after_failures(restart_strategy(options), 0, 1, 2) == [True, True, False]
    assert after_failures(restart_strategy(options), 0, 1, 11, 12) == [True, True, True, True]


def test_exponential_delay_grows_and_is_reset_after_a_quiet_time() -> None:  # Q04
    strategy = ExponentialDelayRestartStrategy(1, 5, 2, reset_threshold_s=100, jitter=0)
    delays = []
    for now_s in (0, 10, 20, 30, 40, 1000):
        strategy.notify_failure(now_s)
        assert strategy.can_restart()
        delays.append(strategy.backoff_s())
    assert delays == [1, 2, 4, 5, 5, 1]


def test_exponential_delay_jitters_both_ways() -> None:  # Q04
    for random, expected in ((0.0, 9), (1.0, 11)):
        strategy = ExponentialDelayRestartStrategy(10, jitter=0.1, random_=lambda value=random: value)
        strategy.notify_failure(0)
        assert strategy.backoff_s() == pytest.approx(expected)


def test_failures_within_the_present_delay_count_as_one() -> None:  # Q06
    strategy = ExponentialDelayRestartStrategy(10, 100, 2, jitter=0, attempts=1)
    assert after_failures(strategy, 0, 5, 9) == [True, True, True]
    assert strategy.backoff_s() == 10
    assert after_failures(strategy, 11) == [False]


def test_each_failure_after_an_early_restart_counts() -> None:
    strategy = ExponentialDelayRestartStrategy(10, 10, 2, jitter=0.1, attempts=3, random_=lambda: 0.0)
    now_s, restarts = 0.0, 0
    strategy.notify_failure(now_s)
    while strategy.can_restart():
        restarts += 1
        now_s += strategy.backoff_s() + 0.01
        strategy.notify_failure(now_s)
    assert restarts == 3


def test_an_unknown_strategy_is_reported_with_the_known_ones() -> None:
    with pytest.raises(InvalidOptionError, match=r"'sometimes' is unknown; allowed: none, .*fixed-delay"):
        restart_strategy({"restart-strategy.type": "sometimes"})


def test_an_invalid_duration_is_rejected_with_its_option() -> None:
    with pytest.raises(InvalidOptionError, match=r"fixed-delay.delay': 'soon' is not a duration: text does not"):
        restart_strategy(
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "soon"},
        )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("initial-backoff", "0 s"),
        ("initial-backoff", "2 min"),
        ("max-backoff", "10 ms"),
        ("backoff-multiplier", "1"),
        ("backoff-multiplier", "nan"),
        ("jitter-factor", "1.1"),
        ("jitter-factor", "-0.1"),
        ("jitter-factor", "nan"),
        ("reset-backoff-threshold", "0 s"),
        ("attempts-before-reset-backoff", "0"),
        ("attempts-before-reset-backoff", "1.5"),
    ],
)
def test_delays_that_do_not_grow_are_refused_as_by_flink(option: str, value: str) -> None:
    options = {"restart-strategy.type": "exponential-delay", f"restart-strategy.exponential-delay.{option}": value}
    with pytest.raises(InvalidOptionError, match=r"restart-strategy\.exponential-delay"):
        restart_strategy(options)


def test_jitter_makes_no_delay_longer_than_the_longest() -> None:
    strategy = ExponentialDelayRestartStrategy(4, 5, 2, jitter=1, random_=lambda: 1.0)
    strategy.notify_failure(0)
    assert strategy.backoff_s() == 5


def test_without_a_strategy_checkpoints_decide() -> None:  # Q05
    assert isinstance(restart_strategy({}), NoRestartStrategy)
    assert isinstance(restart_strategy({"execution.checkpointing.interval": "0"}), NoRestartStrategy)
    with_checkpoints = {"execution.checkpointing.interval": "10 s"}
    assert isinstance(restart_strategy(with_checkpoints), ExponentialDelayRestartStrategy)
    assert isinstance(restart_strategy({**with_checkpoints, "restart-strategy.type": "none"}), NoRestartStrategy)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "Cluster level default restart strategy"),
        ({"type": "disable"}, "Restart deactivated."),
        (
            {"type": "fixed-delay", "fixed-delay.attempts": "1000", "fixed-delay.delay": "3 s"},
            "Restart with fixed delay (PT3S). #1000 restart attempts.",
        ),
        (
            {
                "type": "failure-rate",
                "failure-rate.max-failures-per-interval": "2",
                "failure-rate.failure-rate-interval": "90 s",
                "failure-rate.delay": "500 ms",
            },
            "Failure rate restart with maximum of 2 failures within interval PT1M30S and fixed delay PT0.5S.",
        ),
        (
            {"type": "exponential-delay", "exponential-delay.max-backoff": "2 min"},
            "Restart with exponential delay: starting at PT1S, increasing by 1.5, with maximum PT2M. "
            "Delay resets after PT1H with jitter 0.1",
        ),
    ],
)
def test_a_strategy_is_described_as_in_flinks_rest_api(options: dict[str, str], text: str) -> None:  # Q08
    assert describe_restart_strategy({f"restart-strategy.{name}": value for name, value in options.items()}) == text
