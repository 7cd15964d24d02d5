"""Requests to the REST API of a cluster: who asks, who answers, and what is tried again."""

from __future__ import annotations

import hmac
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from firesteel.common.files.run_directory import read_token
from firesteel.common.options.rest_options import REST_RETRY_DELAY, REST_RETRY_MAX_ATTEMPTS
from firesteel.common.trust.loopback import is_loopback
from firesteel.common.trust.message_proof import ANSWER_PROOF, RequestProof, answer_proof, content_digest
from firesteel.errors import FiresteelError
from firesteel.runtime.ssl_contexts import has_rest_tls, rest_client_context

TOKEN = "FIRESTEEL_REST_TOKEN"
"""The environment variable with the bearer token."""
POLL_S = 0.2
NO_LEADER = (0, 503)
"""The statuses of errors while no JobManager answers, or while a leader is elected."""

_TIMEOUT_S = 60
_IS_THERE, _NOTHING_THERE, _TOO_MANY, _UNAVAILABLE = 409, 416, 429, 503
_RETRY_UPLOAD_S = 1.0
_UPLOAD_PATIENCE_S = 120.0


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


class NoJobManagerError(ClusterClientError):
    """Another program responds in the place of the JobManager, so there is no point in asking again."""


class RestConnection:
    """Sends requests to the REST API of the cluster at an address, proves who asks, and checks who answers.

    Args:
        address: `host:port`, `http://host:port` or `https://host:port`.
        token: The bearer token; None uses the token of this user's JobManager on this machine, if there is one.
        configuration: The TLS options: whether to use TLS, the trusted certificates and the client's own one; and how
            often to ask a JobManager that is away.

    Raises:
        ClusterClientError: it is no address.
        InvalidOptionError: a file of the TLS options cannot be used.
        UnsafeDirectoryError: other users could have written the token.
    """

    def __init__(
        self, address: str, token: str | None = None, configuration: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        scheme = "https" if has_rest_tls(configuration) else "http"
        self.address = address if "://" in address else f"{scheme}://{address}"
        _check(self.address)
        self._token = token if token else _local_token(self.address)
        self._tls = rest_client_context(configuration) if self.address.startswith("https://") else None
        self._opener = _opener(self.address, self._tls)
        self._attempts, self._delay_s = REST_RETRY_MAX_ATTEMPTS.of(configuration), REST_RETRY_DELAY.of(configuration)
        self._was_answered = False
        self.patience_s = 0.0  # Time for which GET requests and uploads wait for a JobManager that is away.

    def get(self, path: str) -> Any:
        """Return the response to a GET request; retry while a leader is elected.

        Raises:
            ClusterClientError: the cluster rejected the request or is unreachable.
        """
        return self.while_leader_is_elected(lambda: self.send("GET", path))

    def while_leader_is_elected(self, ask: Callable[[], Any]) -> Any:
        """Return what a request returns; repeat it while a leader is elected, or the JobManager is away.

        One that has never answered is not waited for, as it may not exist.
        """
        begun_s, waits = time.monotonic(), self._waits()
        while True:
            try:
                return self._answered(ask)
            except NoJobManagerError:
                raise
            except ClusterClientError as error:
                is_known = error.status == _UNAVAILABLE or self._was_answered
                wait_s = next(waits, None) if is_known else None
                is_patient = time.monotonic() - begun_s < self.patience_s
                if error.status not in NO_LEADER or (wait_s is None and not is_patient):
                    raise
                time.sleep(POLL_S if wait_s is None else wait_s)

    def _waits(self) -> Iterator[float]:
        """Yield the times between the attempts of a request, which begin small, as a leader is elected soon."""
        wait_s = POLL_S
        for _ in range(self._attempts - 1):
            wait_s = min(wait_s, self._delay_s)
            yield wait_s
            wait_s *= 2

    def _answered(self, ask: Callable[[], object]) -> object:
        try:
            answer = ask()
        except ClusterClientError as error:
            self._was_answered = self._was_answered or error.status not in NO_LEADER
            raise
        self._was_answered = True
        return answer

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

    def upload(self, path: str, data: bytes, content_type: str, digest: str) -> None:
        """Upload data; retry while there are too many concurrent uploads, and while a leader is elected.

        A leader may have taken the data and ended before it answered, so the data must identify itself: the cluster
        refuses with 409 what it has already.
        """
        deadline_s = time.monotonic() + _UPLOAD_PATIENCE_S
        may_be_there = False

        def send() -> None:
            nonlocal may_be_there
            try:
                self.send("POST", path, data, content_type, digest)
            except ClusterClientError as error:
                if error.status == _IS_THERE and may_be_there:
                    return
                may_be_there = may_be_there or error.status in NO_LEADER
                raise

        while True:
            try:
                self.while_leader_is_elected(send)
                return
            except ClusterClientError as error:
                if error.status != _TOO_MANY or time.monotonic() > deadline_s:
                    raise
            time.sleep(_RETRY_UPLOAD_S)

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

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        digest: str | None = None,
    ) -> Any:
        """Return the JSON of the answer to one request.

        Raises:
            ClusterClientError: the cluster rejected the request or is unreachable.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        if data is not None:
            request.add_header("Content-Type", content_type)
        content = self._answer(request, path, digest or content_digest(data or b""))
        try:
            return json.loads(content)
        except ValueError:
            raise NoJobManagerError(
                0, f"the process that responds at {self.address} is no JobManager: its answer to {path} is no JSON"
            ) from None

    def _answer(self, request: urllib.request.Request, path: str, digest: str, has_proof: bool = True) -> bytes:
        """Return the content of the answer to a request.

        Without TLS the request proves that this client knows the token and does not contain it, and unless
        `has_proof` is False the answer must prove that the server knows it, too.
        """
        proof = None
        # Without TLS anybody on the way could read the token, or answer in the place of the cluster.
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
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            is_local = isinstance(reason, ConnectionRefusedError) and is_loopback(urlsplit(self.address).hostname or "")
            hint = "; start one with: firesteel jobmanager start" if is_local else ""
            raise ClusterClientError(0, f"no JobManager responds at {self.address}: {reason}{hint}") from None

    def _check_proof(self, proof: RequestProof, status: int, content: bytes, given: str) -> None:
        assert self._token is not None
        expected = answer_proof(self._token, proof.nonce, status, content)
        if not hmac.compare_digest(expected.encode(), given.encode()):
            raise NoJobManagerError(
                0,
                f"the process that responds at {self.address} did not prove that it knows the token that this client "
                f"has for the cluster there: it may be another program; check the address and {TOKEN}",
            )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects: the cluster sends none, and the token must not be sent elsewhere."""

    def redirect_request(self, *arguments: object) -> None:
        """Return None: the redirect becomes an error."""
        return


def _check(address: str) -> None:
    try:
        has_host = bool(urlsplit(address).hostname and urlsplit(address).port != 0)
    except ValueError:
        has_host = False
    if not has_host:
        raise ClusterClientError(0, f"{address!r} is no address of a JobManager; give HOST:PORT")


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


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return "\n".join(json.loads(text)["errors"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}: {text[:200]}"
