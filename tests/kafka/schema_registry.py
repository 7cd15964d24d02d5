"""A schema registry for tests that answers as Confluent's does, and keeps schemas in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = given["schema"]
        if not self.is_allowed():
            return
        if text not in self.server.schemas:
            self.server.schemas.append(text)
            self.server.kinds[text] = {key: given[key] for key in ("schemaType",) if key in given}
        self.answer(200, {"id": self.server.schemas.index(text)})

    def do_GET(self) -> None:
        number = int(self.path.rpartition("/")[2])
        if not self.is_allowed():
            return
        if number < len(self.server.schemas):
            text = self.server.schemas[number]
            self.answer(200, {"schema": text, **self.server.kinds.get(text, {})})
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})

    def is_allowed(self) -> bool:
        self.server.asked.append(self.path)
        wanted = self.server.authorization
        if wanted is None or self.headers["Authorization"] == wanted:
            return True
        self.answer(401, {"error_code": 401, "message": "Unauthorized"})
        return False

    def answer(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[Any]:
    """Run a registry on a free port.

    Its attributes are `url`, the registered `schemas` by id, the paths that were `asked`, and the `authorization` that
    requests must have, None for any. The schema with the id 0 is none that a test registers.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.schemas, server.asked, server.authorization, server.kinds = ["first"], [], None, {}
        server.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
