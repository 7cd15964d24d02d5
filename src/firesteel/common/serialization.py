"""Serialization schemas of sources and sinks (module as `pyflink.common.serialization`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.values.java_charset import java_decoder, java_encoder
from firesteel.common.values.java_text import java_formatter

T_in = TypeVar("T_in", contravariant=True)
T_out = TypeVar("T_out", covariant=True)


class SerializationSchema(WithoutJava, Generic[T_in]):
    """Serializes records to bytes.

    Example:
        >>> class Decimal(SerializationSchema):
        ...     def serialize(self, element):
        ...         return str(element).encode()
        >>> Decimal().serialize_all([1, 2])
        [b'1', b'2']
    """

    def serialize(self, element: T_in) -> bytes:
        """Return the bytes of a record.

        Args:
            element: A record of the stream.
        """
        raise NotImplementedError(f"{type(self).__name__}.serialize")

    def serialize_all(self, elements: Sequence[T_in]) -> list[bytes]:
        """Return the bytes of several records; override it if that is faster than one call per record.

        Args:
            elements: Records of the stream in order.

        Returns:
            One `bytes` for each record.
        """
        return [self.serialize(element) for element in elements]


class DeserializationSchema(WithoutJava, Generic[T_out]):
    """Deserializes bytes to records.

    Example:
        >>> class Numbers(DeserializationSchema):
        ...     def deserialize(self, message):
        ...         return int(message)
        ...     def get_produced_type(self):
        ...         return Types.LONG()
        >>> Numbers().deserialize_all([b"1", b"2"])
        [1, 2]
    """

    def deserialize(self, message: bytes) -> T_out | None:
        """Return the record of a message.

        Args:
            message: The bytes of one message.

        Returns:
            The record, or None to skip the message.
        """
        raise NotImplementedError(f"{type(self).__name__}.deserialize")

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        """Return the records of several messages: one for each, or None for a message to skip.

        Sources call it once per buffer of messages; override it if that is faster than one call per message.

        Args:
            messages: The messages of a buffer in order.
        """
        return [self.deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the records (Flink: `ResultTypeQueryable`)."""
        return Types.PICKLED_BYTE_ARRAY()


class SimpleStringSchema(SerializationSchema[object], DeserializationSchema[str]):
    """Serializes text in a charset as Java does: malformed input is replaced.

    Args:
        charset: A charset that Python knows (default UTF-8).

    Raises:
        LookupError: the charset is unknown.

    Example:
        >>> len(SimpleStringSchema("UTF-16BE").serialize("Käse"))
        8
        >>> SimpleStringSchema().deserialize("Käse".encode())
        'Käse'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset
        self._encode = java_encoder(charset)  # an unknown charset fails here rather than in the job
        self._decode = java_decoder(charset)

    def serialize(self, element: Any) -> bytes:
        """Return the encoded text."""
        return self._encode(str(element))

    def deserialize(self, message: bytes) -> str:
        """Return the decoded text."""
        return self._decode(message)

    def deserialize_all(self, messages: list[bytes]) -> list[str]:
        """Return the decoded texts of several messages."""
        decode = self._decode
        return [decode(message) for message in messages]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.charset,)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[Any], DeserializationSchema[bytes]):
    """Passes bytes through unchanged.

    Example:
        >>> ByteArraySchema().deserialize(b"to be")
        b'to be'
    """

    def __init__(self) -> None:
        pass

    def serialize(self, element: Any) -> bytes:
        """Return the record as bytes."""
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        """Return the message."""
        return message

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """Serializes one field of a Row, which must be bytes."""

    def __init__(self, field_index: int) -> None:
        if not isinstance(field_index, int) or field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index!r}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        """Return the bytes of the field; empty if it is None."""
        field = element[self.field_index]
        return b"" if field is None else bytes(field)


class Encoder:
    """Encodes the records of a file (Flink: `api.common.serialization.Encoder`).

    Args:
        charset_name: A charset that Python knows; `?` replaces a character that it does not have, as in Java.

    Raises:
        LookupError: the charset is unknown.

    Example:
        >>> Encoder.simple_string_encoder().encode("to be").decode().splitlines()
        ['to be']
    """

    def __init__(self, charset_name: str) -> None:
        "".encode(charset_name)  # an unknown charset fails here rather than in the job
        self.charset_name = charset_name

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes Java's text of each record, followed by a line feed.

        Args:
            charset_name: A charset that Python knows; `?` replaces a character that it does not have, as in Java.

        Raises:
            LookupError: the charset is unknown.
        """
        return Encoder(charset_name)

    def encode(self, element: Any, type_info: TypeInformation[Any] | None = None) -> bytes:
        """Return the bytes of a record, including the line terminator.

        Args:
            element: The record.
            type_info: Its type, which determines how numbers and times are formatted; None uses Python's `str`.
        """
        return java_encoder(self.charset_name)(java_formatter(type_info)(element) + "\n")


class BulkWriterFactory:
    """A factory of bulk writers, which write batches of records into files of a format."""

    def __init__(self, format_name: str, settings: Any = None) -> None:
        self.format_name = format_name
        self.settings = settings


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A `BulkWriterFactory` for rows of a known type."""

    def __init__(self, format_name: str, row_type: Any, settings: Any = None) -> None:
        super().__init__(format_name, settings)
        self._row_type = row_type

    def get_row_type(self) -> object:
        """Return the type of the rows."""
        return self._row_type
