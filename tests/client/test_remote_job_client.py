"""Futures of a job on another cluster, which many may hold and none may break."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from firesteel.client.client_errors import JobFailedError
from firesteel.client.remote_job_client import RemoteJobClient
from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph.job_graph import JobGraph

_PATIENCE_S = 10


class _Cluster(RestClusterClient):
    """A cluster with a job that ends when it is told to."""

    def __init__(self) -> None:
        self.result: dict[str, Any] | None = None
        self.is_gone = False

    def submit(self, job_graph: JobGraph) -> None:
        pass

    def cancel(self, job_id: str) -> None:
        pass

    def execution_result(self, job_id: str) -> dict[str, Any] | None:
        if self.is_gone:
            raise ClusterClientError(503, "gone")
        return self.result


@pytest.fixture
def cluster() -> _Cluster:
    return _Cluster()


@pytest.fixture
def client(cluster: _Cluster) -> RemoteJobClient:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(str).print()
    return RemoteJobClient(cluster, env.get_stream_graph().get_job_graph())


def _ended(status: str) -> dict[str, Any]:
    return {"application-status": status, "id": "0" * 32, "net-runtime": 7}


def test_futures_of_the_result_leave_threads_to_other_questions(cluster: _Cluster, client: RemoteJobClient) -> None:
    results = [client.get_job_execution_result() for _ in range(100)]
    assert client.cancel().result(_PATIENCE_S) is None
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "job-result"] == [True]
    cluster.result = _ended("SUCCEEDED")
    assert {result.result(_PATIENCE_S).get_net_runtime() for result in results} == {7}


def test_a_cancelled_future_of_the_result_is_cancelled_alone(cluster: _Cluster, client: RemoteJobClient) -> None:
    given_up, kept = client.get_job_execution_result(), client.get_job_execution_result()
    assert given_up.cancel()
    assert given_up.cancelled()
    cluster.result = _ended("SUCCEEDED")
    assert kept.result(_PATIENCE_S).get_net_runtime() == 7
    assert not kept.cancelled()


def test_the_exception_of_a_future_is_what_its_result_raises(cluster: _Cluster, client: RemoteJobClient) -> None:
    cluster.result = _ended("FAILED")
    failed = client.get_job_execution_result()
    with pytest.raises(JobFailedError):
        failed.result(_PATIENCE_S)
    assert isinstance(failed.exception(), JobFailedError)


def test_the_result_is_asked_for_again_after_the_cluster_was_away(cluster: _Cluster, client: RemoteJobClient) -> None:
    cluster.is_gone = True
    with pytest.raises(ClusterClientError):
        client.get_job_execution_result().result(_PATIENCE_S)
    cluster.is_gone, cluster.result = False, _ended("SUCCEEDED")
    assert client.get_job_execution_result().result(_PATIENCE_S).get_net_runtime() == 7
