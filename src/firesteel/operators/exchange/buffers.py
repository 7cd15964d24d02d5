"""Network buffers: the data that one subtask sends to another between two flushes, as bytes.

A buffer is a pickled list of items in order. An item is `(values, timestamps)`, a watermark (int), a change of idleness
(bool) or the end of input (None).
"""

from __future__ import annotations

import pickle
from typing import Any

from firesteel.common.trust.pickling import pickled

Item = tuple[list[Any], list[int | None] | None] | int | bool | None


def encode(items: list[Item]) -> bytes:
    """Return a list of items encoded as the bytes of a buffer."""
    return pickled(items)


def decode(payload: bytes) -> list[Item]:
    """Return the items encoded in a buffer."""
    items: list[Item] = pickle.loads(payload)
    return items


def first_values(payload: bytes) -> list[Any]:
    """Return the elements of the first part of a buffer."""
    first = decode(payload)[0]
    assert isinstance(first, tuple)
    return first[0]
