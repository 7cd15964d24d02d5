"""The controller of batch sizes against engines whose costs are known."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.coordinator.batch_sizes import BatchSizes
from tests.seeds import examples

pytestmark = pytest.mark.slow

FIRST, MOST = 1000, 4_000_000
FIXED = st.floats(-3, 1.5).map(lambda power: 10**power)
"""1 ms to 30 s."""
MARGINAL = st.floats(-6, 0).map(lambda power: 10**power)
"""1 microsecond to 1 s."""


@dataclass
class Engine:
    """Runs batches of the size that the controller wants, with some noise, and an accident now and then."""

    fixed_s: float
    marginal_s: float
    noise: float = 0.0
    accidents: float = 0.0
    interval_s: float = 0.0
    start_s: float = 0.0
    seed: int = 0
    elements: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sizes = BatchSizes(FIRST, MOST, self.interval_s)
        self._random = random.Random(self.seed)

    def run(self, batches: int) -> None:
        self.elements, self.seconds = [], []
        for _ in range(batches):
            size = self.sizes.size
            seconds = (self.fixed_s + size * self.marginal_s) * self._random.uniform(1 - self.noise, 1 + self.noise)
            if self._random.random() < self.accidents:
                seconds *= 10
            seconds, self.start_s = seconds + self.start_s, 0.0
            self.elements.append(size)
            self.seconds.append(seconds)
            self.sizes.took(size, seconds)

    @property
    def rate(self) -> float:
        """Elements per second without the accidents, which no size prevents."""
        return sum(self.elements) / sum(self.fixed_s + size * self.marginal_s for size in self.elements)

    @property
    def best_rate(self) -> float:
        """Of the best constant size: as many as allowed, or as fit into the checkpoint interval if any do."""
        size = MOST
        if self.interval_s and self.fixed_s < 0.8 * self.interval_s:
            size = min(MOST, max(1, int((self.interval_s - self.fixed_s) / self.marginal_s)))
        return size / (self.fixed_s + size * self.marginal_s)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(FIXED, MARGINAL, st.sampled_from([0.0, 0.02]), st.integers(0, 99))
def test_throughput_approaches_that_of_the_best_constant_batch_size(
    fixed_s: float, marginal_s: float, noise: float, seed: int
) -> None:
    engine = Engine(fixed_s, marginal_s, noise, seed=seed)
    engine.run(12)
    engine.run(40)
    assert engine.rate >= 0.8 * engine.best_rate


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(FIXED, MARGINAL, st.integers(0, 99))
def test_occasional_slow_batches_hardly_lower_the_rate(fixed_s: float, marginal_s: float, seed: int) -> None:
    engine = Engine(fixed_s, marginal_s, 0.05, accidents=0.03, seed=seed)
    engine.run(15)
    engine.run(200)
    assert engine.rate >= 0.7 * engine.best_rate


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(FIXED, MARGINAL, FIXED, MARGINAL, st.integers(0, 99))
def test_batch_sizes_adapt_to_changed_costs(
    fixed_s: float, marginal_s: float, new_fixed_s: float, new_marginal_s: float, seed: int
) -> None:
    engine = Engine(fixed_s, marginal_s, 0.02, seed=seed)
    engine.run(30)
    engine.fixed_s, engine.marginal_s = new_fixed_s, new_marginal_s
    engine.run(40)
    engine.run(40)
    assert engine.rate >= 0.75 * engine.best_rate


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(FIXED, FIXED, MARGINAL)
def test_growing_fixed_costs_do_not_shrink_batches(fixed_s: float, more_s: float, marginal_s: float) -> None:
    engine = Engine(fixed_s, marginal_s)
    engine.run(30)
    before = engine.sizes.size
    engine.fixed_s += more_s
    engine.run(40)
    assert max(engine.elements[-3:]) >= 0.95 * before  # but for the batches that try a smaller size


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(FIXED, MARGINAL, st.floats(0.3, 60), st.integers(0, 99))
def test_checkpoints_are_on_time_if_fixed_costs_allow_it(
    fixed_s: float, marginal_s: float, interval_s: float, seed: int
) -> None:
    engine = Engine(fixed_s, marginal_s, 0.02, interval_s=interval_s, seed=seed)
    engine.run(15)
    engine.run(40)
    if fixed_s + marginal_s < 0.75 * interval_s:
        late = [seconds for seconds in engine.seconds if seconds > 1.2 * interval_s]
        assert len(late) <= 2
        assert engine.rate >= 0.7 * engine.best_rate


def test_fixed_costs_above_the_target_do_not_shrink_batches_forever() -> None:
    """With 64 slots on 2 cores a batch read 1000, 384, ... 74 elements, and a job did not end."""
    engine = Engine(fixed_s=4.0, marginal_s=2e-6)
    engine.run(10)
    assert engine.elements[-1] >= 100_000
    assert min(engine.elements) >= 10


@pytest.mark.parametrize("elements", [0, 3, 500])
def test_batches_with_little_input_do_not_enlarge_the_next_ones(elements: int) -> None:
    sizes = BatchSizes(FIRST, MOST)
    for _ in range(20):
        sizes.took(elements, 0.1)
    assert sizes.size <= 50 * max(elements, FIRST)


def test_the_first_batches_grow_quickly() -> None:
    engine = Engine(fixed_s=0.1, marginal_s=1e-6)
    engine.run(4)
    assert engine.elements[-1] > 1_000_000


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.floats(0.3, 3), st.floats(0.001, 0.05), st.floats(0, 10), st.integers(0, 99))
def test_a_slow_first_batch_does_not_hide_fixed_costs(
    fixed_s: float, marginal_s: float, start_s: float, seed: int
) -> None:
    """Of 64 sleeping slots, the first batch took 12 s, and further ones of 160 elements lost 0.4 s in 2 s."""
    engine = Engine(fixed_s, marginal_s, 0.02, start_s=start_s, seed=seed)
    engine.run(5)
    engine.run(8)
    assert engine.rate >= 0.88 * engine.best_rate


@pytest.mark.parametrize(("interval_s", "batch_s"), [(0, 10.5), (60, 10.5), (10, 3.5), (2, 1.85), (0.1, 3.5)])
def test_checkpoints_do_not_wait_long_for_a_batch(interval_s: float, batch_s: float) -> None:
    engine = Engine(fixed_s=0.5, marginal_s=0.01, interval_s=interval_s)
    engine.run(20)
    assert max(engine.seconds[-3:]) == pytest.approx(batch_s, rel=0.02)
