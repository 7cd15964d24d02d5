"""Changes as records, in the form of Debezium, and what makes elements of a stream of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from firesteel.common.typeinfo import TypeInformation, Types

Fields = Mapping[str, object]


class ChangeRecord(NamedTuple):
    """A change of a row, or a row of a snapshot.

    Attributes:
        op: `c` for an insertion, `u` for an update, `d` for a deletion, `r` for a row of a snapshot.
        before: The row before the change, None for an insertion and a row of a snapshot.
        after: The row after the change, None for a deletion.
        source: `connector`, `name`, `ts_ms` (time of the change, 0 in a snapshot), `snapshot`, `db`, `schema` and
            `table`; MySQL has no schema.

    Example:
        >>> ChangeRecord("c", None, {"id": 7}, {"db": "shop", "table": "orders"}).after
        {'id': 7}
    """

    op: str
    before: Fields | None
    after: Fields | None
    source: Fields


T_co = TypeVar("T_co", covariant=True)


class DebeziumDeserializationSchema(Generic[T_co]):
    """Makes elements of changes. Flink CDC: `DebeziumDeserializationSchema`, whose records are Debezium's.

    Example:
        >>> class Keys(DebeziumDeserializationSchema):
        ...     def deserialize(self, record):
        ...         yield (record.after or record.before)["id"]
        >>> list(Keys().deserialize(ChangeRecord("c", None, {"id": 7}, {})))
        [7]
    """

    def deserialize(self, record: ChangeRecord) -> Iterable[T_co]:
        """Return the elements of a change."""
        raise NotImplementedError(f"{type(self).__name__} has no deserialize(record)")

    def get_produced_type(self) -> TypeInformation[T_co]:
        """Return the type of the elements: pickled objects."""
        return Types.PICKLED_BYTE_ARRAY()


class JsonDebeziumDeserializationSchema(DebeziumDeserializationSchema[str]):
    """Makes a JSON text of a change, as Debezium does without schemas. Flink CDC: the class of this name.

    `ts_ms` is the time of the change and not, as in Debezium, the time when it was read, because a batch that is read
    again must give the same elements. Fields of `source` that depend on Debezium are missing, see `ChangeRecord`.

    Args:
        include_schema: Only False is supported.

    Raises:
        ValueError: the schema should be included.

    Example:
        >>> source = {"connector": "mysql", "db": "shop", "table": "orders", "ts_ms": 5}
        >>> record = ChangeRecord("c", None, {"id": 7}, source)
        >>> print(*JsonDebeziumDeserializationSchema().deserialize(record))
        {"before":null,"after":{"id":7},"source":{"connector":"mysql","db":"shop","table":"orders","ts_ms":5},"op":"c","ts_ms":5,"transaction":null}
    """

    def __init__(self, include_schema: bool = False) -> None:
        if include_schema:
            raise ValueError("JsonDebeziumDeserializationSchema: include_schema is not supported; use False")

    def deserialize(self, record: ChangeRecord) -> Iterable[str]:
        """Return the text."""
        fields = {
            "before": record.before,
            "after": record.after,
            "source": record.source,
            "op": record.op,
            "ts_ms": record.source["ts_ms"],
            "transaction": None,
        }
        return (json.dumps(fields, ensure_ascii=False, separators=(",", ":")),)

    def get_produced_type(self) -> TypeInformation[str]:
        """Return `Types.STRING()`."""
        return Types.STRING()
