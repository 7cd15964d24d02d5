"""Splits of a captured table: chunks of its snapshot, then its log. Their ids say all that a reader must know.

All chunks of a snapshot show the table at one LSN, where a temporary slot has exported its snapshot. The log is read
from there. Only if that snapshot is lost before all chunks were read, the others are read at a later LSN; changes of
their keys that they already contain are then left out of the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TypeAlias

from firesteel.columns.cells import Cell

KeyText: TypeAlias = "str | None"
"""A key as PostgreSQL writes it; None stands for no bound."""

_LOG, _CHUNK = "log ", "chunk "

KEY_READERS: Mapping[str, Callable[[str], Cell]] = {
    **dict.fromkeys(("int2", "int4", "int8"), int),
    "numeric": lambda text: Decimal("Infinity") if text == "NaN" else Decimal(text),
    **dict.fromkeys(("uuid", "text", "varchar"), str.encode),
}
"""Types by whose values a table is divided into chunks: how their order is found out here."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """The table when the source began.

    Attributes:
        columns: What must not change of each column, see `ColumnShape.signature`.
        primary_key: The columns of its primary key.
        chunk_column: The column that divides it into chunks; empty for a single chunk.
        chunk_type: The type of that column, one of `KEY_READERS`.
    """

    columns: Mapping[str, str]
    primary_key: Sequence[str] = ()
    chunk_column: str = ""
    chunk_type: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of keys in a snapshot.

    Attributes:
        number: From 0, in the order of keys.
        snapshot: Name of the exported snapshot.
        lsn: The snapshot has the transactions that committed before this LSN.
        start: The first key; None for no bound.
        end: The key after the last one; None for no bound.
        column: The column with the keys; empty without bounds.
        table: Of the first chunk: the table.
    """

    number: int
    snapshot: str
    lsn: int
    start: KeyText = None
    end: KeyText = None
    column: str = ""
    table: KnownTable | None = None

    @property
    def split_id(self) -> str:
        """The id, from which `chunk_of` makes the chunk again."""
        return _CHUNK + json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Log:
    """The log of the table.

    Attributes:
        table: The table.
        late: Chunks that were read at a later LSN than the start of the log: start and end of the keys, and the LSN.
    """

    table: KnownTable
    late: Sequence[tuple[KeyText, KeyText, int]] = ()

    @property
    def split_id(self) -> str:
        """The id, from which `log_of` makes the log again."""
        return _LOG + json.dumps(asdict(self))


def is_log(split_id: str) -> bool:
    """Return whether a split is the log."""
    return split_id.startswith(_LOG)


def chunk_of(split_id: str) -> Chunk:
    """Return the chunk with an id."""
    found = json.loads(split_id.removeprefix(_CHUNK))
    table = found.pop("table")
    return Chunk(**found, table=None if table is None else KnownTable(**table))


def log_of(split_id: str) -> Log:
    """Return the log with an id."""
    found = json.loads(split_id.removeprefix(_LOG))
    return Log(KnownTable(**found["table"]), tuple((start, end, lsn) for start, end, lsn in found["late"]))


def log_after(split_ids: Iterable[str]) -> tuple[Log, int]:
    """Return the log that follows the chunks that were read, and the LSN where it starts.

    Args:
        split_ids: The ids of all chunks; of one that had to be read again at a later LSN also the former ids.
    """
    read: dict[int, Chunk] = {}
    for chunk in map(chunk_of, split_ids):
        if chunk.number not in read or read[chunk.number].lsn < chunk.lsn:
            read[chunk.number] = chunk
    chunks = [read[number] for number in sorted(read)]
    first = min(chunk.lsn for chunk in chunks)
    table = chunks[0].table
    assert table is not None
    return Log(table, _joined([chunk for chunk in chunks if chunk.lsn > first])), first


def _joined(chunks: Iterable[Chunk]) -> list[tuple[KeyText, KeyText, int]]:
    """Return the key ranges of chunks, neighbours with the same LSN as one."""
    ranges: list[tuple[KeyText, KeyText, int]] = []
    for chunk in chunks:
        if ranges and chunk.start is not None and ranges[-1][1:] == (chunk.start, chunk.lsn):
            ranges[-1] = (ranges[-1][0], chunk.end, chunk.lsn)
        else:
            ranges.append((chunk.start, chunk.end, chunk.lsn))
    return ranges


class LateChunks:
    """Finds the changes that a chunk already contains.

    Args:
        late: As of `Log`.
        type_name: The type of the keys, one of `KEY_READERS` unless all chunks are without bounds.
    """

    def __init__(self, late: Iterable[tuple[KeyText, KeyText, int]], type_name: str) -> None:
        self._read = KEY_READERS.get(type_name, str.encode)
        self._ranges = [
            (None if start is None else self._read(start), None if end is None else self._read(end), lsn)
            for start, end, lsn in late
        ]
        self.before = max((lsn for _, _, lsn in self._ranges), default=0)

    def contain(self, key: str, commit_lsn: int) -> bool:
        """Return whether a chunk contains the change of a key."""
        if commit_lsn >= self.before:
            return False
        value = self._read(key)
        return any(
            commit_lsn < lsn and (start is None or start <= value) and (end is None or value < end)
            for start, end, lsn in self._ranges
        )
