"""Messages of the logical decoding plugin `pgoutput`, protocol version 1.

Format: PostgreSQL's documentation, "Logical Replication Message Formats".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from firesteel.connectors.cdc.errors import CdcError

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_BEGIN = struct.Struct(">QqI")
_COMMIT = struct.Struct(">bQQq")
_EPOCH_US = 946_684_800_000_000
"""PostgreSQL's epoch, the year 2000, in microseconds since 1970."""


class PostgresCdcError(CdcError):
    """Changes of a PostgreSQL table could not be read."""


class Unchanged:
    """Stands for a large value that an update did not change, which the log does not repeat (TOAST)."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()

TupleData: TypeAlias = "list[str | Unchanged | None]"
"""The values of a row as text, in the order of the table's columns."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The beginning of a transaction, with the LSN of its commit and its time in ms since the epoch."""

    commit_lsn: int
    commit_ms: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction, with the LSN after its commit."""

    end_lsn: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a table as the log has it.

    Attributes:
        type_oid: Its type in `pg_type`.
        modifier: Length or precision of the type; -1 for none.
        is_key: Whether it is part of the replica identity.
    """

    name: str
    type_oid: int
    modifier: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A table: it comes before its first change, and again when the table has changed."""

    oid: int
    schema: str
    table: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """An inserted, updated or deleted row.

    Attributes:
        kind: `I`, `U` or `D`.
        old: The old row, or of an `is_key_only` one the key alone; None if the log does not have it.
        new: The new row; None of a deleted one.
    """

    kind: str
    relation: int
    old: TupleData | None
    new: TupleData | None
    is_key_only: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """All rows of some tables were removed at once."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | RowChange | Truncate


def parse(data: bytes) -> Message | None:
    """Return a message; None for those of no interest: types, origins, and messages of programs.

    Raises:
        PostgresCdcError: the kind of message is unknown.
    """
    kind = chr(data[0])
    if kind in "IUD":
        return _row_change(data, kind)
    if kind == "B":
        lsn, time_us, _ = _BEGIN.unpack_from(data, 1)
        return Begin(lsn, (time_us + _EPOCH_US) // 1000)
    if kind == "C":
        return Commit(_COMMIT.unpack_from(data, 1)[2])
    if kind == "R":
        return _relation(data)
    if kind == "T":
        count = _INT32.unpack_from(data, 1)[0]
        return Truncate(struct.unpack_from(f">{count}I", data, 6))
    if kind in "YOM":
        return None
    raise PostgresCdcError(f"pgoutput: unknown message of kind {kind!r}; those of protocol version 1 are known")


def _relation(data: bytes) -> Relation:
    oid = _UINT32.unpack_from(data, 1)[0]
    schema, at = _string(data, 5)
    table, at = _string(data, at)
    identity, count = chr(data[at]), _INT16.unpack_from(data, at + 1)[0]
    at += 3
    columns = []
    for _ in range(count):
        is_key = data[at] & 1 == 1
        name, at = _string(data, at + 1)
        columns.append(
            RelationColumn(name, _UINT32.unpack_from(data, at)[0], _INT32.unpack_from(data, at + 4)[0], is_key)
        )
        at += 8
    # An empty schema stands for pg_catalog.
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


def _row_change(data: bytes, kind: str) -> RowChange:
    relation, part, at = _UINT32.unpack_from(data, 1)[0], chr(data[5]), 6
    old = new = None
    is_key_only = part == "K"
    if part in "KO":
        old, at = _tuple(data, at)
        at += 1
    if kind != "D":
        new, at = _tuple(data, at)
    return RowChange(kind, relation, old, new, is_key_only)


def _tuple(data: bytes, at: int) -> tuple[TupleData, int]:
    count = _INT16.unpack_from(data, at)[0]
    at += 2
    values: TupleData = []
    for _ in range(count):
        kind = data[at]
        if kind == 0x74:  # t: text
            start = at + 5
            at = start + _INT32.unpack_from(data, at + 1)[0]
            values.append(data[start:at].decode())
            continue
        values.append(None if kind == 0x6E else UNCHANGED)  # n: NULL, u: unchanged
        at += 1
    return values, at
