"""A service over HTTP for tests."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    """A request as the service got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


Respond = Callable[[Request], tuple[int, str]]


@dataclass
class Service:
    """Answers of a service, and the requests that it got.

    Attributes:
        respond: Gives status and body of the answer.
    """

    respond: Respond
    requests: list[Request] = field(default_factory=list)


@contextmanager
def running(respond: Respond, tls: ssl.SSLContext | None = None) -> Iterator[tuple[Service, str]]:
    """A service and its address."""
    service = Service(respond)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            request = Request(self.command, self.path, dict(self.headers), body)
            service.requests.append(request)
            status, content = service.respond(request)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content.encode())))
            self.end_headers()
            self.wfile.write(content.encode())

        do_POST = do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield service, f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
