"""Formats of files that are read record by record or batch by batch."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types

T_out = TypeVar("T_out", covariant=True)


class StreamFormat(Generic[T_out]):
    """A format that reads a file record by record.

    Attributes:
        format_name: `text_line`, or the format of a subclass.
        charset_name: Charset of the text.

    Example:
        >>> latin = StreamFormat.text_line_format("ISO-8859-1")
        >>> source = FileSource.for_record_stream_format(latin, "/data/in").build()
    """

    def __init__(self, format_name: str, charset_name: str = "UTF-8") -> None:
        "".encode(charset_name)  # an unknown charset fails here, not in the job
        self.format_name = format_name
        self.charset_name = charset_name

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the records."""
        return Types.STRING()

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat[str]:
        """Return a format in which a record is a line of text, without its line terminator.

        Args:
            charset_name: Name of a charset that Python knows.

        Raises:
            LookupError: the charset is unknown.
        """
        return StreamFormat("text_line", charset_name)


class BulkFormat(Generic[T_out]):
    """A format that reads a file batch by batch.

    Attributes:
        format_name: Name of the format.

    Example:
        >>> row_type = Types.ROW_NAMED(["word", "total"], [Types.STRING(), Types.INT()])
        >>> bulk_format = ParquetColumnarRowInputFormat(row_type)
        >>> source = FileSource.for_bulk_file_format(bulk_format, "/data/in").build()
    """

    def __init__(self, format_name: str) -> None:
        self.format_name = format_name

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the records."""
        return PickledBytesTypeInfo()
