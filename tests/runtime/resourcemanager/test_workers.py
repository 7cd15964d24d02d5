"""The number of requested containers (scenarios K)."""

from __future__ import annotations

import pytest

from firesteel.runtime.resourcemanager.workers import (
    DelayWorkerRequests,
    ReleaseContainer,
    RemoveContainerRequest,
    RequestContainers,
    SetFrameworkHeartbeat,
    StartProcess,
    StopProcess,
    WorkerCountError,
    Workers,
    WorkersLost,
)

FAST, SLOW = SetFrameworkHeartbeat(True), SetFrameworkHeartbeat(False)


def test_a_granted_container_gets_a_worker_and_its_request_is_removed() -> None:  # K10
    workers = Workers()
    workers.request(2)
    assert workers.granted(["c1"]) == [RemoveContainerRequest(), StartProcess("c1")]
    assert (workers.pending, workers.known) == (1, {"c1"})


def test_containers_beyond_the_pending_requests_are_returned() -> None:  # K11
    workers = Workers()
    assert workers.granted(["early"]) == [ReleaseContainer("early"), SLOW]
    workers.request(2)
    actions = workers.granted(["c1", "c2", "c3"])
    assert [action for action in actions if isinstance(action, ReleaseContainer)] == [ReleaseContainer("c3")]
    assert workers.known == {"c1", "c2"}


@pytest.mark.parametrize(("wanted_slots", "containers"), [(0, 0), (1, 1), (2, 1), (3, 2)])
def test_a_worker_that_does_not_start_is_replaced_if_its_slots_are_wanted(
    wanted_slots: int, containers: int
) -> None:  # K12 K13
    workers = Workers(slots_per_worker=2)
    workers.request(1)
    workers.granted(["c1"])
    assert workers.start_failed("c1", 0) == [ReleaseContainer("c1"), WorkersLost(1)]
    assert workers.require(wanted_slots) == ([RequestContainers(containers), FAST] if containers else [])
    assert workers.known == frozenset()


def test_pending_containers_count_with_all_their_slots() -> None:  # K13
    workers = Workers(slots_per_worker=2)
    workers.request(2)
    assert workers.require(wanted_slots=4) == []
    assert workers.require(wanted_slots=5) == [RequestContainers(1)]


def test_a_container_stopped_on_request_is_not_replaced() -> None:  # K14 K15
    workers = Workers()
    workers.request(1)
    workers.granted(["c1"])
    assert workers.stop("c1") == [StopProcess("c1"), ReleaseContainer("c1")]
    assert workers.known == frozenset()
    assert workers.completed("c1", True, 0) is None


def test_a_worker_that_ended_before_it_registered_never_brings_its_slots() -> None:  # K14
    workers = Workers()
    workers.request(2)
    workers.granted(["c1", "c2"])
    assert workers.completed("c1", True, 0) == []
    assert workers.completed("c2", False, 0) == [WorkersLost(1)]


def test_a_different_number_of_pending_requests_at_the_framework_is_an_error() -> None:  # K16
    workers = Workers()
    workers.request(2)
    assert workers.granted(["c1"], pending_at_framework=2)
    with pytest.raises(WorkerCountError, match="1 workers are pending here, but 2 at the cluster's framework"):
        workers.granted(["c2"], pending_at_framework=2)


def test_the_framework_is_polled_often_only_while_containers_are_pending() -> None:  # K17
    workers = Workers()
    assert workers.request(1) == [RequestContainers(1), FAST]
    assert workers.request(1) == [RequestContainers(1)]
    assert SLOW not in workers.granted(["c1"])
    assert workers.granted(["c2"])[-1] == SLOW


def test_workers_of_a_former_leader_are_known_and_not_pending() -> None:  # K18
    workers = Workers()
    workers.recover(["old"])
    assert (workers.known, workers.pending) == ({"old"}, 0)
    assert workers.completed("old", True, 0) == []
    assert workers.require(1) == [RequestContainers(1), FAST]


def test_too_many_failures_within_a_minute_delay_further_requests() -> None:  # K19
    workers = Workers(max_failures_per_minute=2, retry_interval_s=3)
    workers.recover(["a", "b", "c", "d"])
    assert [workers.completed(name, True, at_s) for at_s, name in enumerate("abcd")] == [
        [],
        [],
        [DelayWorkerRequests(3)],
        [],
    ]
    assert workers.require(1) == []
    assert workers.retry_due(wanted_slots=4) == [RequestContainers(4), FAST]


def test_failures_of_long_ago_do_not_count() -> None:  # K19
    workers = Workers(max_failures_per_minute=1)
    workers.recover(["a", "b"])
    workers.completed("a", True, 0)
    assert workers.completed("b", True, 60) == []
