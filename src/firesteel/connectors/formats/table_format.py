"""The interface of formats, and how they are found by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Rex
from firesteel.columns.values import arrow_type
from firesteel.common.files.file_systems import Files
from firesteel.common.meant import meant
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.files.text_files import is_compressed
from firesteel.connectors.identifiers import Use, format_module, known_formats
from firesteel.connectors.table_connector import INSERT_ONLY
from firesteel.connectors.table_options import Options

_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class Columns:
    """Names and types of the columns that a format reads or writes.

    Attributes:
        names: The names.
        types: The types.

    Example:
        >>> Columns(("word", "total"), ()).names
        ('word', 'total')
    """

    names: tuple[str, ...]
    types: tuple[DataType, ...]


class Format:
    """A picklable reader and writer of the physical columns of a table.

    Attributes:
        columns: The columns that it reads or writes.
        is_text: Whether records are lines of text; otherwise a file can only be read and written as a whole, by
            `read_file` and `write_file`.
        reads_fields: Whether it needs only the columns, and fields of rows, that are read.
        quote: The quote character, within which a record may span lines.
        skips_first_line: Whether the first line of a file is no record.
        suffix: The suffix of names of temporary files.
    """

    is_text = True
    reads_fields = False
    quote: bytes | None = None
    skips_first_line = False
    suffix = ""

    def __init__(self, columns: Columns, options: Options) -> None:
        self.columns = columns

    def with_condition(self, condition: Rex | None, columns: Columns) -> Format:
        """Return a format that may leave out rows for which a condition is not TRUE.

        Args:
            condition: None for all rows.
            columns: All columns of the table, to which the condition refers by number.
        """
        return self

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether a condition may keep the format from reading parts of a file."""
        return False

    def rows_in_file(self, path: Path) -> float | None:
        """Return how many rows a local file has, for text by the length of its first lines; None if it is unknown."""
        if not self.is_text or is_compressed(str(path)):
            return None
        with path.open("rb") as file:
            start = file.read(_SAMPLE_BYTES)
        lines = start.count(b"\n")
        return path.stat().st_size * lines / len(start) if lines else float(bool(start))

    @property
    def metadata(self) -> Mapping[str, DataType]:
        """What messages have besides the columns: names of metadata, and the types of these columns."""
        return {}

    def with_metadata(self, keys: tuple[str, ...]) -> Format:
        """Return a format whose rows have some of `metadata`, in this order, behind the columns."""
        raise NotImplementedError(f"{type(self).__name__} has no metadata")

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of rows that it reads and writes."""
        return INSERT_ONLY

    def decode_block(self, data: bytes) -> ColumnBatch:
        """Return the rows of whole lines.

        Raises:
            ValueError: a record can't be read.
        """
        raise NotImplementedError(f"{type(self).__name__} does not read text")

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return the rows of messages; None is a message without content.

        Raises:
            ValueError: a message can't be read.
        """
        raise NotImplementedError(f"{type(self).__name__} does not read messages")

    def read_file(self, path: str, files: Files) -> Iterator[ColumnBatch]:
        """Yield the rows of a file that is no text."""
        raise NotImplementedError(f"{type(self).__name__} does not read files")

    def check_sink(self) -> None:
        """Check the options that matter to sinks only.

        Raises:
            ValidationException: an option is missing or invalid.
        """

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return a record per row, without line ends.

        Raises:
            ValueError: a row can't be written.
        """
        raise NotImplementedError(f"{type(self).__name__} does not write")

    def encode_messages(self, batch: ColumnBatch) -> Sequence[bytes | None]:
        """Return a message per row; None is a message without content.

        Raises:
            ValueError: a row can't be written.
        """
        return self.encode(batch)

    def write_file(self, file: IO[bytes], batches: Iterable[ColumnBatch]) -> None:
        """Write the rows of batches as a file that is no text.

        Raises:
            ValueError: a row can't be written.
        """
        raise NotImplementedError(f"{type(self).__name__} does not write files")


def make_format(name: str, columns: Columns, options: Options, use: Use) -> Format:
    """Create a format by name.

    Args:
        name: Its name, such as `json`.
        columns: The columns to read or write.
        options: Options of the table below the format's prefix.
        use: Whether it reads and writes files or messages; one name may have a format for each.

    Raises:
        ValidationException: there is no such format, an option is invalid, or it has no values of a type.
    """
    module = format_module(name, use)
    if module is None:
        raise ValidationException(
            f"Could not find any format factory for identifier '{name}'{meant(name, known_formats(use)) or '.'}\n\n"
            f"Available factory identifiers for {use} are:\n\n" + "\n".join(known_formats(use))
        )
    try:
        for kind in columns.types:
            arrow_type(kind)
        made: Format = module.make(columns, options)
    except NotImplementedError as error:
        raise ValidationException(f"Format '{name}': {error}") from error
    if made.skips_first_line and use == "messages":
        raise ValidationException(f"Option 'ignore-first-line' of '{name}' is for files: messages have no header")
    return made
