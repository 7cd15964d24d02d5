"""Protocol Buffers in Confluent's wire format, as its `KafkaProtobufSerializer` writes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.confluent.messages import ConfluentMessages, divided
from firesteel.connectors.formats.protobuf import table as protobuf_table
from firesteel.connectors.formats.schema_registry import RegisteredSchema
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor

_KNOWN = "google/protobuf/"


def make(columns: Columns, options: Options) -> ConfluentMessages:
    """Return the format: options of `protobuf`, and those of the registry.

    Raises:
        ValidationException: an option is missing or invalid, or a column does not fit its field.
    """
    registry, inner = divided(options)
    records = protobuf_table.make(columns, inner)
    return ConfluentMessages(columns, registry, records, _Schema(records), place(records.descriptor))


class _Schema:
    """The schema of the file of a class."""

    def __init__(self, records: protobuf_table.ProtobufFormat) -> None:
        self._records = records

    def __call__(self) -> RegisteredSchema:
        return file_schema(self._records.descriptor.file)


def file_schema(file: FileDescriptor) -> RegisteredSchema:
    """Return a file as the registry takes it: in Base64, as Confluent's Python client sends it.

    Raises:
        ValidationException: the file imports others than those of Protocol Buffers, which were to be registered first.
    """
    others = [one.name for one in file.dependencies if not one.name.startswith(_KNOWN)]
    if others:
        raise ValidationException(
            f"Format 'protobuf-confluent' cannot register the schema {file.name}, which imports {', '.join(others)}: "
            "references are not supported"
        )
    return RegisteredSchema(base64.b64encode(file.serialized_pb).decode(), "PROTOBUF")


def place(message: Descriptor) -> bytes:
    """Return the place of a message in its file, from outside to inside, as it stands before records."""
    path: list[int] = []
    while message is not None:
        outer = message.containing_type
        siblings = outer.nested_types if outer is not None else message.file.message_types_by_name.values()
        path.insert(0, [one.full_name for one in siblings].index(message.full_name))
        message = outer
    return b"\0" if path == [0] else b"".join(_varint(2 * number) for number in (len(path), *path))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
