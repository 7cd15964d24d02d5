"""`CheckpointSchedule` with batches of several lengths."""

import pytest

from firesteel.coordinator.checkpoint_schedule import CheckpointSchedule


def checkpoints_of(interval_s: float, batch_s: float, pause_s: float = 0.0, until_s: float = 100.0) -> list[float]:
    """Return when checkpoints were complete if batches followed each other."""
    schedule, taken, now = CheckpointSchedule(interval_s), [], 0.0
    while now < until_s:
        begun, now = now, now + batch_s
        if schedule.is_due(begun, batch_s):
            schedule.taken(begun, now)
            taken.append(now)
        now += min(pause_s, max(0.0, schedule.due_in_s(now)))  # an idle region wakes up for its checkpoint
    return taken


@pytest.mark.parametrize(("batch_s", "pause_s"), [(0.06, 0.04), (0.3, 0.0), (0.7, 0.0), (0.95, 0.0), (0.01, 0.7)])
def test_shorter_batches_keep_the_rate(batch_s: float, pause_s: float) -> None:
    assert len(checkpoints_of(1.0, batch_s, pause_s)) == pytest.approx(100, abs=2)


def test_each_batch_longer_than_the_interval_ends_with_a_checkpoint() -> None:
    assert len(checkpoints_of(1.0, 4.0)) == 25


def test_without_an_interval_each_batch_ends_with_a_checkpoint() -> None:
    assert len(checkpoints_of(0.0, 0.5)) == 200


def test_a_checkpoint_that_was_asked_for_moves_the_next_one() -> None:
    schedule = CheckpointSchedule(10.0)
    schedule.taken(0.0, 0.1)
    schedule.taken(4.0, 4.1)  # not due before 10.0
    assert schedule.due_in_s(4.1) == pytest.approx(10.0)


def test_a_late_checkpoint_is_not_made_up() -> None:
    schedule = CheckpointSchedule(1.0)
    schedule.taken(0.0, 0.1)
    schedule.taken(7.5, 7.6)
    assert schedule.due_in_s(7.6) == pytest.approx(0.9)
