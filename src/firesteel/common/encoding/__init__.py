"""Values as bytes that are data: what state files, metadata and positions of sources are made of.

Columns of values of one kind each (see `kinds`), which are read without running anything. Values of classes that are
not data, which only programs of users have, are pickled in between, and handed to whoever reads them as bytes.

Why: `docs/decisions/0061-files-hold-no-code.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.common.encoding.column_reader import ColumnReader, LoadOpaque
from firesteel.common.encoding.column_writer import ColumnWriter
from firesteel.common.encoding.entry_columns import EntryColumns
from firesteel.common.encoding.kinds import NotDataError, Value

__all__ = [
    "NamedEntries",
    "NotDataError",
    "decoded",
    "decoded_entries",
    "encoded",
    "encoded_data",
    "encoded_entries",
    "is_encoded",
    "refused",
    "state_of",
]

NamedEntries = tuple[str, dict[Value, Value]]
"""The name of a state, and its entries with their values."""

_VALUE = 0xF1
_ENTRIES = 0xF2


def is_encoded(data: bytes) -> bool:
    """Return whether bytes are in this form; pickles, which earlier releases wrote, begin otherwise."""
    return bool(data) and data[0] in (_VALUE, _ENTRIES)


def encoded_data(value: object) -> bytes:
    """Return the bytes of a value that anyone may read; that it refers to an object several times is lost.

    Raises:
        NotDataError: it has parts that are no data.
    """
    data = bytearray((_VALUE,))
    ColumnWriter(data, only_data=True).column([value])
    return bytes(data)


def encoded(value: object) -> bytes:
    """Return the bytes of a value, with pickles of what is no data.

    Example:
        >>> decoded(encoded({"a": [1, 2.5, None]}))
        {'a': [1, 2.5, None]}
    """
    data = bytearray((_VALUE,))
    ColumnWriter(data).separate([value])
    return bytes(data)


def encoded_entries(name: str, entries: Mapping[Value, Value]) -> bytes:
    """Return the bytes of entries of a state and their values; if one of these is no data, the others still are."""
    data = bytearray((_ENTRIES,))
    writer = ColumnWriter(data)
    writer.separate([(name, len(entries))])
    if isinstance(entries, EntryColumns):
        entries.write_entries(writer)
        writer.separated(entries.write_values, lambda: list(entries.values()))
    else:
        writer.separate(list(entries))
        writer.separate(list(entries.values()))
    return bytes(data)


def state_of(data: bytes) -> str | None:
    """Return the name of the state whose entries these are; None if an earlier release has pickled them.

    Raises:
        NotDataError: the bytes are not of this form.
    """
    if not is_encoded(data):
        return None
    name: str = _read(data, _ENTRIES, refused, lambda reader: reader.column(1)[0][0], is_whole=False)
    return name


def refused(data: bytes) -> Value:
    """Refuse a pickle.

    Raises:
        NotDataError: always.
    """
    raise NotDataError("a pickle where data is expected")


def decoded(data: bytes, load: LoadOpaque = refused) -> Value:
    """Return the value with some bytes.

    Args:
        data: The bytes.
        load: Reads the pickles in it, each of a list of values.

    Raises:
        NotDataError: the bytes are not of this form.
    """
    return _read(data, _VALUE, load, lambda reader: reader.column(1)[0])


def decoded_entries(data: bytes, load: LoadOpaque = refused) -> NamedEntries:
    """Return the name of a state, and its entries with their values.

    Args:
        data: The bytes.
        load: Reads the pickles in it, each of a list of values.

    Raises:
        NotDataError: the bytes are not of this form.
    """

    def read(reader: ColumnReader) -> NamedEntries:
        [(name, count)] = reader.column(1)
        return name, dict(zip(reader.column(count), reader.column(count), strict=True))

    found: NamedEntries = _read(data, _ENTRIES, load, read)
    return found


def _read(
    data: bytes,
    first: int,
    load: Callable[[bytes], Value],
    read: Callable[[ColumnReader], Value],
    is_whole: bool = True,
) -> Value:
    if not data or data[0] != first:
        raise NotDataError("something else than data")
    errors: list[Exception] = []

    def loaded(pickle: bytes) -> Value:
        try:
            return load(pickle)
        except Exception as error:  # That of the reader of pickles counts, and says more.
            errors.append(error)
            raise

    reader = ColumnReader(data, 1, loaded)
    try:
        found = read(reader)
        if is_whole:
            reader.check_end()
    except Exception as error:  # Anything can be in a file that anyone may have written.
        if errors or isinstance(error, NotDataError):
            raise
        raise NotDataError(f"{type(error).__name__}: {error}") from error
    return found
