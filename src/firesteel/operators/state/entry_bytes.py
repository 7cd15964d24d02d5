"""The bytes of entries as keys of an `EmbeddedStore`: equal for equal entries."""

from __future__ import annotations

import hashlib
import io
import marshal
import pickle
import struct

from firesteel.common.keys.canonical_keys import ObjectKey
from firesteel.functions.windows import TimeWindow
from firesteel.operators.state.embedded_store import LONGEST_KEY
from firesteel.operators.state.entries import Entry

_ROOM = 32
"""Bytes of a key beside those of an entry or of two parts: a table, an order, lengths."""

LONGEST_PART = (LONGEST_KEY - _ROOM) // 2
"""Bytes of an entry, or of one part of a pair, in a key; longer ones are there by their digest."""

_PLAIN = frozenset({int, str, bytes, float, bool, type(None)})

_IN_TIME_WINDOW = b"\0"
"""The first byte of a plain entry in a time window, which neither `marshal` nor `pickle` begins with."""

_BOUNDS = struct.Struct(">qq")
_LONGEST_PLAIN = LONGEST_PART - len(_IN_TIME_WINDOW) - _BOUNDS.size


def encoded(entry: Entry) -> tuple[bytes, bool]:
    """Return the bytes of an entry, equal for equal entries, and whether it can't be made from them."""
    # Version 2 of marshal has no references, so that the bytes do not depend on object identity.
    if entry.__class__ in _PLAIN or (entry.__class__ is tuple and _PLAIN.issuperset(map(type, entry))):
        data = marshal.dumps(entry, 2)
        return (data, False) if len(data) <= LONGEST_PART else (_digest(data), True)
    if entry.__class__ is tuple and len(entry) == 2 and entry[1].__class__ is TimeWindow:
        in_window = _in_time_window(*entry)
        if in_window is not None:
            return in_window, False
    return _pickled(entry)


def _in_time_window(entry: Entry, window: TimeWindow) -> bytes | None:
    """Return the bytes of a plain entry in a window, in a quarter of the time of `pickle`; None if there are none."""
    if entry.__class__ not in _PLAIN:
        return None
    data = marshal.dumps(entry, 2)
    try:
        bounds = _BOUNDS.pack(window.start, window.end)
    except struct.error:  # An assigner of a user may use floats, and a window of the first times begins before them.
        return None
    return _IN_TIME_WINDOW + data + bounds if len(data) <= _LONGEST_PLAIN else None


def _pickled(entry: Entry) -> tuple[bytes, bool]:
    has_objects = False

    def reduced(key: tuple[object, object]) -> tuple[type[object], tuple[object, ...]]:
        # Only the canonical form, which equal keys share.
        nonlocal has_objects
        has_objects = True
        return ObjectKey, ((key[0], None),)

    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.dispatch_table = {ObjectKey: reduced}
    pickler.fast = True  # without memo, the bytes do not depend on object identity
    pickler.dump(entry)
    data = buffer.getvalue()
    return (data, has_objects) if len(data) <= LONGEST_PART else (_digest(data), True)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def decoded(data: bytes) -> object:
    """Return the entry with some bytes, unless `encoded` said that it can't be made from them."""
    if data.startswith(_IN_TIME_WINDOW):
        bounds = len(data) - _BOUNDS.size
        return marshal.loads(data[len(_IN_TIME_WINDOW) : bounds]), TimeWindow(*_BOUNDS.unpack_from(data, bounds))
    return pickle.loads(data) if data.startswith(b"\x80") else marshal.loads(data)
