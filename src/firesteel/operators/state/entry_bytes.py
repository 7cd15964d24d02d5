"""The bytes of entries as keys of an `EmbeddedStore`: equal for equal entries."""

from __future__ import annotations

import hashlib
import io
import marshal
import pickle

from firesteel.common.keys.canonical_keys import ObjectKey
from firesteel.operators.state.embedded_store import LONGEST_KEY
from firesteel.operators.state.entries import Entry

_ROOM = 32
"""Bytes of a key beside those of an entry or of two parts: a table, an order, lengths."""

LONGEST_PART = (LONGEST_KEY - _ROOM) // 2
"""Bytes of an entry, or of one part of a pair, in a key; longer ones are there by their digest."""

_PLAIN = frozenset({int, str, bytes, float, bool, type(None)})


def encoded(entry: Entry) -> tuple[bytes, bool]:
    """Return the bytes of an entry, equal for equal entries, and whether it can't be made from them."""
    # Version 2 of marshal has no references, so that the bytes do not depend on object identity.
    if entry.__class__ in _PLAIN or (entry.__class__ is tuple and _PLAIN.issuperset(map(type, entry))):
        data = marshal.dumps(entry, 2)
        return (data, False) if len(data) <= LONGEST_PART else (_digest(data), True)
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
    return pickle.loads(data) if data.startswith(b"\x80") else marshal.loads(data)
