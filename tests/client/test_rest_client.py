"""The servers to which the client of the REST API sends its token."""

from __future__ import annotations

import base64
import contextlib
import json
import pickle
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.client.rest_connection import NoJobManagerError
from firesteel.common.files.run_directory import RUN_DIRECTORY, write_token
from firesteel.common.trust.message_proof import ANSWER_PROOF, RequestProof, answer_proof
from firesteel.spark.collect_buffers import CollectRequest


class Server(HTTPServer):
    """Records requests and answers `{}`, or redirects to another address."""

    redirect: str | None = None
    token: str | None = None
    """The token that it knows, and proves to know."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str | None]] = []
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        self.send_response(200 if self.server.redirect is None else 302)
        if self.server.redirect is not None:
            self.send_header("Location", self.server.redirect)
        content = json.dumps({}).encode()
        if self.server.token is not None:
            asked = RequestProof.parse(self.headers["Authorization"])
            assert asked.proves(self.server.token, "GET", self.path)
            self.send_header(ANSWER_PROOF, answer_proof(self.server.token, asked.nonce, 200, content))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    started = Server(), Server()
    for server in started:
        server.thread.start()
    yield started
    for server in started:
        server.shutdown()
        server.server_close()
        server.thread.join()


def test_a_redirect_is_not_followed(servers: tuple[Server, Server]) -> None:
    asked, other = servers
    asked.redirect = f"http://{other.address}/overview"
    with pytest.raises(ClusterClientError) as refused:
        RestClusterClient(asked.address, "secret").get("/overview")
    assert refused.value.status == 302
    assert [path for path, _ in asked.asked] == ["/overview"]
    assert other.asked == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no JobManager responds at http://127.0.0.1:.*: SSH-2.0"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "is no JobManager: its answer to /overview is no JSON"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "no JobManager responds at http://127.0.0.1:.*Incomplete"),
    ],
)
def test_a_server_that_is_no_jobmanager_is_named(answer: bytes, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ClusterClientError, match=message):
            RestClusterClient(f"127.0.0.1:{server.getsockname()[1]}").send("GET", "/overview")
        thread.join()


@pytest.mark.parametrize("address", ["host:port", "host:99999", "http://", "http://[::1", ":8081", ""])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(ClusterClientError, match="is no address of a JobManager; give HOST:PORT"):
        RestClusterClient(address)


def test_loopback_addresses_bypass_the_proxy(servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    asked, proxy = servers
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{proxy.address}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    for host in ("127.0.0.1", "localhost"):
        RestClusterClient(f"{host}:{asked.server_port}").get("/overview")
    assert len(asked.asked) == 2
    assert proxy.asked == []
    RestClusterClient("jobmanager.example.org:8081").get("/overview")
    assert proxy.asked == [("http://jobmanager.example.org:8081/overview", None)]


def test_the_token_of_a_jobmanager_of_this_user_is_for_its_port_on_this_machine(
    servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked, other = servers
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path))
    monkeypatch.setenv("http_proxy", f"http://{other.address}")
    write_token(asked.server_port, "local")
    for asked.token in ("local", "given"):
        RestClusterClient(asked.address, None if asked.token == "local" else asked.token).get("/1")
    RestClusterClient(other.address).get("/3")
    RestClusterClient(f"jobmanager.example.org:{asked.server_port}").get("/4")
    assert [token for _, token in other.asked] == [None, None]


@pytest.mark.parametrize(
    ("address", "token", "advice"),
    [
        ("http://cluster.example:8081", "secret", "a tunnel to a port of this machine"),
        ("http://10.0.0.1:8081", None, "security.ssl.rest.enabled"),
        ("127.0.0.1:1", None, "FIRESTEEL_REST_TOKEN"),
    ],
)
def test_results_of_an_unauthenticated_cluster_are_not_unpickled(
    address: str, token: str | None, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path))
    cluster = RestClusterClient(address, token)
    with pytest.raises(ClusterClientError, match="could run code in this process") as refused:
        cluster.collected("job", "sink", CollectRequest())
    assert advice in str(refused.value)


@pytest.mark.parametrize("address", ["https://cluster.example:8081", "http://127.0.0.1:8081", "localhost:8081"])
def test_results_of_an_authenticated_cluster_are_collected(address: str) -> None:
    RestClusterClient(address, "secret").check_results_can_be_trusted()


def test_whoever_holds_the_port_gets_no_token_and_is_not_believed(servers: tuple[Server, Server]) -> None:
    impostor, _ = servers
    cluster = RestClusterClient(impostor.address, "a secret token")
    with pytest.raises(ClusterClientError, match="did not prove that it knows the token"):
        cluster.get("/overview")
    [(_, sent)] = impostor.asked
    assert sent is not None
    assert "a secret token" not in sent


class Evil:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("code of the server was run",)


def test_results_without_a_proof_are_not_unpickled() -> None:
    hostile = {"serializedCoordinationResult": base64.b64encode(pickle.dumps(Evil())).decode()}

    class Impostor(_Handler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header(ANSWER_PROOF, "0" * 64)
            self.end_headers()
            self.wfile.write(json.dumps(hostile).encode())

    server = Server()
    server.RequestHandlerClass = Impostor
    server.thread.start()
    try:
        with pytest.raises(ClusterClientError, match="did not prove"):
            RestClusterClient(server.address, "secret").collected("job", "sink", CollectRequest())
    finally:
        server.shutdown()
        server.server_close()
        server.thread.join()


class _Scripted(RestClusterClient):
    """A cluster that answers requests with these statuses, one after the other."""

    def __init__(self, *statuses: int, options: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__("127.0.0.1:1", "token", options)
        self.statuses = list(statuses)

    def send(self, method: str, path: str, *_: object, **__: object) -> Any:
        status = self.statuses.pop(0)
        if status != 202:
            raise ClusterClientError(status, "refused")
        return {}


@pytest.mark.parametrize("statuses", [(202,), (503, 202), (503, 503, 409), (429, 202), (503, 429, 409), (0, 409)])
def test_a_job_is_submitted_again_until_a_leader_has_it(statuses: tuple[int, ...], monkeypatch: Any) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    client = _Scripted(*statuses)
    client.patience_s = 60.0
    client.submit_again(b"", "/savepoint")
    assert not client.statuses


@pytest.mark.parametrize("statuses", [(409,), (429, 409), (400,), (503, 400), (0,)])
def test_a_job_that_is_there_already_is_refused_unless_it_was_submitted_before(
    statuses: tuple[int, ...], monkeypatch: Any
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    client = _Scripted(*statuses)
    with pytest.raises(ClusterClientError) as caught:
        client.submit_again(b"", "/savepoint")
    assert (caught.value.status, client.statuses) == (statuses[-1], [])


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times that a client waits, in place of waiting."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.mark.parametrize("away", [0, 503])
def test_a_jobmanager_that_has_answered_is_asked_for_as_long_as_the_options_say(away: int, waits: list[float]) -> None:
    client = _Scripted(202, *[away] * 19, 202)
    client.get("/first")
    client.get("/second")
    assert waits == [0.2, 0.4, 0.8, 1.6, *[3.0] * 15]


@pytest.mark.parametrize("first", [202, 404])
def test_a_client_gives_up_after_the_most_attempts(first: int, waits: list[float]) -> None:
    client = _Scripted(first, 0, 0, 0, options={"rest.retry.max-attempts": "3", "rest.retry.delay": "300 ms"})
    with contextlib.suppress(ClusterClientError):
        client.get("/first")
    with pytest.raises(ClusterClientError) as caught:
        client.get("/second")
    assert (caught.value.status, client.statuses, waits) == (0, [], [0.2, 0.3])


def test_a_jobmanager_that_never_answered_is_not_waited_for(waits: list[float]) -> None:
    with pytest.raises(ClusterClientError):
        _Scripted(0).get("/first")
    assert waits == []


def test_another_program_in_the_place_of_the_jobmanager_is_not_asked_again(waits: list[float]) -> None:
    class Replaced(_Scripted):
        def send(self, method: str, path: str, *_: object, **__: object) -> Any:
            if path == "/second":
                raise NoJobManagerError(0, "is no JobManager")
            return {}

    client = Replaced()
    client.get("/first")
    with pytest.raises(NoJobManagerError):
        client.get("/second")
    assert waits == []


def test_whether_a_job_has_ended_is_asked_once(waits: list[float]) -> None:
    client = _Scripted(202, 0)
    client.get("/first")
    assert not client.has_ended("job")
    assert waits == []
