"""Client of a cluster's REST API (Flink: `client.program.rest.RestClusterClient`)."""

from __future__ import annotations

import base64
import contextlib
import json
import pickle
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from firesteel.client.rest_connection import NO_LEADER, POLL_S, TOKEN, ClusterClientError, RestConnection
from firesteel.client.user_modules import pickle_user_modules_by_value
from firesteel.common.trust import pickling
from firesteel.common.trust.message_proof import content_digest, form_digest
from firesteel.graph.artifacts import pack_artifacts
from firesteel.graph.job_graph import JobGraph
from firesteel.rest.progress_message import details_of
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.spark.collect_buffers import CollectRequest, CollectResponse

__all__ = ["DEFAULT_ADDRESS", "ENDED", "NO_LEADER", "TOKEN", "ClusterClientError", "RestClusterClient"]

DEFAULT_ADDRESS = "127.0.0.1:8081"
ENDED = ("FINISHED", "CANCELED", "FAILED")
"""The states of jobs that have ended."""

_PLAN_FILE = "jobgraph.pickle"
_TRACEBACK = re.compile(r"\n(?:Traceback|  File \")")
"""Where the traceback of an exception of `/jobs/:id/exceptions` begins: the whole one, or the user's frames."""


class RestClusterClient(RestConnection):
    """A client of the cluster at an address.

    Args:
        address: `host:port`, `http://host:port` or `https://host:port`.
        token: The bearer token; None uses the token of this user's JobManager on this machine, if there is one.
        configuration: The TLS options: whether to use TLS, the trusted certificates and the client's own one; and how
            often to ask a JobManager that is away.

    Raises:
        InvalidOptionError: a file of the TLS options cannot be used.
        UnsafeDirectoryError: other users could have written the token.
    """

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return all jobs as in `/jobs/overview`."""
        return list(self.get("/jobs/overview")["jobs"])

    def job_status(self, job_id: str) -> str:
        """Return the status of a job."""
        return str(self.get(f"/jobs/{job_id}/status")["status"])

    def printed(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed, from an offset in characters on, and the offset at which it begins."""
        answer = self.get(f"/firesteel/jobs/{job_id}/stdout?offset={offset}")
        return answer["offset"], answer["text"]

    def progress(self, job_id: str) -> JobDetails:
        """Return what to show of a job while it runs, and at its end."""
        return details_of(self.get(f"/firesteel/jobs/{job_id}/progress"))

    def restart(self, job_id: str) -> tuple[int, str]:
        """Return how often a job has restarted, and the cause of the last failure without traceback, if any."""
        number = int(self.get(f"/jobs/{job_id}/metrics?get=numRestarts")[0]["value"])
        if number == 0:
            return 0, ""
        entries = self.get(f"/jobs/{job_id}/exceptions?maxExceptions=1")["exceptionHistory"]["entries"]
        return number, "" if not entries else _TRACEBACK.split(str(entries[0]["stacktrace"]), 1)[0]

    def cancel(self, job_id: str) -> None:
        """Request the cancellation of a job; return before it is cancelled."""
        self.send("PATCH", f"/jobs/{job_id}?mode=cancel")

    def trigger_savepoint(self, job_id: str, directory: str | None, cancels: bool = False) -> str:
        """Trigger a savepoint, optionally cancel the job with it, and return the trigger id."""
        body = {"target-directory": directory, "cancel-job": cancels}
        return str(self.send("POST", f"/jobs/{job_id}/savepoints", body)["request-id"])

    def trigger_stop(self, job_id: str, directory: str | None, drain: bool) -> str:
        """Trigger a savepoint that stops the job, and return the trigger id."""
        trigger = self.send("POST", f"/jobs/{job_id}/stop", {"targetDirectory": directory, "drain": drain})
        return str(trigger["request-id"])

    def savepoint_location(self, job_id: str, trigger_id: str) -> str:
        """Wait for a savepoint and return its path.

        Raises:
            ClusterClientError: the savepoint failed.
        """
        return str(self._outcome(f"/jobs/{job_id}/savepoints/{trigger_id}")["location"])

    def checkpoint(self, job_id: str, checkpoint_type: str) -> int:
        """Take a checkpoint of type CONFIGURED, FULL or INCREMENTAL and return its id."""
        trigger = self.send("POST", f"/jobs/{job_id}/checkpoints", {"checkpointType": checkpoint_type})
        return int(self._outcome(f"/jobs/{job_id}/checkpoints/{trigger['request-id']}")["checkpointId"])

    def set_log_levels(self, levels: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Set levels of the JobManager's loggers, and return all that are set."""
        found: dict[str, str] = self.send("PUT", "/firesteel/log-levels", dict(levels))
        return found

    def require(self, job_id: str, bounds: Mapping[str, tuple[int, int]]) -> None:
        """Set the smallest and largest parallelism of each vertex of a running job, by its id."""
        body = {
            vertex: {"parallelism": {"lowerBound": lower, "upperBound": upper}}
            for vertex, (lower, upper) in bounds.items()
        }
        self.send("PUT", f"/jobs/{job_id}/resource-requirements", body)

    def dispose_savepoint(self, path: str) -> None:
        """Dispose of a savepoint."""
        trigger = self.send("POST", "/savepoint-disposal", {"savepoint-path": path})
        self._outcome(f"/savepoint-disposal/{trigger['request-id']}")

    def _outcome(self, path: str) -> dict[str, Any]:
        """Wait for an asynchronous operation and return its result.

        Raises:
            ClusterClientError: the operation failed.
        """
        while (answer := self.get(path))["status"]["id"] != "COMPLETED":
            time.sleep(POLL_S)
        operation: dict[str, Any] = answer["operation"]
        # Flink spells it differently for savepoints and for checkpoints.
        for failure_name in ("failure-cause", "failureCause"):
            if operation.get(failure_name) is not None:
                raise ClusterClientError(0, operation[failure_name]["stack-trace"])
        return operation

    def submit(self, job_graph: JobGraph) -> None:
        """Submit a job, together with the files that its options name.

        Raises:
            ArtifactError: a file cannot be read.
            ClusterClientError: the cluster rejected the job.
        """
        artifacts = pack_artifacts(job_graph)
        pickle_user_modules_by_value()
        self._submit(pickling.dumps(job_graph), artifacts)

    def job_graph(self, job_id: str) -> bytes:
        """Return the graph of a job that has not ended, for `submit_again`."""
        answer = self.get(f"/firesteel/jobs/{job_id}/job-graph")
        return base64.b64decode(answer["serializedJobGraph"])

    def submit_again(self, job_graph: bytes, savepoint: str) -> str:
        """Submit the graph of a former job, let it start from its savepoint, and return the id of the new job."""
        job_id = uuid.uuid4().hex
        self._submit(job_graph, {}, jobId=job_id, savepointPath=savepoint)
        return job_id

    def _submit(self, plan: bytes, artifacts: Mapping[str, bytes], **fields: str) -> None:
        request: dict[str, Any] = {"executionPlanFileName": _PLAN_FILE, "jobJarFileNames": [], **fields}
        request["jobArtifactFileNames"] = [{"entryName": name, "fileName": name} for name in artifacts]
        boundary = uuid.uuid4().hex
        parts: list[tuple[str, str, str, bytes]] = [("request", "", "application/json", json.dumps(request).encode())]
        for number, (name, content) in enumerate({_PLAN_FILE: plan, **artifacts}.items()):
            parts.append((f"file_{number}", name, "application/octet-stream", content))
        data = b"".join(_part(boundary, *part) for part in parts) + f"--{boundary}--\r\n".encode()
        digest = form_digest((name, file_name, content_digest(content)) for name, file_name, _, content in parts)
        self.upload("/jobs", data, f"multipart/form-data; boundary={boundary}", digest)

    def collected(self, job_id: str, collect_id: str, request: CollectRequest) -> CollectResponse:
        """Return the next elements of a collecting sink; retry while a leader is elected.

        Raises:
            ClusterClientError: elements are lost, or the cluster is unreachable or not trusted.
        """
        self.check_results_can_be_trusted()
        path = f"/jobs/{job_id}/coordinators/{collect_id}"
        body = {"serializedCoordinationRequest": base64.b64encode(request.to_bytes()).decode()}
        answer = self.while_leader_is_elected(lambda: self.send("POST", path, body))
        response: CollectResponse = pickle.loads(base64.b64decode(answer["serializedCoordinationResult"]))
        return response

    def execution_result(self, job_id: str) -> dict[str, Any] | None:
        """Return the result of a job, or None while it is running."""
        result: dict[str, Any] | None = self.get(_result_path(job_id))["job-execution-result"]
        return result

    def has_ended(self, job_id: str) -> bool:
        """Return whether a job has ended, False if the cluster does not answer at once."""
        with contextlib.suppress(ClusterClientError):
            return self.send("GET", _result_path(job_id))["job-execution-result"] is not None
        return False


def _result_path(job_id: str) -> str:
    return f"/jobs/{job_id}/execution-result"


def _part(boundary: str, name: str, file_name: str, content_type: str, data: bytes) -> bytes:
    file = f'; filename="{file_name}"' if file_name else ""
    head = f'Content-Disposition: form-data; name="{name}"{file}\r\nContent-Type: {content_type}'
    return f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
