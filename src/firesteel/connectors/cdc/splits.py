"""Splits of captured tables: chunks of their snapshot, then their log. Their ids say all that a reader must know.

A chunk shows its rows at a position of the log that is known before it is read. The log is read from the first of these
positions; changes of keys that a chunk of a later position already contains are left out of it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from firesteel.columns.cells import Cell
from firesteel.functions.splits import Split

KeyText: TypeAlias = "str | None"
"""A key as the server writes it; None stands for no bound."""

_LOG, _CHUNK = "log ", "chunk "

UNITS_PER_ROW = 128
"""Positions of a row: the log is counted in bytes, and chunks as if their rows had this size."""

KeyReader: TypeAlias = "Callable[[str], Cell]"
"""Makes of a key as text a value that has its order."""


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table when the source began.

    Attributes:
        columns: What must not change of each column.
        primary_key: The columns of its primary key.
        chunk_column: The column that divides it into chunks; empty for a single chunk.
        chunk_type: The type of that column.
        layout: For a log without names: name, collation and type of the columns in their order.
    """

    columns: Mapping[str, str]
    primary_key: Sequence[str] = ()
    chunk_column: str = ""
    chunk_type: str = ""
    layout: Sequence[Sequence[str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of keys in a snapshot.

    Attributes:
        number: From 0; those of a table in the order of keys.
        table: Name of the table.
        position: The snapshot has the transactions before this position of the log.
        snapshot: Name of a snapshot that the server keeps, or what tells the server from others.
        start: The first key; None for no bound.
        end: The key after the last one; None for no bound.
        column: The column with the keys; empty without bounds.
        known: Of the first chunk of the table: what it was.
    """

    number: int
    table: str
    position: int
    snapshot: str = ""
    start: KeyText = None
    end: KeyText = None
    column: str = ""
    known: KnownTable | None = None

    @property
    def split_id(self) -> str:
        """The id, from which `chunk_of` makes the chunk again."""
        return _CHUNK + json.dumps(asdict(self))

    def split(self, rows: int) -> Split:
        """Return the split of the chunk, which a batch reads as a whole.

        Args:
            rows: About how many rows it has.
        """
        return Split(self.split_id, 0, 0, UNITS_PER_ROW * rows, is_whole=True)


Range: TypeAlias = "tuple[KeyText, KeyText, int]"
"""Start and end of the keys of a chunk, and its position."""


@dataclass(frozen=True, slots=True)
class Log:
    """The log of captured tables.

    Attributes:
        tables: The tables by name.
        late: By table its chunks that were read at a later position than the start of the log, in the order of keys.
        server: What tells the server from others, if its positions are its own.
    """

    tables: Mapping[str, KnownTable]
    late: Mapping[str, Sequence[Range]] = field(default_factory=dict)
    server: str = ""

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
    known = found.pop("known")
    return Chunk(**found, known=None if known is None else KnownTable(**known))


def log_of(split_id: str) -> Log:
    """Return the log with an id."""
    found = json.loads(split_id.removeprefix(_LOG))
    late = {name: [(start, end, at) for start, end, at in ranges] for name, ranges in found["late"].items()}
    return Log({name: KnownTable(**table) for name, table in found["tables"].items()}, late, found["server"])


def newest_chunks(split_ids: Iterable[str]) -> list[Chunk]:
    """Return chunks in the order of their numbers; of one with several positions that of the last one."""
    found: dict[int, Chunk] = {}
    for chunk in map(chunk_of, split_ids):
        if chunk.number not in found or found[chunk.number].position < chunk.position:
            found[chunk.number] = chunk
    return [found[number] for number in sorted(found)]


def log_after(split_ids: Iterable[str]) -> tuple[Log, int]:
    """Return the log that follows the chunks that were read, and the position where it starts.

    Args:
        split_ids: The ids of all chunks; of one that had to be read again at a later position also the former ids.
    """
    chunks = newest_chunks(split_ids)
    first = min(chunk.position for chunk in chunks)
    tables = {chunk.table: chunk.known for chunk in chunks if chunk.known is not None}
    late = {name: _joined(c for c in chunks if c.table == name and c.position > first) for name in tables}
    return Log(tables, {name: ranges for name, ranges in late.items() if ranges}), first


def _joined(chunks: Iterable[Chunk]) -> list[Range]:
    """Return the key ranges of chunks, neighbours with the same position as one."""
    ranges: list[Range] = []
    for chunk in chunks:
        if ranges and chunk.start is not None and ranges[-1][1:] == (chunk.start, chunk.position):
            ranges[-1] = (ranges[-1][0], chunk.end, chunk.position)
        else:
            ranges.append((chunk.start, chunk.end, chunk.position))
    return ranges


class LateChunks:
    """Finds the changes of a table that a chunk already contains.

    Args:
        late: The ranges, as of `Log`.
        read: Makes a key comparable.
    """

    def __init__(self, late: Sequence[Range], read: KeyReader) -> None:
        self._read = read
        self._late = late
        self._starts = [read(start) for start, _, _ in late if start is not None]
        self._has_lowest = bool(late) and late[0][0] is None
        self._ends = [None if end is None else read(end) for _, end, _ in late]
        self.before = max((position for _, _, position in late), default=0)

    def contain(self, key: str, position: int) -> bool:
        """Return whether a chunk contains a change of a key by a transaction at a position."""
        if position >= self.before:
            return False
        value = self._read(key)
        place = bisect_right(self._starts, value) - (not self._has_lowest)
        if place < 0:
            return False
        end = self._ends[place]
        return position < self._late[place][2] and (end is None or value < end)
