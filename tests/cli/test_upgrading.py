"""What runs after an upgrade that was interrupted or failed, at each of its steps."""

from __future__ import annotations

from typing import Any, Final

import pytest

from firesteel.cli.upgrade_errors import UpgradeError
from firesteel.cli.upgrading import Upgrade, UpgradingCluster
from firesteel.client.rest_client import ClusterClientError
from firesteel.graph.job_graph import JobGraph
from tests.runtime.helpers import job_graph

FORMER: Final = "f" * 32
OPTIONS: Final = {"execution.state-recovery.claim-mode": "CLAIM"}

Failure = type[BaseException] | BaseException


class Scripted(UpgradingCluster):
    """A cluster on which chosen steps fail, each as often as it has failures."""

    def __init__(self, **failures: list[Failure]) -> None:
        self.told: list[str] = []
        super().__init__("127.0.0.1:1", "token", {}, Upgrade(FORMER, None, 0.0, False, False), self.told.append)
        self.failures = failures
        self.answers: list[dict[str, Any] | ClusterClientError] = []
        self.asked: list[str] = []
        self.submitted: list[JobGraph] = []

    def step(self, name: str) -> None:
        self.asked.append(name)
        if self.failures.get(name):
            raise self.failures[name].pop(0)

    def send(self, method: str, path: str, *_: object, **__: object) -> object:
        answer = self.answers.pop(0)
        if isinstance(answer, ClusterClientError):
            raise answer
        return answer

    def _compare(self, job_graph: JobGraph) -> None:
        self.step("compare")

    def job_graph(self, job_id: str) -> bytes:
        return b"former"

    def trigger_stop(self, job_id: str, directory: str | None, drain: bool) -> str:
        self.step("stop")
        return "trigger"

    def savepoint_location(self, job_id: str, trigger_id: str) -> str:
        self.step("savepoint")
        return "/savepoint"

    def _submit(self, plan: bytes, artifacts: object, **fields: str) -> None:
        self.step("again" if plan == b"former" else "submit")

    def _watch(self, job_id: str) -> None:
        self.step("watch")

    def _cancel(self, job_id: str) -> None:
        self.step("cancel")


def upgraded(cluster: Scripted) -> str:
    """The error of an upgrade."""
    with pytest.raises(UpgradeError) as caught:
        cluster.submit(job_graph(("a", 1, [])))
    assert cluster.failure is caught.value
    return str(caught.value)


@pytest.mark.parametrize("step", ["submit", "watch"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError("no more files"), UpgradeError("it restarted")])
def test_the_former_program_runs_again_however_the_new_one_ends(step: str, failure: Failure) -> None:
    cluster = Scripted(**{step: [failure]})
    assert "the former one runs again as job" in upgraded(cluster)
    assert cluster.asked[-2:] == ["cancel", "again"]
    assert not cluster.successor


def test_the_former_program_runs_again_if_its_stop_is_interrupted() -> None:
    cluster = Scripted(savepoint=[KeyboardInterrupt])
    assert "interrupted, so the former one runs again as job" in upgraded(cluster)
    assert cluster.asked == ["compare", "stop", "savepoint", "savepoint", "again"]


def test_a_job_whose_state_is_not_known_runs_on() -> None:
    cluster = Scripted(compare=[ClusterClientError(409, "the job restarts")])
    assert upgraded(cluster) == f"job {FORMER} is not replaced, as its state can't be compared: the job restarts"
    assert cluster.asked == ["compare"]


def test_a_checkpoint_is_waited_for_while_the_job_is_between_two_executions() -> None:
    cluster = Scripted()
    refused = ClusterClientError(409, "the job is RUNNING, and has no query that takes checkpoints")
    cluster.answers = [
        {"job-type": "STREAMING"},
        {"status": "RESTARTING"},
        *({"status": "RUNNING"}, refused),
        *(
            {"status": "RUNNING"},
            {"request-id": "1"},
            {"status": {"id": "COMPLETED"}, "operation": {"checkpointId": 7}},
        ),
    ]
    cluster._await_checkpoint()
    assert cluster.answers == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([{"job-type": "STREAMING"}, {"status": "CANCELED"}], "is CANCELED, expected RUNNING"),
        (
            [{"job-type": "BATCH"}, {"status": "RUNNING"}, ClusterClientError(409, "not a streaming job")],
            "not a streaming",
        ),
    ],
)
def test_a_checkpoint_that_never_comes_is_not_waited_for(answers: list[Any], said: str) -> None:
    cluster = Scripted()
    cluster.answers = answers
    with pytest.raises(UpgradeError, match=said):
        cluster._await_checkpoint()
    assert cluster.answers == []


def test_it_is_said_what_may_run_if_that_is_not_known() -> None:
    twice: list[Failure] = [KeyboardInterrupt, KeyboardInterrupt]
    for cluster in (Scripted(stop=[KeyboardInterrupt]), Scripted(savepoint=twice)):
        assert f"job {FORMER} was asked to stop with a savepoint, and nothing replaces it" in upgraded(cluster)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("RUNNING", f"job {FORMER} is not replaced, and is RUNNING, as it did not stop: too slow"),
        ("FINISHED", f"job {FORMER} was asked to stop with a savepoint, and nothing replaces it (too slow)"),
        (None, f"job {FORMER} was asked to stop with a savepoint, and nothing replaces it (too slow)"),
    ],
)
def test_a_stop_that_fails_tells_whether_the_job_runs(status: str | None, said: str) -> None:
    cluster = Scripted(savepoint=[ClusterClientError(0, "too slow")])
    cluster.answers = [ClusterClientError(0, "gone") if status is None else {"status": status}]
    assert said in upgraded(cluster)


def test_a_new_leader_is_waited_for_once_the_former_job_is_stopped() -> None:
    cluster = Scripted()
    gone = ClusterClientError(0, "no JobManager responds")
    cluster.answers = [gone]
    with pytest.raises(ClusterClientError):
        cluster.job_status(FORMER)
    cluster._has_stopped("/savepoint")
    cluster.answers = [gone, {"status": "RUNNING"}, gone, gone, {"status": "CANCELED"}]
    UpgradingCluster._cancel(cluster, FORMER)
    assert cluster.answers == []


@pytest.mark.parametrize("step", ["cancel", "again"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, ClusterClientError(0, "no JobManager responds")])
def test_the_savepoint_is_named_if_the_former_program_can_not_be_started(step: str, failure: Failure) -> None:
    text = upgraded(Scripted(watch=[UpgradeError("it restarted")], **{step: [failure]}))
    assert f"job {FORMER} is stopped" in text
    assert "start the former program with `firesteel run -s /savepoint`" in text


def test_the_new_program_does_not_claim_the_savepoint_that_the_former_one_may_need() -> None:
    graph = job_graph(("a", 1, []), configuration=dict(OPTIONS))
    Scripted().submit(graph)
    assert graph.configuration["execution.state-recovery.claim-mode"] == "NO_CLAIM"
