"""How records become bytes and text at the border of a job (module as `pyflink.common.serialization`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from firesteel.common.java_charset import java_decoder, java_encoder
from firesteel.common.java_objects import WithoutJava
from firesteel.common.java_text import java_formatter
from firesteel.common.typeinfo import TypeInformation, Types

T_in = TypeVar("T_in", contravariant=True)
T_out = TypeVar("T_out", covariant=True)


class SerializationSchema(WithoutJava, Generic[T_in]):
    """Record to bytes."""

    def serialize(self, element: T_in) -> bytes:
        """The bytes of a record."""
        raise NotImplementedError(f"{type(self).__name__}.serialize")

    def serialize_all(self, elements: Sequence[T_in]) -> list[bytes]:
        """The bytes of several records: override it where that is faster than one call for each."""
        return [self.serialize(element) for element in elements]


class DeserializationSchema(WithoutJava, Generic[T_out]):
    """Bytes to record."""

    def deserialize(self, message: bytes) -> T_out | None:
        """The record that the bytes stand for."""
        raise NotImplementedError(f"{type(self).__name__}.deserialize")

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        """The records that several messages stand for, one for each, None for a message that is left out.

        Sources that have a buffer of messages call it once for all of them: override it where that is faster.
        """
        return [self.deserialize(message) for message in messages]

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the records (Flink: `ResultTypeQueryable`)."""
        return Types.PICKLED_BYTE_ARRAY()


class SimpleStringSchema(SerializationSchema[object], DeserializationSchema[str]):
    """Records are text in one character set, as Java encodes and decodes it: what is malformed is replaced."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset = charset
        self._encode = java_encoder(charset)  # an unknown charset fails here, not in the job
        self._decode = java_decoder(charset)

    def serialize(self, element: Any) -> bytes:
        """The bytes of a record."""
        return self._encode(str(element))

    def deserialize(self, message: bytes) -> str:
        """The record that the bytes stand for."""
        return self._decode(message)

    def deserialize_all(self, messages: list[bytes]) -> list[str]:
        """The records of several messages."""
        decode = self._decode
        return [decode(message) for message in messages]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.charset,)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[Any], DeserializationSchema[bytes]):
    """Records are bytes already."""

    def __init__(self) -> None:
        pass

    def serialize(self, element: Any) -> bytes:
        """The bytes of a record."""
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        """The record that the bytes stand for."""
        return message

    def get_produced_type(self) -> TypeInformation[Any]:
        """Bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """One field of a Row, which must be bytes."""

    def __init__(self, field_index: int) -> None:
        if not isinstance(field_index, int) or field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index!r}")
        self.field_index = field_index

    def serialize(self, element: Any) -> bytes:
        """The bytes of a record."""
        field = element[self.field_index]
        return b"" if field is None else bytes(field)


class Encoder:
    """Writes the records of a file, one after the other (Flink: `api.common.serialization.Encoder`)."""

    def __init__(self, charset_name: str) -> None:
        "".encode(charset_name)  # an unknown charset fails here, not in the job
        self.charset_name = charset_name

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Java's text of each record on a line of its own."""
        return Encoder(charset_name)

    def encode(self, element: Any, type_info: TypeInformation[Any] | None = None) -> bytes:
        """The bytes of one record of that type, its line end included."""
        return (java_formatter(type_info)(element) + "\n").encode(self.charset_name)


class BulkWriterFactory:
    """Writes many records at once into files of one format."""

    def __init__(self, format_name: str, settings: Any = None) -> None:
        self.format_name = format_name
        self.settings = settings


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A `BulkWriterFactory` for rows of a known type."""

    def __init__(self, format_name: str, row_type: Any, settings: Any = None) -> None:
        super().__init__(format_name, settings)
        self._row_type = row_type

    def get_row_type(self) -> Any:
        """Type of the rows."""
        return self._row_type
