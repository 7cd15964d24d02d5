"""The kinds of columns: the byte with which each begins, in the form of data that `docs/internals/files.md` lists.

Numbers are little-endian; `n` is the number of values, which the reader knows. A *number* is a varint of 7 bits per
byte, the lowest first. `ints` stands for a column of integers.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from firesteel.errors import FiresteelError

Value = Any
"""A value; only the user, or the class of firesteel that has it, knows its type."""

Values = Sequence[Value]
"""The values of a column."""


EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
WIDTHS = {0: 1, 1: 1 << 8, 2: 1 << 16, 4: 1 << 32, 8: 1 << 64}
"""Bytes of an integer, and the number of integers that they can tell apart."""

FORM_CLASSES = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "uuid": ("UUID", "SafeUUID"),
    "builtins": ("set", "frozenset", "dict", "bytearray", "complex", "Ellipsis"),
    "collections": ("OrderedDict",),
    "firesteel.common.time": ("Instant",),
    "firesteel.common.types": ("Row", "RowKind", "_make_row"),
    "firesteel.columns.row_keys": ("NAN",),
}
"""Classes and functions in the forms of keys that are data: their constructors only convert their arguments."""


class NotDataError(FiresteelError, ValueError):
    """Bytes are not in the form of data, or a value has no such form; the argument says what was found."""

    def __str__(self) -> str:
        return f"not in the form of data: {self.args[0]}"


class NotATreeError(Exception):
    """A value refers to the same object in several places, to itself, or is nested too deeply."""


class Kind(IntEnum):
    """The first byte of a column."""

    NONE = ord("N")
    """None, n times; nothing follows."""
    BOOL = ord("?")
    """A byte per value."""
    INT = ord("i")
    """The width (0, 1, 2, 4 or 8), the least value in zigzag, and of each value the unsigned difference to it."""
    BIG_INT = ord("I")
    """A column of their texts in hexadecimal."""
    FLOAT = ord("d")
    """8 bytes per value."""
    JOINED_TEXT = ord("s")
    """A length in bytes, and texts in UTF-8 with NUL between them."""
    TEXT = ord("S")
    """Texts that contain NUL: ints with their numbers of characters, a length in bytes, and the texts."""
    BYTES = ord("b")
    """ints with lengths, and the bytes."""
    BYTE_ARRAY = ord("B")
    """The same, of values that can be changed."""
    TUPLE = ord("t")
    """Tuples of the same width: the width, and a column for each place."""
    TUPLES = ord("u")
    """Tuples of several widths: ints with widths, and a column of all parts."""
    LIST = ord("l")
    """ints with lengths, and a column of all elements."""
    SHORT_LIST = ord("L")
    """Lists of the same length, which is small: the length, and a column for each place."""
    SET = ord("e")
    """The same."""
    FROZEN_SET = ord("z")
    """The same."""
    DICT = ord("m")
    """ints with lengths, a column of all keys, and one of all values."""
    ORDERED_DICT = ord("O")
    """The same."""
    COUNTER = ord("C")
    """The same."""
    DECIMAL = ord("D")
    """A column of their texts."""
    DATE = ord("a")
    """ints with days, day 1 is 0001-01-01."""
    DATETIME = ord("g")
    """ints with microseconds since 1970 on the local clock."""
    ZONED_DATETIME = ord("G")
    """The same, ints with folds, and a column of time zones."""
    TIME = ord("h")
    """ints with microseconds since midnight."""
    ZONED_TIME = ord("H")
    """The same, ints with folds, and a column of time zones."""
    TIMEDELTA = ord("y")
    """ints with microseconds."""
    TIMEZONE = ord("o")
    """Time zones of a fixed offset: a column of timedeltas, and one of names or None."""
    ZONE_INFO = ord("Z")
    """A column of names."""
    UUID = ord("U")
    """16 bytes per value."""
    COMPLEX = ord("c")
    """A column of real parts, and one of imaginary parts."""
    ARRAY = ord("n")
    """Arrays of numpy: a column of tuples (type, shape, bytes, or a list of objects)."""
    SCALAR = ord("x")
    """Scalars of numpy: a column of tuples (type, bytes)."""
    ROW = ord("R")
    """Rows with the same fields: a column of one tuple of names or None, the width, a byte per value with its kind,
    and a column for each field."""
    INSTANT = ord("j")
    """ints with seconds since 1970, and with nanoseconds."""
    VALUE_KEY = ord("k")
    """Keys in canonical form (`common.keys`): a column of forms."""
    RECORD = ord("r")
    """Objects of a class in `record_classes`: a column of one tuple with its name and those of its fields, and a column
    for each field."""
    JOINED = ord("J")
    """Parts of an object in `record_classes` that can be divided: ints with their sizes, and a column of the object."""
    SHARED = ord("&")
    """Objects that occur more than once: their number, their column, and ints with the place of each value."""
    MIXED = ord("v")
    """Values of several kinds: their number, a byte per value with the kind's, and a column for each kind."""
    OPAQUE = ord("P")
    """A length in bytes, and a pickle of the list of values: the only kind that is not data."""
