"""What capture tools write around rows as JSON. Flink: the `ReadableMetadata` of its decoding formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.connectors.formats.changes import DEBEZIUM, DELETE, INSERT, NOTHING, UPDATE, Envelope, Metadata

_TEXT, _LONG = t.VarCharType(t.MAX_LENGTH), t.BigIntType()
_TEXTS, _TEXT_MAP = t.ArrayType(_TEXT), t.MapType(_TEXT, _TEXT)
_MS, _US = t.LocalZonedTimestampType(3), t.LocalZonedTimestampType(6)
_SOURCE = t.RowType([t.RowField("ts_ms", _LONG), *(t.RowField(name, _TEXT) for name in ("db", "schema", "table"))])
_SECOND_MS = 1000


def _instants(values: pa.Array) -> pa.Array:
    return values.cast(pa.timestamp("ms")).cast(pa.timestamp("us", "UTC"))


def _seconds(values: pa.Array) -> pa.Array:
    return _instants(pc.multiply(values, _SECOND_MS))


def _of_utc(values: pa.Array) -> pa.Array:
    return values.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))


def _property(name: str, kind: t.DataType, value: Callable[[pa.Array], pa.Array] = lambda values: values) -> Metadata:
    """Return a column of a field of the object `source`."""
    return Metadata(kind, "source", _SOURCE, lambda rows: value(rows.flatten()[_SOURCE.field_names().index(name)]))


_DATABASE, _TABLE = Metadata(_TEXT, "database", _TEXT), Metadata(_TEXT, "table", _TEXT)

ENVELOPES: Final = {
    "canal-json": Envelope(
        "Canal",
        "data",
        "old",
        "type",
        {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE, "CREATE": NOTHING},
        has_lists=True,
        is_patch=True,
        metadata={
            "database": _DATABASE,
            "table": _TABLE,
            "sql-type": Metadata(t.MapType(_TEXT, t.IntType()), "sqlType", t.MapType(_TEXT, t.IntType())),
            "pk-names": Metadata(_TEXTS, "pkNames", _TEXTS),
            "ingestion-timestamp": Metadata(_MS, "ts", _LONG, _instants),
            "event-timestamp": Metadata(_MS, "es", _LONG, _instants),
        },
    ),
    "debezium-json": replace(
        DEBEZIUM,
        metadata={
            "schema": Metadata(_TEXT, "schema", _TEXT),
            "ingestion-timestamp": Metadata(_MS, "ts_ms", _LONG, _instants),
            "source.timestamp": _property("ts_ms", _MS, _instants),
            "source.database": _property("db", _TEXT),
            "source.schema": _property("schema", _TEXT),
            "source.table": _property("table", _TEXT),
            "source.properties": Metadata(_TEXT_MAP, "source", _TEXT_MAP),
        },
    ),
    "maxwell-json": Envelope(
        "Maxwell",
        "data",
        "old",
        "type",
        {"insert": INSERT, "update": UPDATE, "delete": DELETE},
        is_patch=True,
        metadata={
            "database": _DATABASE,
            "table": _TABLE,
            "primary-key-columns": Metadata(_TEXTS, "primary_key_columns", _TEXTS),
            "ingestion-timestamp": Metadata(_MS, "ts", _LONG, _seconds),
        },
    ),
    "ogg-json": Envelope(
        "Ogg",
        "after",
        "before",
        "op_type",
        {"I": INSERT, "U": UPDATE, "D": DELETE},
        metadata={
            "table": _TABLE,
            "primary-keys": Metadata(_TEXTS, "primary_keys", _TEXTS),
            "ingestion-timestamp": Metadata(_US, "current_ts", t.TimestampType(6), _of_utc),
            "event-timestamp": Metadata(_US, "op_ts", t.TimestampType(6), _of_utc),
        },
    ),
}
"""By the name of the format."""
