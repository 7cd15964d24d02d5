"""Records as Avro container files, by fastavro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from firesteel.common.types import Row
from firesteel.datastream.formats.avro import AvroSchema
from firesteel.datastream.formats.avro_values import fastavro
from firesteel.operators.gathered_file import GatheredStream


class AvroStream(GatheredStream):
    """Gathers records in a file and makes an Avro container file of them when they are complete."""

    def __init__(self, file: IO[bytes], schema: AvroSchema) -> None:
        super().__init__(file, "avro")
        self._schema = schema

    def plain(self, value: Any) -> Any:
        """Return a record as a dict."""
        return value.as_dict(recursive=True) if isinstance(value, Row) else value

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write all records."""
        fastavro().writer(file, self._schema.parsed, chain.from_iterable(groups))


def read_avro(file: IO[bytes], schema: AvroSchema, chunk_records: int) -> Iterator[list[Any]]:
    """Yield the records of a container file as the schema reads them, in chunks."""
    records = fastavro().reader(file, schema.parsed)
    while chunk := list(islice(records, chunk_records)):
        yield chunk
