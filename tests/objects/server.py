"""An S3 server, moto's, with faults: requests that are refused, and answers that are lost."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fsspec import get_filesystem_class
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from firesteel.common.files.file_system_options import fsspec_options

Fault = Callable[[str, str, str], str | None]
"""(method, path, query) -> None: none; "refused": 503 before anything is done; "lost": the answer after it was done."""

_REFUSED = b"<Error><Code>ServiceUnavailable</Code><Message>Please try again</Message></Error>"
_DENIED = b"<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist in our records</Message></Error>"
_STATUS = {"refused": ("503 Slow", _REFUSED), "lost": ("500 Lost", b""), "denied": ("403 Forbidden", _DENIED)}


@dataclass
class Bucket:
    """A bucket of its own for a test.

    Attributes:
        options: The configuration of a job that uses it.
    """

    name: str
    options: dict[str, str]
    server: S3Server

    @property
    def fs(self) -> Any:
        return get_filesystem_class("s3")(**fsspec_options("s3", "", self.options))

    def uri(self, *names: str) -> str:
        return "/".join([f"s3://{self.name}", *names])

    def put(self, name: str, data: bytes) -> str:
        self.fs.pipe_file(self.uri(name), data)
        return self.uri(name)

    def names(self, below: str = "") -> list[str]:
        found = self.fs.find(f"{self.name}/{below}", detail=True)
        # Where the first object appears meanwhile, the directory itself is listed.
        return sorted(path.removeprefix(f"{self.name}/") for path, info in found.items() if info["type"] == "file")

    def read(self, name: str) -> bytes:
        return bytes(self.fs.cat_file(self.uri(name)))

    def uploads(self) -> list[str]:
        found = self.fs.call_s3("list_multipart_uploads", Bucket=self.name).get("Uploads", [])
        return [upload["Key"] for upload in found]


@dataclass
class S3Server:
    """The server; `requests` are those that it was asked."""

    requests: list[tuple[str, str, str]] = field(default_factory=list)
    fault: Fault | None = None
    endpoint: str = ""

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        asked = environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"]
        self.requests.append(asked)
        is_denied = "Credential=wrong/" in environ.get("HTTP_AUTHORIZATION", "")
        kind = "denied" if is_denied else self.fault(*asked) if self.fault is not None else None
        if kind is None:
            return self._app(environ, start)  # type: ignore[no-any-return]
        if kind == "lost":
            b"".join(self._app(environ, lambda *args: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        status, body = _STATUS[kind]
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body]

    @contextmanager
    def running(self) -> Iterator[S3Server]:
        self._app = DomainDispatcherApplication(create_backend_app)
        server = make_server("127.0.0.1", 0, self, threaded=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.endpoint = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None

    def bucket(self) -> Bucket:
        options = {
            "s3.access-key": "somebody",
            "s3.secret-key": "whatever",
            "s3.endpoint": self.endpoint,
            "s3.endpoint.region": "us-east-1",
            "s3.path.style.access": "true",
        }
        bucket = Bucket(f"test-{uuid.uuid4().hex[:12]}", options, self)
        bucket.fs.call_s3("create_bucket", Bucket=bucket.name)
        return bucket
