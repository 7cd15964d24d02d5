"""The writer of an `ElasticsearchSink`, which uses the official client."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common.optional_package import optional_package
from firesteel.connectors.elasticsearch.settings import OPENSEARCH, ElasticsearchSettings
from firesteel.errors import FiresteelError
from firesteel.functions.connector_base import SinkWriter

_REJECTED = 429


class ElasticsearchError(FiresteelError):
    """Elasticsearch rejected documents or did not respond."""


class ElasticsearchWriter(SinkWriter[Any]):
    """Buffers actions and sends bulk requests, when a request is full and at the end of each batch.

    Args:
        settings: Settings of the sink.
    """

    def __init__(self, settings: ElasticsearchSettings) -> None:
        self._settings = settings
        self._client, self._failure = _client(settings)
        # The client's own, which knows dates, decimals and UUIDs.
        self._dumps: Callable[[Any], str] = self._client.transport.serializer.dumps
        self._lines: list[str] = []
        self._bytes = 0

    def write(self, element: object, timestamp: int | None) -> None:
        """Write one element.

        Raises:
            ElasticsearchError: documents were rejected.
        """
        assert self._settings.emitter is not None
        self._add(self._settings.emitter.action(element).lines(self._dumps))

    def _add(self, lines: str) -> None:
        """Buffer the lines of an action."""
        settings = self._settings
        size = len(lines.encode()) if settings.max_bytes >= 0 else 0
        if self._lines and 0 <= settings.max_bytes < self._bytes + size:
            self._send()
        self._lines.append(lines)
        self._bytes += size
        if len(self._lines) == settings.max_actions:
            self._send()

    def flush(self, end_of_input: bool) -> None:
        """Send the buffered documents, as a checkpoint may follow.

        Raises:
            ElasticsearchError: documents were rejected.
        """
        if self._lines:
            self._send()

    def _send(self) -> None:
        lines, self._lines, self._bytes = self._lines, [], 0
        for retry in range(self._settings.max_retries + 1):
            rejected = self._send_once(lines, is_last=retry == self._settings.max_retries)
            if not rejected:
                return
            lines = rejected
            time.sleep(self._settings.wait_s(retry))

    def _send_once(self, lines: Sequence[str], is_last: bool) -> list[str]:
        """Send a request and return the actions that were rejected because the cluster is busy.

        Raises:
            ElasticsearchError: there was another error, or this was the last attempt.
        """
        try:
            answer = self._client.bulk(body="".join(lines))
        except self._failure as error:
            if getattr(error, "status_code", None) == _REJECTED and not is_last:
                return list(lines)
            raise self._error(f"could not write {len(lines)} documents: {error}") from error
        if not answer["errors"]:
            return []
        # Each has the name of its action as its only key.
        results = [next(iter(item.values())) for item in answer["items"]]
        failed = [result for result in results if "error" in result]
        # Documents that are wrong fail at once; sending them again would not help.
        final = failed if is_last else [result for result in failed if result["status"] != _REJECTED]
        if final:
            raise self._error(f"{len(final)} of {len(lines)} documents were rejected: {_about(final[0])}")
        return [line for line, result in zip(lines, results, strict=True) if "error" in result]

    def _error(self, text: str) -> ElasticsearchError:
        return ElasticsearchError(f"{self._settings.product} at {', '.join(self._settings.hosts)}: {text}")

    def close(self) -> None:
        """Close the connections; unsent documents are written again after a restart."""
        self._client.close()


def _about(result: dict[str, Any]) -> str:
    error = result["error"]
    cause = f"{error.get('type')}: {error.get('reason')}" if isinstance(error, dict) else str(error)
    document = f", id {result['_id']!r}" if result.get("_id") is not None else ""
    return f"index {result.get('_index')!r}{document}: status {result['status']}, {cause}"


def _client(settings: ElasticsearchSettings) -> tuple[Any, type[Exception]]:
    """Return a client and the class of its errors."""
    prefix = f"/{settings.path_prefix}" if settings.path_prefix else ""
    hosts = [f"{host.rstrip('/')}{prefix}" for host in settings.hosts]
    library = _library(settings.product)
    is_open = settings.product == OPENSEARCH
    make, failure = (
        (library.OpenSearch, library.OpenSearchException)
        if is_open
        else (library.Elasticsearch, library.ElasticsearchException)
    )
    return make(hosts, http_auth=settings.user, timeout=settings.timeout_s, **settings.tls), failure


def _library(product: str) -> Any:
    package, extra = ("opensearchpy", "opensearch") if product == OPENSEARCH else ("elasticsearch7", "elasticsearch")
    with optional_package(f"{product}Sink", package, extra):
        return importlib.import_module(package)
