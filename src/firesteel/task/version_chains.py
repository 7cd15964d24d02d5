"""The compaction of chains of version files: when a full file is due, and which deltas are merged.

Why: `docs/decisions/0018-fencing-by-tries-and-chains.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.operators.state.list_part import ListPart, continued
from firesteel.task.versions import Chain

Frame = tuple[str, str | None, Any]
"""(vertex id, operator id, encoded Delta) or (vertex id, None, Version)."""

MAX_FILES = 200
"""Maximum length of a chain; then a full file is written, so that a restart reads few files."""

FAN_IN = 8
"""Number of deltas of similar size that are merged into one, so that chain length is logarithmic in the size."""

_MERGED_BYTES = 8 << 20
"""Maximum total size of deltas that are merged, as they pass through memory; small entries take 20 times as much."""


def is_full_due(parent: Chain) -> bool:
    """Return whether the next file should be full: the deltas are as large as the last full file, or too many."""
    return not parent or len(parent) > MAX_FILES or sum(file.size for file in parent[1:]) >= parent[0].size


def split_off_mergeable(parent: Chain) -> tuple[Chain, Chain]:
    """Split a chain into the files to keep and the trailing deltas to merge, at least `FAN_IN` of similar size."""
    tier = _tier(parent[-1].size)
    begin, total = len(parent), 0
    # The first file is the full one, which is never merged: it is what deltas are measured by.
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
    """Merge the frames of consecutive deltas: the last value of each entry and of each subtask wins, lists go on."""
    tables: dict[tuple[str, str, str], dict[Any, Any]] = {}
    versions: dict[str, Any] = {}
    for frames in (earlier, later):
        for vertex_id, operator_id, state in frames:
            if operator_id is None:
                versions[vertex_id] = state
            else:
                name, entries = program_entries(state)
                _update(tables.setdefault((vertex_id, operator_id, name), {}), entries)
    for (vertex_id, operator_id, name), entries in tables.items():
        yield vertex_id, operator_id, encoded_entries(name, entries)
    # After all keyed state, in the order in which `SlotTasks` reads a file.
    for vertex_id, state in versions.items():
        yield vertex_id, None, state


def _update(table: dict[Any, Any], later: dict[Any, Any]) -> None:
    for entry, value in later.items():
        if value.__class__ is ListPart and entry in table:
            table[entry] = continued(table[entry], value)
        else:
            table[entry] = value
