"""How long a chain of version files gets: when a full file is due, and which deltas become one."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.operators.buffers import pickled
from firesteel.task.versions import Chain

Frame = tuple[str, str | None, Any]
"""(vertex id, operator id, pickled Delta) or (vertex id, None, Version)."""

MAX_FILES = 200
"""A chain of so many files is followed by a full one at the latest, so that a restart reads few files."""

FAN_IN = 8
"""So many deltas of about one size become one delta, so the length of a chain grows with the logarithm of its size."""

_MERGED_BYTES = 64 << 20
"""Deltas that are merged pass through memory: together they are not larger than this."""


def is_full_due(parent: Chain) -> bool:
    """Return whether the next file should be a full one: the deltas are as large as the last one, or too many."""
    return not parent or len(parent) > MAX_FILES or sum(file.size for file in parent[1:]) >= parent[0].size


def split_off_mergeable(parent: Chain) -> tuple[Chain, Chain]:
    """Split a chain into what stays and the last deltas, where `FAN_IN` or more of them are no larger than the last."""
    tier = _tier(parent[-1].size)
    begin, total = len(parent), 0
    while begin > 1 and _tier(parent[begin - 1].size) <= tier:
        begin -= 1
        total += parent[begin].size
    if len(parent) - begin < FAN_IN or total > _MERGED_BYTES:
        return parent, ()
    return parent[:begin], parent[begin:]


def _tier(size: int) -> int:
    """Return the logarithm of a size to the base of `FAN_IN`, rounded down."""
    return size.bit_length() // (FAN_IN.bit_length() - 1)


def merge(earlier: Iterable[Frame], later: Iterable[Frame]) -> Iterator[Frame]:
    """Merge the frames of some deltas: of each entry of keyed state, and of each subtask, the last one counts."""
    tables: dict[tuple[str, str, str], dict[Any, Any]] = {}
    versions: dict[str, Any] = {}
    for frames in (earlier, later):
        for vertex_id, operator_id, state in frames:
            if operator_id is None:
                versions[vertex_id] = state
            else:
                name, entries = pickle.loads(state)
                tables.setdefault((vertex_id, operator_id, name), {}).update(entries)
    for (vertex_id, operator_id, name), entries in tables.items():
        yield vertex_id, operator_id, pickled((name, entries))
    for vertex_id, state in versions.items():
        yield vertex_id, None, state
