"""Avro container files. Flink: `AvroFileFormatFactory`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, Any

from firesteel.columns.batch import ColumnBatch
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.avro.codec import fastavro
from firesteel.connectors.formats.avro.column_records import AvroFormat, mapped_schema, problem
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

_CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_BATCH_ROWS = 10_000


def make(columns: Columns, options: Options) -> AvroFiles:
    """Return the format.

    Raises:
        ValidationException: Avro has no such columns, or no such codec.
        ModuleNotFoundError: fastavro is not installed.
    """
    options.check((), ("codec", "timestamp_mapping.legacy"))
    return AvroFiles(columns, options)


class AvroFiles(AvroFormat):
    """Container files, which hold the schema that they were written with.

    Fields are found by name. NULL replaces fields that a file does not have.
    """

    reads_fields = True
    suffix = "avro"

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options, mapped_schema(columns, options))
        self._codec = options.choice("codec", _CODECS, "snappy")

    def check_sink(self) -> None:
        """Check that the package of the codec is installed.

        Raises:
            ValidationException: it is not.
        """
        try:
            fastavro().writer(io.BytesIO(), "null", [None], codec=self._codec)
        except ValueError as error:
            raise ValidationException(
                f"Files cannot be written with 'avro.codec' = '{self._codec}': {error}. Codecs that need no other "
                "package are null, deflate, bzip2 and xz"
            ) from error

    def read_file(self, path: str, files: Any) -> Iterator[ColumnBatch]:
        """Yield the rows of a file."""
        with files.open(path) as file:
            records = self._records(file)
            while some := list(islice(records, _BATCH_ROWS)):
                yield self.batch_of(some)

    def _records(self, file: IO[bytes]) -> Iterator[Any]:
        try:
            yield from fastavro().reader(file)
        except OSError:
            raise
        except Exception as error:  # fastavro raises errors of many kinds for malformed files
            raise problem("read Avro file", error) from error

    def write_file(self, file: IO[bytes], batches: Iterable[ColumnBatch]) -> None:
        """Write the rows of batches as a file."""
        records = chain.from_iterable(map(self.records_of, batches))
        try:
            fastavro().writer(file, self.schema.parsed, records, codec=self._codec)
        except OSError:
            raise
        except Exception as error:
            raise problem("serialize row", error) from error
