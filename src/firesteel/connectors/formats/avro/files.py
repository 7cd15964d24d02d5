"""Records as Avro container files, read and written with fastavro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from firesteel.common.types import Row
from firesteel.connectors.files.gathered_file import GatheredStream
from firesteel.connectors.formats.avro.codec import fastavro
from firesteel.connectors.formats.avro.schemas import AvroSchema


class AvroStream(GatheredStream):
    """A part stream that collects records in a file and converts them to an Avro container file when it is complete."""

    def __init__(self, file: IO[bytes], schema: AvroSchema) -> None:
        super().__init__(file, "avro")
        self._schema = schema

    def plain(self, value: object) -> Any:
        """Return a record as a dict."""
        return value.as_dict(recursive=True) if isinstance(value, Row) else value

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write all records to an Avro container file."""
        fastavro().writer(file, self._schema.parsed, chain.from_iterable(groups))


def read_avro(file: IO[bytes], schema: AvroSchema, chunk_records: int) -> Iterator[list[Any]]:
    """Yield the records of a container file in chunks, resolved against the reader schema."""
    records = fastavro().reader(file, schema.parsed)
    while chunk := list(islice(records, chunk_records)):
        yield chunk
