"""The writer of a table: rows of column batches become actions of bulk requests. Flink: `RowElasticsearchEmitter`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.pylist import pylist
from firesteel.connectors.elasticsearch.index_names import IndexNames
from firesteel.connectors.elasticsearch.settings import ElasticsearchSettings
from firesteel.connectors.elasticsearch.writer import ElasticsearchWriter
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.key_texts import KeyTexts
from firesteel.functions.connector_base import Sink, WriterInitContext

_REMOVING = (Kind.DELETE, Kind.UPDATE_BEFORE)


@dataclass(frozen=True)
class RowActions:
    """What becomes of rows.

    Attributes:
        indices: The index of each row.
        document: The format of documents, which is JSON.
        keys: The ids of documents; None if Elasticsearch generates them.
        doc_type: Type of the documents, for Elasticsearch 6 only.
    """

    indices: IndexNames
    document: Format
    keys: KeyTexts | None
    doc_type: str | None

    def lines(self, batch: ColumnBatch, dumps: Callable[[Any], str]) -> list[str]:
        """Return the lines of the action of each row."""
        column = self.indices.column
        values = None if column is None else pylist(batch.columns[column])
        indices = self.indices.names(values, batch.length)
        keys = [None] * batch.length if self.keys is None else self.keys.texts(batch)
        about = [self._about(index, key) for index, key in zip(indices, keys, strict=True)]
        documents = [document.decode() for document in self.document.encode(batch)]
        kinds = batch.kinds_or_inserts().tolist()
        return [self._action(*row, dumps) for row in zip(kinds, about, documents, strict=True)]

    def _about(self, index: str, key: str | None) -> dict[str, str]:
        about = {"_index": index}
        if self.doc_type is not None:
            about["_type"] = self.doc_type
        return about if key is None else {**about, "_id": key}

    def _action(self, kind: int, about: dict[str, str], document: str, dumps: Callable[[Any], str]) -> str:
        if kind in _REMOVING:
            return f"{dumps({'delete': about})}\n"
        if "_id" not in about:
            return f"{dumps({'index': about})}\n{document}\n"
        return f'{dumps({"update": about})}\n{{"doc":{document},"upsert":{document}}}\n'


class ElasticsearchTableSink(Sink[ColumnBatch]):
    """The sink of a table.

    Args:
        settings: Settings of the writer.
        actions: What becomes of rows.
    """

    def __init__(self, settings: ElasticsearchSettings, actions: RowActions) -> None:
        super().__init__()
        self._settings = settings
        self._actions = actions

    def create_writer(self, context: WriterInitContext) -> TableWriter:
        """Return the writer of a subtask."""
        return TableWriter(self._settings, self._actions)


class TableWriter(ElasticsearchWriter):
    """Buffers actions of rows and sends bulk requests."""

    def __init__(self, settings: ElasticsearchSettings, actions: RowActions) -> None:
        super().__init__(settings)
        self._actions = actions

    def write(self, element: object, timestamp: int | None) -> None:
        """Write the rows of a batch.

        Raises:
            ElasticsearchError: documents were rejected.
        """
        assert isinstance(element, ColumnBatch)
        for lines in self._actions.lines(element, self._dumps):
            self._add(lines)
