"""Client of a cluster's REST API (Flink: `client.program.rest.RestClusterClient`)."""

from __future__ import annotations

import base64
import hmac
import json
import pickle
import ssl
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from firesteel.client.user_modules import pickle_user_modules_by_value
from firesteel.common.files.run_directory import read_token
from firesteel.common.trust import pickling
from firesteel.common.trust.loopback import is_loopback
from firesteel.common.trust.message_proof import ANSWER_PROOF, RequestProof, answer_proof, content_digest, form_digest
from firesteel.errors import FiresteelError
from firesteel.graph.artifacts import pack_artifacts
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.ssl_contexts import has_rest_tls, rest_client_context
from firesteel.spark.collect_buffers import CollectRequest, CollectResponse

DEFAULT_ADDRESS = "127.0.0.1:8081"
TOKEN = "FIRESTEEL_REST_TOKEN"
"""The environment variable with the bearer token."""

_TIMEOUT_S = 60
_POLL_S = 0.2
NO_LEADER = (0, 503)
"""The statuses of errors while no JobManager answers, or while a leader is elected."""

_NOTHING_THERE, _TOO_MANY, _UNAVAILABLE = 416, 429, 503
_RETRY_UPLOAD_S = 1.0
_UPLOAD_PATIENCE_S = 120.0
_TRIES_WITHOUT_LEADER = 10
_PLAN_FILE = "jobgraph.pickle"


class ClusterClientError(FiresteelError):
    """A cluster rejected a request or is unreachable.

    Args:
        status: The HTTP status; 0 means that there was no response.
        message: The message of the cluster.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message


class RestClusterClient:
    """A client of the cluster at an address.

    Args:
        address: `host:port`, `http://host:port` or `https://host:port`.
        token: The bearer token; None uses the token of this user's JobManager on this machine, if there is one.
        configuration: The TLS options: whether to use TLS, the trusted certificates and the client's own one.

    Raises:
        InvalidOptionError: a file of the TLS options cannot be used.
        UnsafeDirectoryError: other users could have written the token.
    """

    def __init__(
        self, address: str, token: str | None = None, configuration: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        scheme = "https" if has_rest_tls(configuration) else "http"
        self.address = address if "://" in address else f"{scheme}://{address}"
        self._token = token if token else _local_token(self.address)
        self._tls = rest_client_context(configuration) if self.address.startswith("https://") else None
        self._opener = _opener(self.address, self._tls)
        self._patience_s = 0.0  # Time for which GET requests wait for a JobManager that is away.

    def get(self, path: str) -> Any:
        """Return the response to a GET request; retry while a leader is elected.

        Raises:
            ClusterClientError: the cluster rejected the request or is unreachable.
        """
        return self._while_leader_is_elected(lambda: self._send("GET", path))

    def _while_leader_is_elected(self, ask: Callable[[], Any]) -> Any:
        begun_s, tries = time.monotonic(), 0
        while True:
            try:
                return ask()
            except ClusterClientError as error:
                tries += 1
                is_elected = error.status == _UNAVAILABLE and tries <= _TRIES_WITHOUT_LEADER
                is_away = error.status in NO_LEADER and time.monotonic() - begun_s < self._patience_s
                if not is_elected and not is_away:
                    raise
                time.sleep(_POLL_S)

    def text(self, path: str, offset: int) -> bytes:
        """Return the contents of a log file from byte `offset` on.

        Raises:
            ClusterClientError: there is no such file, or the cluster is unreachable.
        """
        request = urllib.request.Request(self.address + path, headers={"Range": f"bytes={offset}-"})
        try:
            # The text is only shown.
            return self._answer(request, path, content_digest(b""), has_proof=False)
        except ClusterClientError as error:
            if error.status == _NOTHING_THERE:
                return b""
            raise

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return all jobs as in `/jobs/overview`."""
        jobs: list[dict[str, Any]] = self.get("/jobs/overview")["jobs"]
        return jobs

    def job_status(self, job_id: str) -> str:
        """Return the status of a job."""
        return str(self.get(f"/jobs/{job_id}/status")["status"])

    def printed(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed, from an offset in characters on, and the offset at which it begins."""
        answer = self.get(f"/firesteel/jobs/{job_id}/stdout?offset={offset}")
        return answer["offset"], answer["text"]

    def restart(self, job_id: str) -> tuple[int, str]:
        """Return how often a job has restarted, and the cause of the last failure, empty if there was none."""
        number = int(self.get(f"/jobs/{job_id}/metrics?get=numRestarts")[0]["value"])
        if number == 0:
            return 0, ""
        entries = self.get(f"/jobs/{job_id}/exceptions?maxExceptions=1")["exceptionHistory"]["entries"]
        return number, "" if not entries else str(entries[0]["stacktrace"]).partition("\nTraceback")[0]

    def cancel(self, job_id: str) -> None:
        """Request the cancellation of a job; return before it is cancelled."""
        self._send("PATCH", f"/jobs/{job_id}?mode=cancel")

    def trigger_savepoint(self, job_id: str, directory: str | None, cancels: bool = False) -> str:
        """Trigger a savepoint, optionally cancel the job with it, and return the trigger id."""
        body = {"target-directory": directory, "cancel-job": cancels}
        return str(self._send("POST", f"/jobs/{job_id}/savepoints", body)["request-id"])

    def trigger_stop(self, job_id: str, directory: str | None, drain: bool) -> str:
        """Trigger a savepoint that stops the job, and return the trigger id."""
        trigger = self._send("POST", f"/jobs/{job_id}/stop", {"targetDirectory": directory, "drain": drain})
        return str(trigger["request-id"])

    def savepoint_location(self, job_id: str, trigger_id: str) -> str:
        """Wait for a savepoint and return its path.

        Raises:
            ClusterClientError: the savepoint failed.
        """
        return str(self._outcome(f"/jobs/{job_id}/savepoints/{trigger_id}")["location"])

    def checkpoint(self, job_id: str, checkpoint_type: str) -> int:
        """Take a checkpoint of type CONFIGURED, FULL or INCREMENTAL and return its id."""
        trigger = self._send("POST", f"/jobs/{job_id}/checkpoints", {"checkpointType": checkpoint_type})
        return int(self._outcome(f"/jobs/{job_id}/checkpoints/{trigger['request-id']}")["checkpointId"])

    def set_log_levels(self, levels: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Set levels of the JobManager's loggers, and return all that are set."""
        found: dict[str, str] = self._send("PUT", "/firesteel/log-levels", dict(levels))
        return found

    def require(self, job_id: str, bounds: Mapping[str, tuple[int, int]]) -> None:
        """Set the smallest and largest parallelism of each vertex of a running job, by its id."""
        body = {
            vertex: {"parallelism": {"lowerBound": lower, "upperBound": upper}}
            for vertex, (lower, upper) in bounds.items()
        }
        self._send("PUT", f"/jobs/{job_id}/resource-requirements", body)

    def dispose_savepoint(self, path: str) -> None:
        """Dispose of a savepoint."""
        trigger = self._send("POST", "/savepoint-disposal", {"savepoint-path": path})
        self._outcome(f"/savepoint-disposal/{trigger['request-id']}")

    def _outcome(self, path: str) -> dict[str, Any]:
        """Wait for an asynchronous operation and return its result.

        Raises:
            ClusterClientError: the operation failed.
        """
        while (answer := self.get(path))["status"]["id"] != "COMPLETED":
            time.sleep(_POLL_S)
        operation: dict[str, Any] = answer["operation"]
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
        self._upload("/jobs", data, f"multipart/form-data; boundary={boundary}", digest)

    def _upload(self, path: str, data: bytes, content_type: str, digest: str) -> None:
        """Upload data; retry while there are too many concurrent uploads."""
        deadline_s = time.monotonic() + _UPLOAD_PATIENCE_S
        while True:
            try:
                self._send("POST", path, data, content_type, digest)
                return
            except ClusterClientError as error:
                if error.status != _TOO_MANY or time.monotonic() > deadline_s:
                    raise
            time.sleep(_RETRY_UPLOAD_S)

    def collected(self, job_id: str, collect_id: str, request: CollectRequest) -> CollectResponse:
        """Return the next elements of a collecting sink; retry while a leader is elected.

        Raises:
            ClusterClientError: elements are lost, or the cluster is unreachable or not trusted.
        """
        self.check_results_can_be_trusted()
        path = f"/jobs/{job_id}/coordinators/{collect_id}"
        body = {"serializedCoordinationRequest": base64.b64encode(request.to_bytes()).decode()}
        answer = self._while_leader_is_elected(lambda: self._send("POST", path, body))
        response: CollectResponse = pickle.loads(base64.b64decode(answer["serializedCoordinationResult"]))
        return response

    def check_results_can_be_trusted(self) -> None:
        """Check that only a trusted cluster can respond: unpickling its results can run code in this process.

        With TLS the cluster presents a certificate. On this machine, or at the local end of a tunnel, each answer
        proves that the cluster knows the token.

        Raises:
            ClusterClientError: another process could respond.
        """
        is_local = is_loopback(urlsplit(self.address).hostname or "")
        if not self.address.startswith("https://") and not (is_local and self._token):
            raise ClusterClientError(
                0,
                f"cannot collect results from {self.address}: any process that responds there could run code in this "
                "process; use https (security.ssl.rest.enabled), "
                + (f"or a token ({TOKEN})" if is_local else "a tunnel to a port of this machine, or write to a sink"),
            )

    def execution_result(self, job_id: str) -> dict[str, Any] | None:
        """Return the result of a job, or None while it is running."""
        result: dict[str, Any] | None = self.get(f"/jobs/{job_id}/execution-result")["job-execution-result"]
        return result

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        digest: str | None = None,
    ) -> Any:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        if data is not None:
            request.add_header("Content-Type", content_type)
        return json.loads(self._answer(request, path, digest or content_digest(data or b"")))

    def _answer(self, request: urllib.request.Request, path: str, digest: str, has_proof: bool = True) -> bytes:
        """Return the content of the answer to a request.

        Without TLS the request proves that this client knows the token and does not contain it, and unless
        `has_proof` is False the answer must prove that the server knows it, too.
        """
        proof = None
        if self._token is not None and self._tls is None:
            proof = RequestProof.of(self._token, request.get_method(), path, digest, time.time())
            request.add_header("Authorization", proof.header())
        elif self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                content = bytes(answer.read())
                if proof is not None and has_proof:
                    self._check_proof(proof, answer.status, content, answer.headers.get(ANSWER_PROOF, ""))
                return content
        except urllib.error.HTTPError as error:
            raise ClusterClientError(error.code, _message(error)) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            is_local = isinstance(reason, ConnectionRefusedError) and is_loopback(urlsplit(self.address).hostname or "")
            hint = "; start one with: firesteel jobmanager start" if is_local else ""
            raise ClusterClientError(0, f"no JobManager responds at {self.address}: {reason}{hint}") from None

    def _check_proof(self, proof: RequestProof, status: int, content: bytes, given: str) -> None:
        assert self._token is not None
        expected = answer_proof(self._token, proof.nonce, status, content)
        if not hmac.compare_digest(expected.encode(), given.encode()):
            raise ClusterClientError(
                0,
                f"the process that responds at {self.address} did not prove that it knows the token that this client "
                f"has for the cluster there: it may be another program; check the address and {TOKEN}",
            )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects: the cluster sends none, and the token must not be sent elsewhere."""

    def redirect_request(self, *arguments: object) -> None:
        """Return None: the redirect becomes an error."""
        return


def _opener(address: str, tls: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """Return the opener of requests; loopback addresses bypass proxies, for which they would mean another machine."""
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if is_loopback(urlsplit(address).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    if tls is not None:
        handlers.append(urllib.request.HTTPSHandler(context=tls))
    return urllib.request.build_opener(*handlers)


def _local_token(address: str) -> str | None:
    """Return the token that a JobManager of this user has stored on this machine."""
    place = urlsplit(address)
    return read_token(place.port) if place.port and is_loopback(place.hostname or "") else None


def _part(boundary: str, name: str, file_name: str, content_type: str, data: bytes) -> bytes:
    file = f'; filename="{file_name}"' if file_name else ""
    head = f'Content-Disposition: form-data; name="{name}"{file}\r\nContent-Type: {content_type}'
    return f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return "\n".join(json.loads(text)["errors"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}: {text[:200]}"
