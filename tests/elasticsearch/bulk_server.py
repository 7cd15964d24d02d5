"""A small server with the bulk API of Elasticsearch and a store of documents.

It answers as Elasticsearch does: NDJSON in, a result per action out, 400 for a document that does not fit the mapping,
429 for what it has no room for. It has nothing else of Elasticsearch.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TAGLINE = "You Know, for Search"


@dataclass
class SearchModel:
    """Documents by index and id, and faults of the next requests.

    Attributes:
        indices: index -> id -> document.
        requests: The actions of each bulk request, in order of arrival.
        version: The version that the server reports.
        busy_items: So many actions are rejected with 429.
        busy_requests: So many requests are rejected with 429.
        user: `name:password` that requests must have.
    """

    version: str = "7.17.0"
    indices: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    requests: list[list[dict[str, Any]]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    busy_items: int = 0
    busy_requests: int = 0
    user: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def bulk(self, body: str) -> dict[str, Any]:
        lines = [json.loads(line) for line in body.splitlines()]
        pairs = list(_pairs(lines))
        self.requests.append([action for action, _ in pairs])
        items = [self._carry_out(action, source) for action, source in pairs]
        return {"took": 1, "errors": any("error" in next(iter(i.values())) for i in items), "items": items}

    def _carry_out(self, action: dict[str, Any], source: dict[str, Any] | None) -> dict[str, Any]:
        ((kind, about),) = action.items()
        index, doc_id = about["_index"], about.get("_id")
        result = {"_index": index, "_id": doc_id}
        if self.busy_items:
            self.busy_items -= 1
            return {kind: {**result, "status": 429, "error": {"type": "es_rejected_execution_exception"}}}
        document = source["doc"] if kind == "update" else source or {}
        if not isinstance(document.get("n", 0), int):
            error = {"type": "mapper_parsing_exception", "reason": "failed to parse field [n] of type [long]"}
            return {kind: {**result, "status": 400, "error": error}}
        documents = self.indices[index]
        if kind == "delete":
            found = documents.pop(doc_id, None) is not None
            return {kind: {**result, "status": 200 if found else 404, "result": "deleted" if found else "not_found"}}
        if kind == "index":
            doc_id = doc_id or f"auto-{len(documents)}"
            documents[doc_id] = document
        else:
            assert source is not None
            documents[doc_id] = {**documents[doc_id], **document} if doc_id in documents else source["upsert"]
        return {kind: {**result, "_id": doc_id, "status": 201}}


def _pairs(lines: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Each action with its document; a deletion has none."""
    rest = iter(lines)
    for action in rest:
        yield action, None if "delete" in action else next(rest)


@contextmanager
def running() -> Iterator[tuple[SearchModel, str]]:
    """A cluster and its address."""
    cluster = SearchModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            version = {"number": cluster.version, "build_flavor": "default"}
            self._answer(200, {"version": version, "tagline": TAGLINE})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            expected = None if cluster.user is None else "Basic " + base64.b64encode(cluster.user.encode()).decode()
            with cluster.lock:
                cluster.paths.add(self.path)
                if expected is not None and self.headers["Authorization"] != expected:
                    self._answer(401, {"error": {"type": "security_exception", "reason": "unable to authenticate"}})
                elif cluster.busy_requests:
                    cluster.busy_requests -= 1
                    self._answer(429, {"error": {"type": "es_rejected_execution_exception"}})
                else:
                    self._answer(200, cluster.bulk(body))

        def _answer(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield cluster, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
