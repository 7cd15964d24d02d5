"""The splits of one source: discovered, dealt to subtasks, read fairly, and forgotten when they are finished."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from firesteel.operators.sources import SourceKind, kind_of, parts_of
from firesteel.operators.splits import Known, Split, SplitRange


class KnownKeys:
    """The keys of splits that are not to be read again as long as the source still lists them; pickled compressed.

    Flink: `PendingSplitsCheckpoint.alreadyProcessedPaths`, which grows for ever.
    """

    def __init__(self, keys: Set[str] = frozenset()) -> None:
        self.keys = set(keys)
        self._packed: bytes | None = None

    def add(self, key: str) -> None:
        """Add a key."""
        self.keys.add(key)
        self._packed = None

    def retain(self, keys: Set[str]) -> None:
        """Forget all but these keys."""
        if len(keys) < len(self.keys):
            self.keys.intersection_update(keys)
            self._packed = None

    def __reduce__(self) -> Any:
        if self._packed is None:
            self._packed = zlib.compress(pickle.dumps(sorted(self.keys), protocol=5), 1)
        return _unpack_keys, (self._packed,)


def _unpack_keys(packed: bytes) -> KnownKeys:
    return KnownKeys(set(pickle.loads(zlib.decompress(packed))))


@dataclass(slots=True)
class SourceState:
    """How far one source is read: its part of a checkpoint.

    Attributes:
        parallelism: The number of subtasks that the splits are dealt to.
        phase: Which of the sources of a HybridSource is read.
        splits: The splits that are not finished, by id.
        positions: How far those are read that were begun, by id.
        known: The splits and files that may be discovered again and are not to be read again.
        dealt: How many splits of an unbounded source were dealt to subtasks.
        discovered_ms: When splits were looked for last; -1: never.
        ended: Nothing will ever follow.
    """

    parallelism: int
    phase: int = 0
    splits: dict[str, Split] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    known: KnownKeys = field(default_factory=KnownKeys)
    dealt: int = 0
    discovered_ms: int = -1
    ended: bool = False


class SourceSplits:
    """Discovers the splits of one source and says which ranges of them are read next.

    The sources of a HybridSource follow each other: the splits of the next one are discovered when those of the one
    before were read in all subtasks (Flink: `HybridSourceSplitEnumerator`).

    Args:
        source: The source.
        parallelism: How many subtasks read it.
        configuration: Of the job.
    """

    def __init__(self, source: Any, parallelism: int, configuration: Mapping[str, str] | None = None) -> None:
        self._parts = parts_of(source)
        self._kinds = [kind_of(part) for part in self._parts]
        self._enumerators = [
            kind.enumerator(part, configuration or {}) for kind, part in zip(self._kinds, self._parts, strict=True)
        ]
        self._parallelism = parallelism
        self._adopt(SourceState(parallelism))

    def _adopt(self, state: SourceState) -> None:
        """Start from a state; the readers are told about all splits once more."""
        self.state = state
        self._unread: list[dict[str, Split]] = [{} for _ in range(self._parallelism)]
        self._untold: list[dict[str, Split]] = [{} for _ in range(self._parallelism)]
        self._told: set[str] = set()
        self._ended: set[int] = set()
        for split in state.splits.values():
            self._list(split)

    def restore(self, state: SourceState) -> None:
        """Go on from a checkpoint; another number of subtasks is dealt the splits anew."""
        splits = state.splits
        if state.parallelism != self._parallelism:
            dealt = enumerate(splits.values())
            splits = {split.split_id: split.dealt_to(i % self._parallelism) for i, split in dealt}
        # What ended before ends once more, by a batch that reads nothing: operators of another job must see it.
        self._adopt(
            replace(
                state,
                parallelism=self._parallelism,
                phase=min(state.phase, len(self._parts) - 1),
                splits=splits,
                positions=dict(state.positions),
                known=KnownKeys(state.known.keys),
                ended=False,
            )
        )

    @property
    def kind(self) -> SourceKind:
        """How the source that is read now is split and read."""
        return self._kinds[self.state.phase]

    @property
    def first_elements(self) -> int:
        """How many elements a subtask reads in the first batch."""
        return min(kind.first_elements for kind in self._kinds)

    @property
    def is_endless(self) -> bool:
        """Whether the source never ends."""
        return self._may_grow_for_ever(len(self._parts) - 1)

    # --- discovery ---------------------------------------------------------------------------------------------------

    def discover(self, now: int) -> None:
        """Look for new splits if it is time to; go on with the next source when all of one was read."""
        if self.state.ended:
            return
        if now >= self.next_discovery():
            self._discover(now)
        while not self.state.splits and self.state.phase + 1 < len(self._parts):
            self.state.phase += 1
            self.state.known = KnownKeys()
            self.state.discovered_ms = -1
            self._discover(now)

    def next_discovery(self) -> float:
        """Return when splits are looked for again (ms)."""
        if self.state.discovered_ms < 0:
            return float("-inf")
        interval = self._rediscover_ms
        return float("inf") if interval is None else self.state.discovered_ms + interval

    @property
    def _rediscover_ms(self) -> int | None:
        return self.kind.rediscover_ms(self._parts[self.state.phase])

    def _discover(self, now: int) -> None:
        state, is_bounded = self.state, self._rediscover_ms is None
        known = Known(state.known.keys, state.splits, is_first=state.discovered_ms < 0)
        state.discovered_ms = now
        found, listed = self.kind.discover(self._enumerators[state.phase], self._parallelism, known)
        state.known.retain(listed)
        mine = state.splits
        for split in found:
            before = mine.get(split.split_id)
            if before is None:
                self._add(split, is_bounded)
            elif (before.start, before.end, before.grows) != (split.start, split.end, split.grows):
                self._list(replace(before, start=split.start, end=split.end, grows=split.grows, stops=split.stops))
        for split_id in mine.keys() - {split.split_id for split in found}:
            if mine[split_id].grows:
                self._list(replace(mine[split_id], grows=False))

    def _add(self, split: Split, is_bounded: bool) -> None:
        state = self.state
        if not is_bounded:
            split = split.dealt_to(state.dealt % self._parallelism)
            state.dealt += 1
            if split.path:
                state.known.add(split.key)
        self._list(replace(split, source_index=state.phase))

    def _list(self, split: Split) -> None:
        """Keep a split that is new or changed among those to be read or to be told about."""
        split_id, subtask = split.split_id, split.subtask_index
        self.state.splits[split_id] = split
        if self._position(split) < split.end:
            self._unread[subtask][split_id] = split
            self._untold[subtask].pop(split_id, None)
        elif split_id not in self._told or not split.grows:
            self._unread[subtask].pop(split_id, None)
            self._untold[subtask][split_id] = split

    def _position(self, split: Split) -> int:
        """Return where to read on; what was deleted before it was read is gone."""
        return max(self.state.positions.get(split.split_id, split.start), split.start)

    # --- reading -----------------------------------------------------------------------------------------------------

    def reading_subtasks(self) -> list[int]:
        """Return the subtasks that have something to read, or may get it."""
        subtasks = range(self._parallelism)
        return [s for s in subtasks if self._unread[s]] if self._rediscover_ms is None else list(subtasks)

    def take(self, subtask: int, budget: int) -> list[SplitRange]:
        """Return what a subtask reads next: about `budget` units, dealt over all splits that are assigned to it.

        A split that is newly assigned or finished has a range in any case, if need be an empty one.
        """
        unread, at_once = self._unread[subtask], self.kind.splits_at_once
        if not unread and not self._untold[subtask]:
            return []
        assigned = list(islice(unread.values(), at_once))
        wanted = [split.units_after(self._position(split)) for split in assigned]
        shares = deal(budget, wanted, [split.is_whole for split in assigned])
        ranges = [
            self._read(split, share)
            for split, share in zip(assigned, shares, strict=True)
            if share or split.split_id not in self._told
        ]
        untold, self._untold[subtask] = self._untold[subtask], {}
        ranges += [self._read(split, 0) for split_id, split in untold.items() if split_id not in unread]
        if at_once is None:
            # Where the budget was not enough for all splits, it is the turn of the others next.
            for part in ranges:
                if part.start < part.end and part.split.split_id in unread:
                    unread[part.split.split_id] = unread.pop(part.split.split_id)
        return ranges

    def _read(self, split: Split, amount: int) -> SplitRange:
        """Note that the next batch reads so much of a split."""
        split_id, state = split.split_id, self.state
        start = self._position(split)
        end = split.stop_after(start, amount)
        is_last = end >= split.end and not split.grows
        if split.stops:
            split = self._without_stops_before(split, end)
        self._told.add(split_id)
        state.positions[split_id] = end
        if end >= split.end:
            self._unread[split.subtask_index].pop(split_id, None)
        if is_last:
            self._forget(split)
        return SplitRange(replace(split, stops=()) if split.stops else split, start, end, is_last)

    def _without_stops_before(self, split: Split, end: int) -> Split:
        split = replace(split, stops=tuple(stop for stop in split.stops if stop.position > end))
        unread = self._unread[split.subtask_index]
        self.state.splits[split.split_id] = split
        if split.split_id in unread:
            unread[split.split_id] = split
        return split

    def _forget(self, split: Split) -> None:
        del self.state.splits[split.split_id], self.state.positions[split.split_id]
        self._told.discard(split.split_id)
        if self._rediscover_ms is not None:
            self.state.known.add(split.key)

    def newly_ended(self) -> list[int]:
        """Return the subtasks for which nothing is left since the last call, and nothing will follow."""
        if self._may_grow_for_ever(self.state.phase) or self.state.phase + 1 < len(self._parts):
            return []
        may_grow = self._rediscover_ms is not None
        growing = {split.subtask_index for split in self.state.splits.values() if split.grows} if may_grow else ()
        return self.end([s for s in range(self._parallelism) if not self._unread[s] and s not in growing])

    def _may_grow_for_ever(self, phase: int) -> bool:
        """Return whether splits may always appear or grow; those of a bounded source grow up to a known end."""
        part = self._parts[phase]
        return self._kinds[phase].rediscover_ms(part) is not None and not part.is_bounded()

    def end(self, subtasks: Sequence[int] | None = None) -> list[int]:
        """End subtasks, None: all; returns those that had not ended before."""
        ended = [s for s in (range(self._parallelism) if subtasks is None else subtasks) if s not in self._ended]
        self._ended.update(ended)
        self.state.ended = len(self._ended) == self._parallelism
        return ended

    def all_ranges(self) -> list[SplitRange]:
        """Return everything that there is to read (BATCH)."""
        return [
            SplitRange(replace(split, source_index=index), split.start, split.end, is_last=True)
            for index, (enumerator, kind) in enumerate(zip(self._enumerators, self._kinds, strict=True))
            for split in kind.discover(enumerator, self._parallelism, Known())[0]
        ]


def deal(budget: int, wanted: Sequence[int], is_whole: Sequence[bool]) -> list[int]:
    """Share a budget fairly over splits: what one does not use up goes to the others.

    Splits that can only be read whole take turns: of these, as many are read as fit into their share of the budget,
    and always the first.

    Args:
        budget: What there is to share; it is exceeded by whole splits only.
        wanted: How much is left to read of each split.
        is_whole: Whether it can only be read whole.

    Example:
        >>> deal(10, [1, 100, 100], [False, False, False])
        [1, 4, 4]
    """
    shares = [0] * len(wanted)
    if budget <= 0 or not wanted:
        return shares
    whole = [i for i, must in enumerate(is_whole) if must]
    others = [i for i, must in enumerate(is_whole) if not must]
    left = budget * len(whole) // len(wanted)
    budget -= left
    for position, i in enumerate(whole):
        if position and left < wanted[i]:
            break
        shares[i] = wanted[i]
        left -= wanted[i]
    budget += max(left, 0)
    if budget < len(others):
        others = others[:budget]
    level: int | None = None
    for rank, i in enumerate(sorted(others, key=wanted.__getitem__)):
        if level is None and wanted[i] * (len(others) - rank) > budget:
            level = budget // (len(others) - rank)
        shares[i] = wanted[i] if level is None else level
        budget -= shares[i]
    return shares
