"""The distinct ones of a long list of entries, in little memory."""

from __future__ import annotations

from itertools import compress

import numpy as np

from firesteel.columns.orders import stable_order
from firesteel.operators.state.entries import Entry

_FEW = 1 << 18
"""So many distinct entries may be in a dictionary, which is fastest."""


def distinct(entries: list[Entry]) -> list[Entry]:
    """Return entries without duplicates, in the order of their first occurrence.

    A dictionary of a million entries would take more memory than state on disk may have for values. So their hashes
    are sorted, and entries are compared where these are equal.

    Example:
        >>> distinct(["a", "b", "a"])
        ['a', 'b']
    """
    if len(entries) <= _FEW:
        return list(dict.fromkeys(entries))
    hashes = np.fromiter(map(hash, entries), np.int64, len(entries))
    order = stable_order(hashes)
    hashes = hashes[order]
    begins = np.concatenate([[True], hashes[1:] != hashes[:-1]])
    if begins.sum() <= _FEW:
        return list(dict.fromkeys(entries))
    again = np.flatnonzero(~begins)
    firsts = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))[again]]
    repeated = order[again]
    is_same = [entries[a] == entries[b] for a, b in zip(repeated.tolist(), firsts.tolist(), strict=True)]
    if not all(is_same):  # Different entries have the same hash.
        return list(dict.fromkeys(entries))
    kept = np.ones(len(entries), bool)
    kept[repeated] = False
    return list(compress(entries, kept.data))
