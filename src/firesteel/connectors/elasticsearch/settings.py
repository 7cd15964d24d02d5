"""Settings of an `ElasticsearchSink`: re-exported by `firesteel.datastream.connectors.elasticsearch`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from firesteel.common.types import Row

ELASTICSEARCH, OPENSEARCH = "Elasticsearch", "OpenSearch"


@dataclass(frozen=True, slots=True)
class Action:
    """An action for an element: index a document or, if it has an id, update or insert it."""

    index: str
    document: dict[str, Any]
    doc_id: str | None = None
    doc_type: str | None = None

    def lines(self, dumps: Callable[[Any], str]) -> str:
        """Return the lines of the action in a bulk request."""
        about = {"_index": self.index}
        if self.doc_type is not None:
            about["_type"] = self.doc_type
        if self.doc_id is None:
            return f"{dumps({'index': about})}\n{dumps(self.document)}\n"
        about["_id"] = self.doc_id
        # An update keeps fields that the document has beside, as Flink's emitter of maps does.
        return f"{dumps({'update': about})}\n{dumps({'doc': self.document, 'upsert': self.document})}\n"


class FlushBackoffType(Enum):
    """The growth of the delay before rejected documents are sent again (Flink: class of the same name)."""

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


@dataclass(frozen=True)
class ElasticsearchEmitter:
    """Converts elements, which are dicts or named Rows, to actions (Flink: `MapElasticsearchEmitter`).

    With a key field, the document with that id is updated or inserted. Without one, a document is added and
    Elasticsearch generates its id.

    Attributes:
        index: The index, or the name of the field that contains it.
        is_dynamic: Whether `index` is the name of a field.
        key_field: Name of the field that contains the id of the document.
        doc_type: Type of the documents, for Elasticsearch 6 only.

    Example:
        >>> emitter = ElasticsearchEmitter.static_index("words", key_field="word")
        >>> emitter.action({"word": "to", "total": 2})
        Action(index='words', document={'word': 'to', 'total': 2}, doc_id='to', doc_type=None)
    """

    index: str
    is_dynamic: bool
    key_field: str | None = None
    doc_type: str | None = None

    @staticmethod
    def static_index(index: str, key_field: str | None = None, doc_type: str | None = None) -> ElasticsearchEmitter:
        """Return an emitter that writes all documents to one index.

        Args:
            index: Name of the index; Elasticsearch may create it.
            key_field: Name of the field with the document's id; None lets Elasticsearch generate ids, and a replay adds
                duplicates.
            doc_type: Type of the documents for Elasticsearch 6; None is `_doc`. Later versions ignore it.
        """
        return ElasticsearchEmitter(index, False, key_field, doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Return an emitter that writes each document to the index named in one of its fields.

        Args:
            index_field: Name of the field that contains the name of the index; it stays part of the document.
            key_field: Name of the field with the document's id; None lets Elasticsearch generate ids, and a replay adds
                duplicates.
            doc_type: Type of the documents for Elasticsearch 6; None is `_doc`. Later versions ignore it.
        """
        return ElasticsearchEmitter(index_field, True, key_field, doc_type)

    def action(self, element: object) -> Action:
        """Return the action for an element.

        Args:
            element: A dict, or a Row with field names; nested Rows become objects.

        Raises:
            TypeError: the element is neither a dict nor a named Row.
            ValueError: the field of the index or of the id is missing.
        """
        document = element.as_dict(recursive=True) if isinstance(element, Row) else element
        if not isinstance(document, Mapping):
            raise TypeError(f"ElasticsearchSink: elements must be dicts or Rows with names, found {element!r}")
        index = str(_field(document, self.index)) if self.is_dynamic else self.index
        doc_id = None if self.key_field is None else str(_field(document, self.key_field))
        return Action(index, dict(document), doc_id, self.doc_type)


def _field(document: Mapping[str, Any], name: str) -> Any:
    value = document.get(name)
    if value is None:
        raise ValueError(f"ElasticsearchSink: the document has no field {name!r}: {document!r}")
    return value


@dataclass(frozen=True)
class ElasticsearchSettings:
    """Settings of an `ElasticsearchSink`.

    Attributes:
        hosts: Addresses of the cluster: `http://host:port`.
        emitter: Converts elements to actions.
        max_actions: Maximum number of actions in a request; -1 means no limit.
        max_bytes: Approximate maximum size of a request in bytes; -1 means no limit.
        backoff: Growth of the delay between retries, and initial delay in milliseconds.
        max_retries: Maximum number of retries of rejected documents.
        user: (name, password), or None.
        path_prefix: Prefix of the paths of all requests.
        timeout_s: Timeout of a request in seconds.
        product: Elasticsearch or OpenSearch, each with a client of its own.
        tls: Arguments of the client for connections by https.
    """

    hosts: tuple[str, ...] = ()
    emitter: ElasticsearchEmitter | None = None
    max_actions: int = 1000
    max_bytes: int = -1
    backoff: tuple[FlushBackoffType, int] = (FlushBackoffType.NONE, 0)
    max_retries: int = 0
    user: tuple[str, str] | None = field(default=None, repr=False)
    path_prefix: str = ""
    timeout_s: float = 30.0
    product: str = ELASTICSEARCH
    tls: Mapping[str, object] = field(default_factory=dict)

    def wait_s(self, retry: int) -> float:
        """Return the delay in seconds before a retry, counted from 0 (Elasticsearch: `BackoffPolicy`)."""
        kind, delay_ms = self.backoff
        growth = 10 * (int(math.exp(0.8 * retry)) - 1) if kind is FlushBackoffType.EXPONENTIAL else 0
        return (delay_ms + growth) / 1000
