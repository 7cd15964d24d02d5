"""Messages of changes: what capture tools write around the rows, whatever the encoding."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.column_types import DataType

Numbers: TypeAlias = np.ndarray[Any, Any]

INSERT, UPDATE, DELETE, NOTHING = range(4)
"""What a message says of its rows; NOTHING is a message that is no change of rows."""


@dataclass(frozen=True)
class Metadata:
    """What else of a message a table may have as a column.

    Attributes:
        type: The type of the column.
        field: The field of the message.
        read_as: The type that the field is read as.
        value: Returns the column of the field's values.
    """

    type: DataType
    field: str
    read_as: DataType
    value: Callable[[pa.Array], pa.Array] = lambda values: values


@dataclass(frozen=True)
class Envelope:
    """What a tool writes around the rows of a change.

    Attributes:
        tool: The tool, for messages.
        new: The field of rows after a change.
        old: The field of rows before a change.
        operation: The field that says what happened.
        operations: What each of its values means.
        has_lists: Whether a message has lists of rows.
        is_patch: Whether `old` has only the columns that changed, and a deleted row is in `new`.
        metadata: What else can be read, by key.
    """

    tool: str
    new: str
    old: str
    operation: str
    operations: Mapping[str, int]
    has_lists: bool = False
    is_patch: bool = False
    metadata: Mapping[str, Metadata] = field(default_factory=dict)


DEBEZIUM = Envelope("Debezium", "after", "before", "op", {"c": INSERT, "r": INSERT, "u": UPDATE, "d": DELETE})
"""What Debezium writes, as JSON or Avro."""


@dataclass(frozen=True)
class Messages:
    """Messages as columns.

    Attributes:
        operation: What happened, as texts.
        new: The rows after it, or lists of them.
        old: The rows before it, or lists of them.
        metadata: Other columns.
    """

    operation: pa.Array
    new: pa.Array
    old: pa.Array
    metadata: tuple[pa.Array, ...] = ()


class BrokenChangeError(ValueError):
    """A message that does not say what its operation needs.

    Attributes:
        before: The changes of the message before the one that is broken.
    """

    def __init__(self, problem: str, before: ColumnBatch | None = None) -> None:
        super().__init__(problem)
        self.before = before


NamesInOld: TypeAlias = Callable[[int], Container[str]]
"""Returns what the old row of a message, by number, names: a patch may say that a value was NULL."""


def changes_of(
    messages: Messages, envelope: Envelope, columns: Sequence[str] = (), names_in_old: NamesInOld = lambda _: ()
) -> ColumnBatch:
    """Return the rows of messages, each with the metadata of its message.

    Args:
        messages: The messages.
        envelope: What they are like.
        columns: The names of the columns, if old rows are patches.
        names_in_old: What old rows name, if they are patches.

    Raises:
        BrokenChangeError: a message has no operation that is known, or not the rows that its operation needs.
    """
    operations = _operations(messages.operation, envelope)
    places, new, old = _elements(operations, messages, envelope)
    changes = _Changes(operations[places], new, old, places, envelope)
    broken = changes.first_broken()
    if broken is not None:
        before = changes.until(broken).rows(messages.metadata, columns, names_in_old)
        raise BrokenChangeError(changes.problem(broken), before)
    return changes.rows(messages.metadata, columns, names_in_old)


@dataclass(frozen=True)
class _Changes:
    """Changes of one row each.

    Attributes:
        operations: INSERT, UPDATE or DELETE.
        new: The rows after it.
        old: The rows before it.
        places: The number of the message of each.
        envelope: What messages are like.
    """

    operations: Numbers
    new: pa.StructArray
    old: pa.StructArray
    places: Numbers
    envelope: Envelope

    @property
    def _uses_new(self) -> Numbers:
        return np.isin(self.operations, [INSERT, UPDATE, DELETE] if self.envelope.is_patch else [INSERT, UPDATE])

    @property
    def _uses_old(self) -> Numbers:
        return np.isin(self.operations, [UPDATE] if self.envelope.is_patch else [UPDATE, DELETE])

    def first_broken(self) -> int | None:
        """Return the number of the first change that lacks a row."""
        broken = (self._uses_new & _is_null(self.new)) | (self._uses_old & _is_null(self.old))
        return int(np.argmax(broken)) if broken.any() else None

    def until(self, end: int) -> _Changes:
        """Return the changes before one."""
        return _Changes(self.operations[:end], self.new[:end], self.old[:end], self.places[:end], self.envelope)

    def problem(self, number: int) -> str:
        """Return what is wrong with a change that lacks a row."""
        lacks_old = self._uses_old[number] and not self.old[number].is_valid
        field_name = self.envelope.old if lacks_old else self.envelope.new
        operation = ("INSERT", "UPDATE", "DELETE")[self.operations[number]]
        found = f'The "{field_name}" field of {operation} message is null'
        if not lacks_old or self.envelope.is_patch:
            return found
        return (
            f"{found}, if you are using {self.envelope.tool} Postgres Connector, please check the Postgres table has "
            "been set REPLICA IDENTITY to FULL level."
        )

    def rows(self, metadata: tuple[pa.Array, ...], columns: Sequence[str], names_in_old: NamesInOld) -> ColumnBatch:
        """Return the rows with their kinds, none of which lacks."""
        count, uses_old = len(self.places), self._uses_old
        # Two per change, in the order of the result: its place in the old rows, followed by the new ones.
        is_row = np.stack([uses_old, self._uses_new], axis=1)
        rows = (np.arange(count)[:, None] + [0, count])[is_row]
        deleted = np.where(self.operations == DELETE, int(Kind.DELETE), int(Kind.UPDATE_BEFORE))
        kept = np.array([Kind.INSERT, Kind.UPDATE_AFTER, Kind.DELETE], np.int8)[self.operations]
        kinds = np.stack([deleted, kept], axis=1)[is_row].astype(np.int8)
        before, after = self.old.flatten(), self.new.flatten()
        if self.envelope.is_patch:
            before = self._patched(before, after, uses_old, columns, names_in_old)
        arrays = [pa.concat_arrays(pair).take(pa.array(rows)) for pair in zip(before, after, strict=True)]
        of_message = pa.array(self.places[rows - count * (rows >= count)])
        arrays += [values.take(of_message) for values in metadata]
        return ColumnBatch(tuple(arrays), len(rows), kinds if kinds.any() else None)

    def _patched(
        self,
        before: Sequence[pa.Array],
        after: Sequence[pa.Array],
        uses_old: Numbers,
        columns: Sequence[str],
        names_in_old: NamesInOld,
    ) -> list[pa.Array]:
        """Return the values before updates: those after it where the patch has none."""
        # In a column, a value that the patch leaves out and one that was NULL look the same.
        named = {row: names_in_old(int(self.places[row])) for row in np.flatnonzero(uses_old).tolist()}
        arrays = []
        for name, old, new in zip(columns, before, after, strict=True):
            absent = uses_old & _is_null(old)
            absent[[row for row, names in named.items() if name in names]] = False
            arrays.append(pc.if_else(pa.array(absent), new, old))
        return arrays


def _operations(texts: pa.Array, envelope: Envelope) -> Numbers:
    known = list(envelope.operations)
    places = pc.fill_null(pc.index_in(texts, pa.array(known)), -1).to_numpy(zero_copy_only=False)
    if (places < 0).any():
        text = texts[int(np.argmax(places < 0))].as_py()
        raise BrokenChangeError(f'Unknown "{envelope.operation}" value "{text}"')
    meanings: Numbers = np.array(list(envelope.operations.values()), np.int8)
    found: Numbers = meanings[places]
    return found


def _elements(operations: Numbers, messages: Messages, envelope: Envelope) -> tuple[Numbers, pa.Array, pa.Array]:
    """Return the number of the message of each change, and the rows after and before it."""
    changes = np.flatnonzero(operations != NOTHING)
    new, old = messages.new, messages.old
    if len(changes) < len(operations):
        new, old = new.take(pa.array(changes)), old.take(pa.array(changes))
    if not envelope.has_lists:
        return changes, new, old
    if new.null_count:
        raise BrokenChangeError(f'The "{envelope.new}" field is null')
    lengths, old_lengths = _lengths(new), _lengths(old)
    message = np.repeat(np.arange(len(changes)), lengths)
    inside = np.arange(len(message)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    first = np.cumsum(old_lengths) - old_lengths
    found = pa.array(first[message] + inside, mask=inside >= old_lengths[message])
    return changes[message], new.flatten(), old.flatten().take(found)


def _lengths(lists: pa.ListArray) -> Numbers:
    return np.asarray(pc.fill_null(lists.value_lengths(), 0))


def _is_null(values: pa.Array) -> Numbers:
    if not values.null_count:
        return np.zeros(len(values), bool)
    return np.asarray(values.is_null())
