"""A REST catalog of Iceberg for tests, which keeps its tables in a SQLite catalog."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pyiceberg import exceptions
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import CreateTableRequest, TableResponse
from pyiceberg.table import CommitTableRequest

TOKEN = "let me in"
_STATUS = {
    exceptions.NoSuchNamespaceError: 404,
    exceptions.NoSuchTableError: 404,
    exceptions.NamespaceAlreadyExistsError: 409,
    exceptions.TableAlreadyExistsError: 409,
    exceptions.NamespaceNotEmptyError: 409,
    exceptions.CommitFailedException: 409,
}


@contextmanager
def rest_catalog(directory, path=""):
    """Serve the catalog below a path, and yield its URI."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.path = path
    server.catalog = {"type": "sql", "uri": f"sqlite:///{directory}/rest.db", "warehouse": f"file://{directory}/lake"}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def _serve(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode()
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self._answer(401, {"error": {"message": "no token", "type": "NotAuthorizedException", "code": 401}})
        assert self.path.startswith(f"{self.server.path}/v1/")
        _, _, *path = self.path.removeprefix(self.server.path).partition("?")[0].split("/")
        try:
            with load_catalog("rest", **self.server.catalog) as catalog:
                return self._answer(200, _answer_of(catalog, self.command, path, body))
        except tuple(_STATUS) as error:
            code, kind = _STATUS[type(error)], type(error).__name__
            return self._answer(code, {"error": {"message": str(error), "type": kind, "code": code}})

    do_GET = do_POST = do_HEAD = do_DELETE = _serve

    def _answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, *_):
        pass


def _answer_of(catalog, method, path, body):
    match method, path:
        case "GET", ["config"]:
            return {"defaults": {}, "overrides": {}}
        case "GET", ["namespaces"]:
            return {"namespaces": catalog.list_namespaces()}
        case "POST", ["namespaces"]:
            request = json.loads(body)
            catalog.create_namespace(tuple(request["namespace"]), request["properties"])
            return request
        case "GET" | "HEAD", ["namespaces", name]:
            return {"namespace": [name], "properties": catalog.load_namespace_properties(name)}
        case "DELETE", ["namespaces", name]:
            return catalog.drop_namespace(name)
        case "GET", ["namespaces", name, "tables"]:
            return {"identifiers": [{"namespace": [name], "name": found[-1]} for found in catalog.list_tables(name)]}
        case "POST", ["namespaces", name, "tables"]:
            request = CreateTableRequest.model_validate({"location": None, **json.loads(body)})
            table = catalog.create_table(
                (name, request.name), request.table_schema, request.location, request.partition_spec,
                properties=request.properties,
            )  # fmt: skip
            return _loaded(table.metadata_location, table.metadata)
        case "GET" | "HEAD", ["namespaces", name, "tables", table]:
            found = catalog.load_table((name, table))
            return _loaded(found.metadata_location, found.metadata)
        case "POST", ["namespaces", name, "tables", table]:
            request = CommitTableRequest.model_validate_json(body)
            done = catalog.commit_table(catalog.load_table((name, table)), request.requirements, request.updates)
            return _loaded(done.metadata_location, done.metadata)
        case "DELETE", ["namespaces", name, "tables", table]:
            return catalog.drop_table((name, table))
    raise AssertionError(f"{method} {path}")


def _loaded(location, metadata):
    return json.loads(
        TableResponse(**{"metadata-location": location}, metadata=metadata).model_dump_json(by_alias=True)
    )
