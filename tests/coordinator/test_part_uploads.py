"""Several checkpoints whose files are being uploaded: their limit, order, failures and timeouts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.coordinator import part_uploads
from firesteel.coordinator.checkpoint_parts import Part
from firesteel.coordinator.part_uploads import CheckpointFailedError, PartUploads, WaitingPart
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.task.checkpoint_metadata import RegionState
from firesteel.task.state_transfer import Stored
from firesteel.task.versions import VersionFile


class Clock:
    """A monotonic clock that tests advance."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr(part_uploads, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def uploads_of(**options: str) -> PartUploads:
    configuration = {f"execution.checkpointing.{key.replace('_', '-')}": value for key, value in options.items()}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration))
    source = NumberSequenceSource(1, 2)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).print()
    return PartUploads(env.get_stream_graph().get_job_graph())


def part(batch_id: int, *names: str) -> WaitingPart:
    """Return a part of one slot with these files, all of which are missing."""
    chain = tuple(VersionFile(name, 1, {}) for name in names)
    state = RegionState(batch_id, {(0, 0): chain}, {}, b"", None)
    return WaitingPart(Part(state, frozenset(), 0.0, {}, 0), set(names))


def begin(uploads: PartUploads, batch_id: int, *names: str) -> WaitingPart:
    """Begin a checkpoint, none of whose files is stored."""
    waiting = part(batch_id, *names)
    assert uploads.begin(waiting, has_waited=False, is_last=False) is None
    return waiting


def stored(*names: str, **failures: str) -> list[Stored]:
    return [Stored(frozenset(names), tuple(failures.items()))]


def missing(uploads: PartUploads) -> set[str]:
    return set(uploads.missing().get((0, 0), ()))


@pytest.mark.parametrize("limit", [1, 3])
def test_a_checkpoint_is_postponed_while_as_many_as_allowed_are_pending(limit: int, clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints=str(limit))
    for number in range(limit):
        assert uploads.may_begin
        begin(uploads, number, f"f{number}")
    assert not uploads.may_begin
    assert missing(uploads) == {f"f{number}" for number in range(limit)}
    assert uploads.take(stored("f0")) is not None
    assert uploads.may_begin


def test_checkpoints_complete_in_order_and_share_files(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2")
    first, second = begin(uploads, 0, "a"), begin(uploads, 1, "a", "b")
    assert uploads.take(stored("a")) is first
    assert (uploads.is_busy, missing(uploads)) == (True, {"b"})
    assert uploads.take(stored("b")) is second
    assert not uploads.is_busy
    assert not uploads.take_abandoned()


def test_a_complete_checkpoint_subsumes_older_ones_which_do_not_count_as_failed(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3")
    begin(uploads, 0, "a")
    begin(uploads, 1, "a", "b")
    newest = begin(uploads, 2, "c")
    assert uploads.take(stored("c")) is newest
    assert (uploads.is_busy, uploads.needs_another, uploads.missing()) == (False, False, {})
    assert uploads.take_abandoned()
    assert not uploads.take_abandoned()
    assert uploads.take(stored("a", "b")) is None


def test_a_requested_checkpoint_is_not_limited_and_leaves_pending_ones_if_it_fails(clock: Clock) -> None:
    uploads = uploads_of(tolerable_failed_checkpoints="1")
    first = begin(uploads, 0, "a")
    uploads.take(stored(b="no space"))
    assert uploads.begin(part(1, "a", "b"), has_waited=True, is_last=False) is None
    assert uploads.needs_another
    assert missing(uploads) == {"a"}
    assert uploads.take(stored("a")) is first
    done = part(2)
    begin(uploads, 1, "c")
    assert uploads.begin(done, has_waited=True, is_last=False) is done
    assert not uploads.is_busy


def test_a_failed_upload_fails_one_checkpoint_and_is_repeated_for_the_others(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    second, third = begin(uploads, 1, "a", "b"), begin(uploads, 2, "a", "b", "c")
    assert uploads.take(stored(a="no space")) is None
    assert not uploads.needs_another, "younger ones have the same data"
    assert missing(uploads) == {"a", "b", "c"}
    assert uploads.take(stored("a", "b")) is second
    uploads.decided()
    assert uploads.take(stored(c="no space")) is None
    assert (uploads.is_busy, uploads.needs_another) == (False, True)
    assert third.missing == {"c"}


def test_failures_of_pending_checkpoints_count_one_by_one(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    begin(uploads, 1, "a", "b")
    assert uploads.take(stored(a="no space")) is None
    with pytest.raises(CheckpointFailedError, match=r"2 checkpoints failed in a row, .* is 1; the last one: no space"):
        uploads.take(stored(b="no space"))


def test_failures_before_and_after_a_complete_checkpoint_are_not_consecutive(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", tolerable_failed_checkpoints="1")
    begin(uploads, 0, "a")
    second = begin(uploads, 1, "b")
    begin(uploads, 2, "c")
    assert uploads.take(stored(a="no space")) is None
    assert uploads.take(stored("b", c="no space")) is second
    assert not uploads.is_busy


def test_a_failure_of_the_newest_checkpoint_needs_another_one_while_older_ones_are_pending(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="1")
    first = begin(uploads, 0, "a")
    begin(uploads, 1, "b")
    assert uploads.take(stored(b="no space")) is None
    assert uploads.take(stored("a")) is first
    assert uploads.needs_another
    begin(uploads, 2, "c")
    assert not uploads.needs_another


def test_each_checkpoint_has_its_own_timeout(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="2", tolerable_failed_checkpoints="5", timeout="10 s")
    begin(uploads, 0, "a")
    clock.now += 6
    second = begin(uploads, 1, "b")
    clock.now += 6
    assert uploads.take([]) is None
    assert (missing(uploads), uploads.needs_another) == ({"b"}, False)
    assert uploads.take(stored("b")) is second


def test_the_pause_counts_from_the_last_completion_and_spaces_pending_checkpoints(clock: Clock) -> None:
    uploads = uploads_of(max_concurrent_checkpoints="3", min_pause="5 s")
    begin(uploads, 0, "a")
    assert not uploads.may_begin
    clock.now += 5
    assert uploads.may_begin
    begin(uploads, 1, "b")
    clock.now += 4
    assert uploads.take(stored("a")) is not None
    uploads.decided()
    clock.now += 4
    assert (uploads.may_begin, uploads.pause_left_s) == (False, 1.0)
    clock.now += 1
    assert uploads.may_begin
