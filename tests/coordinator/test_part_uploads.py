"""Several checkpoints whose files are being uploaded: their limit, order, failures and timeouts."""

from __future__ import annotations

import pytest

from firesteel.coordinator.checkpoint_messages import Part
from firesteel.coordinator.part_uploads import CheckpointFailedError, PartUploads, WaitingPart
from firesteel.task.checkpoint_metadata import RegionState
from firesteel.task.state_transfer import Stored
from firesteel.task.versions import VersionFile


def uploads_of(**options: str) -> PartUploads:
    return PartUploads({f"execution.checkpointing.{key.replace('_', '-')}": value for key, value in options.items()})


def part(batch_id: int, *names: str) -> WaitingPart:
    """Return a part of one slot with these files, all of which are missing."""
    chain = tuple(VersionFile(name, 1, {}) for name in names)
    state = RegionState(batch_id, {(0, 0): chain}, {}, b"", None)
    return WaitingPart(Part(state, frozenset(), 0.0, {}, 0), set(names))


def begin(uploads: PartUploads, batch_id: int, *names: str, at: float = 100.0) -> WaitingPart:
    """Begin a checkpoint, none of whose files is stored."""
    waiting = part(batch_id, *names)
    assert uploads.begin(waiting, has_waited=False, is_last=False, now_s=at) is None
    return waiting


def stored(*names: str, **failures: str) -> list[Stored]:
    return [Stored(frozenset(names), tuple(failures.items()))]


def missing(uploads: PartUploads) -> set[str]:
    return set(uploads.missing().get((0, 0), ()))


@pytest.mark.parametrize("limit", [1, 3])
def test_a_checkpoint_is_postponed_while_as_many_as_allowed_are_pending(limit: int) -> None:
    uploads = uploads_of(max_concurrent_checkpoints=str(limit))
    for number in range(limit):
        assert uploads.may_begin(100.0)
        begin(uploads, number, f"f{number}")
    assert not uploads.may_begin(100.0)
    assert missing(uploads) == {f"f{number}" for number in range(limit)}
    assert uploads.take(stored("f0"), 100.0) is not None
    assert uploads.may_begin(100.0)


def test_checkpoints_complete_in_order_and_share_files() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2")
    first, second = begin(uploads, 0, "a"), begin(uploads, 1, "a", "b")
    assert uploads.take(stored("a"), 100.0) is first
    assert (uploads.is_busy, missing(uploads)) == (True, {"b"})
    assert uploads.take(stored("b"), 100.0) is second
    assert not uploads.is_busy
    assert not uploads.take_abandoned()


def test_a_complete_checkpoint_subsumes_older_ones_which_do_not_count_as_failed() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3")
    begin(uploads, 0, "a")
    begin(uploads, 1, "a", "b")
    newest = begin(uploads, 2, "c")
    assert uploads.take(stored("c"), 100.0) is newest
    assert (uploads.is_busy, uploads.needs_another, uploads.missing()) == (False, False, {})
    assert uploads.take_abandoned()
    assert not uploads.take_abandoned()
    assert uploads.take(stored("a", "b"), 100.0) is None


def test_a_requested_checkpoint_is_not_limited_and_leaves_pending_ones_if_it_fails() -> None:
    uploads = uploads_of(tolerable_failed_checkpoints="1")
    first = begin(uploads, 0, "a")
    uploads.take(stored(b="no space"), 100.0)
    assert uploads.begin(part(1, "a", "b"), has_waited=True, is_last=False, now_s=100.0) is None
    assert uploads.needs_another
    assert missing(uploads) == {"a"}
    assert uploads.take(stored("a"), 100.0) is first
    done = part(2)
    begin(uploads, 1, "c")
    assert uploads.begin(done, has_waited=True, is_last=False, now_s=100.0) is done
    assert not uploads.is_busy


def test_a_failed_upload_fails_one_checkpoint_and_is_repeated_for_the_others() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    second, third = begin(uploads, 1, "a", "b"), begin(uploads, 2, "a", "b", "c")
    assert uploads.take(stored(a="no space"), 100.0) is None
    assert not uploads.needs_another, "younger ones have the same data"
    assert missing(uploads) == {"a", "b", "c"}
    assert uploads.take(stored("a", "b"), 100.0) is second
    uploads.decided(100.0)
    assert uploads.take(stored(c="no space"), 100.0) is None
    assert (uploads.is_busy, uploads.needs_another) == (False, True)
    assert third.missing == {"c"}


def test_failures_of_pending_checkpoints_count_one_by_one() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    begin(uploads, 1, "a", "b")
    assert uploads.take(stored(a="no space"), 100.0) is None
    with pytest.raises(CheckpointFailedError, match=r"2 checkpoints failed in a row, .* is 1; the last one: no space"):
        uploads.take(stored(b="no space"), 100.0)


def test_failures_before_and_after_a_complete_checkpoint_are_not_consecutive() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    second = begin(uploads, 1, "b")
    begin(uploads, 2, "c")
    assert uploads.take(stored(a="no space"), 100.0) is None
    assert uploads.take(stored("b", c="no space"), 100.0) is second
    assert not uploads.is_busy


def test_a_failure_of_the_newest_checkpoint_needs_another_one_while_older_ones_are_pending() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="1")
    first = begin(uploads, 0, "a")
    begin(uploads, 1, "b")
    assert uploads.take(stored(b="no space"), 100.0) is None
    assert uploads.take(stored("a"), 100.0) is first
    assert uploads.needs_another
    begin(uploads, 2, "c")
    assert not uploads.needs_another


def test_each_checkpoint_has_its_own_timeout() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="5", timeout="10 s")
    begin(uploads, 0, "a", at=100.0)
    second = begin(uploads, 1, "b", at=106.0)
    assert uploads.take([], 112.0) is None
    assert (missing(uploads), uploads.needs_another) == ({"b"}, False)
    assert uploads.take(stored("b"), 100.0) is second


def test_the_pause_counts_from_the_last_completion_and_spaces_pending_checkpoints() -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", min_pause="5 s")
    begin(uploads, 0, "a", at=100.0)
    assert not uploads.may_begin(100.0)
    assert uploads.may_begin(105.0)
    begin(uploads, 1, "b", at=105.0)
    assert uploads.take(stored("a"), 109.0) is not None
    uploads.decided(109.0)
    assert (uploads.may_begin(113.0), uploads.pause_left_s(113.0)) == (False, 1.0)
    assert uploads.may_begin(114.0)
