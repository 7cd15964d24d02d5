"""Formats that read and write one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import to_arrow, to_python
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_options import Options


class RowFormat(Format):
    """A format of rows, each a line of a file or a message (Flink: `DecodingFormat` and `EncodingFormat`).

    Derive from it to write a format; the module that a package declares has a function `make(columns, options)`, which
    returns it. It needs only what is used: `read_row` for sources, `write_row` for sinks.

    Args:
        columns: Names and types of the columns that are read or written.
        options: Options of the table below the prefix of the format.

    Attributes:
        columns: Names and types of the columns that are read or written.

    Example:
        >>> class Pipes(RowFormat):
        ...     def read_row(self, record):
        ...         return record.decode().split("|")
        ...     def write_row(self, row):
        ...         return "|".join(row).encode()
        >>> Pipes(Columns(("a", "b"), ()), Options({}, "pipes")).read_row(b"to|be")
        ['to', 'be']
    """

    def __init__(self, columns: Columns, options: Options) -> None:
        super().__init__(columns, options)

    def read_row(self, record: bytes) -> Sequence[object] | None:
        """Return the values of all columns; None leaves the record out.

        Args:
            record: A line without its end, or a message.

        Raises:
            ValueError: the record cannot be read, which fails the job.
        """
        raise NotImplementedError(f"{type(self).__name__} has no read_row(record): it cannot be read")

    def write_row(self, row: Sequence[object]) -> bytes:
        """Return the record of a row.

        Args:
            row: The values of all columns.

        Raises:
            ValueError: the row cannot be written, which fails the job.
        """
        raise NotImplementedError(f"{type(self).__name__} has no write_row(row): it cannot be written")

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines.

        Args:
            data: The lines.
        """
        return self.decode_messages(list(data.splitlines()))

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the rows of messages.

        Args:
            messages: The messages; those without content have no row.
        """
        found = [self.read_row(message) for message in messages if message is not None]
        return batch_of_rows([row for row in found if row is not None], self.columns)

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return the record of each row.

        Args:
            batch: The rows.
        """
        values = [to_python(array, kind) for array, kind in zip(batch.columns, self.columns.types, strict=True)]
        return [self.write_row(row) for row in (zip(*values, strict=True) if values else [()] * batch.length)]


def batch_of_rows(rows: Sequence[Sequence[object]], columns: Columns) -> ColumnBatch:
    """Return rows of Python values as a batch.

    Raises:
        ValueError: a row has another number of values than there are columns.
    """
    count = len(columns.types)
    wrong = next((row for row in rows if len(row) != count), None)
    if wrong is not None:
        raise ValueError(f"expected {count} values ({', '.join(columns.names)}), found {len(wrong)}: {wrong!r}")
    values = zip(*rows, strict=True) if rows else [()] * count
    return ColumnBatch(tuple(to_arrow(list(v), kind) for v, kind in zip(values, columns.types, strict=True)), len(rows))
