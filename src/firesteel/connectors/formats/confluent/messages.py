"""Messages of another format behind the id of their schema."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.columns.batch import ColumnBatch
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.schema_registry import (
    CONFIGS,
    PROPERTIES,
    RegisteredSchema,
    client_of,
    split_message,
    wire_message,
)
from firesteel.connectors.formats.table_format import Columns, Format
from firesteel.connectors.table_options import Options

_FALLBACK = "schema-registry."
_OWN = ("url", "subject", *CONFIGS)


def divided(options: Options) -> tuple[Options, Options]:
    """Return the options of the registry, and those of the format of the records.

    Raises:
        ValidationException: the address of the registry is missing.
    """
    older = options.below(_FALLBACK, options.owner).values
    newer = {key: value for key, value in options.values.items() if not key.startswith(_FALLBACK)}
    given = {**older, **newer}
    own = {key: value for key, value in given.items() if key in _OWN or key.startswith(PROPERTIES)}
    Options(own, options.owner).check(("url",), _OWN, (PROPERTIES,))
    return Options(own, options.owner), Options({k: v for k, v in given.items() if k not in own}, options.owner)


class ConfluentMessages(Format):
    """Messages of records with the id of their schema.

    Args:
        columns: The columns.
        options: The options of the registry.
        inner: The format of the records.
        schema: Returns the schema of written records; None if it cannot be registered.
        head: What is between the id and the record.
    """

    is_text = False

    def __init__(
        self, columns: Columns, options: Options, inner: Format, schema: Callable[[], RegisteredSchema], head: bytes
    ) -> None:
        super().__init__(columns, options)
        self._name = options.owner
        self._inner = inner
        self._registry = client_of(options)
        self._subject = options.values.get("subject")
        self._schema = schema
        self._head = head
        self.reads_fields = inner.reads_fields

    def check_sink(self) -> None:
        """Check that there is a subject, and a schema to register under it.

        Raises:
            ValidationException: there is none.
        """
        if self._subject is None:
            raise ValidationException(f"Option {self._name}.subject is required for serialization")
        self._schema()
        self._inner.check_sink()

    def decode_messages(self, messages: list[bytes | None]) -> ColumnBatch:
        """Return a row per message."""
        return self._inner.decode_messages([None if message is None else self._record(message) for message in messages])

    def _record(self, message: bytes) -> bytes:
        schema_id, record = split_message(message)
        found, wanted = self._registry.found(schema_id).kind, self._schema_kind
        if found != wanted:
            raise ValueError(f"{self._name}: the schema {schema_id} of a message is of the kind {found}, not {wanted}")
        return self._after_head(record)

    @property
    def _schema_kind(self) -> str:
        return "PROTOBUF" if self._head else "JSON"

    def _after_head(self, record: bytes) -> bytes:
        if not self._head or record.startswith(self._head):
            return record[len(self._head) :]
        raise ValueError(
            f"{self._name}: a message has another type than the class: its place in the schema is "
            f"{record[: len(self._head)].hex()}, that of the class is {self._head.hex()}"
        )

    def encode(self, batch: ColumnBatch) -> list[bytes]:
        """Return the message of each row. The schema is registered before the first one."""
        if not batch.length:
            return []
        assert self._subject is not None
        schema_id = self._registry.registered(self._subject, self._schema())
        return [wire_message(schema_id, self._head + record) for record in self._inner.encode(batch)]
