"""The splits of one source: discovery, assignment to subtasks, the order of reading, and removal when finished."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

from firesteel.common.closing import close_all
from firesteel.common.encoding import decoded, encoded
from firesteel.common.trust.restricted_pickle import load_plain
from firesteel.coordinator.backlog import Backlog
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints
from firesteel.functions.splits import WITHOUT_SPLITS, Known, Split, SplitRange


class KnownKeys:
    """The keys of splits that must not be read again while the source still lists them; in files compressed.

    Flink: `PendingSplitsCheckpoint.alreadyProcessedPaths`, which grows without bound.
    """

    DATA_FIELDS: ClassVar = ("packed",)

    def __init__(self, keys: Set[str] = frozenset(), packed: bytes | None = None) -> None:
        self.keys = set(keys) if packed is None else set(decoded(zlib.decompress(packed)))
        self._packed = packed

    def add(self, key: str) -> None:
        """Add a key."""
        self.keys.add(key)
        self._packed = None

    def retain(self, keys: Set[str]) -> None:
        """Remove all other keys."""
        if len(keys) < len(self.keys):
            self.keys.intersection_update(keys)
            self._packed = None

    @property
    def packed(self) -> bytes:
        """All keys."""
        # Kept between checkpoints, as most change no key and there may be millions.
        if self._packed is None:
            self._packed = zlib.compress(encoded(sorted(self.keys)), 1)
        return self._packed


def _unpack_keys(packed: bytes) -> KnownKeys:
    """Return keys that an earlier release has pickled."""
    return KnownKeys(set(load_plain(zlib.decompress(packed))))


@dataclass(slots=True)
class SourceState:
    """The reading progress of one source, which is part of a checkpoint.

    Attributes:
        parallelism: Number of subtasks that splits are assigned to.
        phase: Index of the current source of a HybridSource.
        splits: The unfinished splits by id.
        positions: The positions of splits in progress, by id.
        known: The splits and files that must not be read again if they are rediscovered.
        dealt: Number of splits of an unbounded source that were assigned to subtasks.
        discovered_ms: Time of the last discovery in ms; -1 if there was none. Later runs have other clocks: to them
            only the sign matters.
        ended: Whether the source has ended.
        read: Units that were read of the current source of a HybridSource.
    """

    parallelism: int
    phase: int = 0
    splits: dict[str, Split] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    known: KnownKeys = field(default_factory=KnownKeys)
    dealt: int = 0
    discovered_ms: int = -1
    ended: bool = False
    read: int = 0


class SourceSplits:
    """The splits of one source, with the choice of the ranges to read next.

    The sources of a HybridSource are read one after the other: the splits of the next one are discovered when all
    subtasks have read those of the previous one (Flink: `HybridSourceSplitEnumerator`).

    Args:
        source: The source.
        parallelism: Number of subtasks that read it.
        configuration: Of the job.
        has_watermarks: Whether the source generates watermarks per split.
    """

    def __init__(
        self,
        source: Source[Any],
        parallelism: int,
        configuration: Mapping[str, str] | None = None,
        has_watermarks: bool = False,
    ) -> None:
        self._parts = source.in_sequence()
        self._enumerators = [part.create_enumerator(configuration or {}) for part in self._parts]
        self._parallelism = parallelism
        self._has_watermarks = has_watermarks
        self._adopt(SourceState(parallelism))

    def close(self) -> None:
        """Close the enumerators."""
        close_all(self._enumerators)

    def _adopt(self, state: SourceState) -> None:
        """Start from a state; splits are discovered at once, and readers are told about all of them again."""
        self.state = state
        # A bounded source must not be listed again: `_forget` keeps no keys of its splits, so all would be read twice.
        is_complete = state.discovered_ms >= 0 and self._rediscover_ms is None
        self._next_discovery_ms = float("inf") if is_complete else float("-inf")
        self._unread: list[dict[str, Split]] = [{} for _ in range(self._parallelism)]
        self._untold: list[dict[str, Split]] = [{} for _ in range(self._parallelism)]
        self._told: set[str] = set()
        self._ended: set[int] = set()
        self._backlog = Backlog(self._parallelism)
        for split in state.splits.values():
            self._list(split)

    def restore(self, state: SourceState) -> None:
        """Restore a checkpoint; if the parallelism has changed, splits are reassigned."""
        splits = state.splits
        if state.parallelism != self._parallelism:
            dealt = enumerate(splits.values())
            splits = {split.split_id: split.dealt_to(i % self._parallelism) for i, split in dealt}
        # A source that has ended ends again in an empty batch, as operators of another job must see its end.
        self._adopt(
            replace(
                state,
                parallelism=self._parallelism,
                # The HybridSource of a changed program may have fewer sources.
                phase=min(state.phase, len(self._parts) - 1),
                splits=splits,
                positions=dict(state.positions),
                known=KnownKeys(state.known.keys),
                ended=False,
                read=getattr(state, "read", 0),  # Checkpoints of earlier versions do not have it.
            )
        )

    @property
    def hints(self) -> ReadingHints:
        """The hints of the source that is currently read."""
        return self._parts[self.state.phase].reading_hints

    @property
    def first_elements(self) -> int:
        """The number of elements that a subtask reads in the first batch."""
        return min(part.reading_hints.first_elements for part in self._parts)

    @property
    def is_endless(self) -> bool:
        """Whether the source never ends."""
        return self._may_grow_for_ever(len(self._parts) - 1)

    # --- discovery ---------------------------------------------------------------------------------------------------

    def discover(self, now: int, at_once: bool = False) -> bool:
        """Discover new splits if it is time to; switch to the next source when all splits of one were read.

        Args:
            now: Processing time in ms.
            at_once: Whether to discover them even if it is not time to.

        Returns:
            Whether the source was asked.
        """
        asks = at_once or now >= self._next_discovery_ms
        if asks:
            self._discover(now)
        while not self.state.splits and self.state.phase + 1 < len(self._parts):
            self.state.phase += 1
            # Keys are those of one source; the next one may have the same.
            self.state.known = KnownKeys()
            self.state.discovered_ms = -1
            self.state.read = 0
            self._discover(now)
            asks = True
        return asks

    @property
    def next_discovery_ms(self) -> float:
        """The processing time of the next discovery in ms."""
        return self._next_discovery_ms

    @property
    def _rediscover_ms(self) -> int | None:
        return self._enumerators[self.state.phase].rediscover_ms

    def _discover(self, now: int) -> None:
        state, is_bounded = self.state, self._rediscover_ms is None
        known = Known(state.known.keys, state.splits, is_first=state.discovered_ms < 0)
        state.discovered_ms = now
        interval = self._rediscover_ms
        self._next_discovery_ms = float("inf") if interval is None else now + interval
        found, listed = self._enumerators[state.phase].discover(self._parallelism, known)
        state.known.retain(listed)
        mine = state.splits
        for split in found:
            before = mine.get(split.split_id)
            if before is None:
                self._add(split, is_bounded)
            elif (before.start, before.end, before.grows) != (split.start, split.end, split.grows):
                self._list(replace(before, start=split.start, end=split.end, grows=split.grows, stops=split.stops))
        # What is not listed any more cannot grow; otherwise its subtask would never end.
        for split_id in mine.keys() - {split.split_id for split in found}:
            if mine[split_id].grows:
                self._list(replace(mine[split_id], grows=False))

    def _add(self, split: Split, is_bounded: bool) -> None:
        state = self.state
        if not is_bounded:
            split = split.dealt_to(state.dealt % self._parallelism)
            state.dealt += 1
            # A file is read once, however often it is listed; a partition is known by its position.
            if split.path:
                state.known.add(split.key)
        self._list(replace(split, source_index=state.phase))

    def _list(self, split: Split) -> None:
        """Add a new or changed split to those to read or to announce."""
        split_id, subtask = split.split_id, split.subtask_index
        self.state.splits[split_id] = split
        self._backlog.update(split_id, subtask, split.units_after(self._position(split)))
        if self._position(split) < split.end:
            self._unread[subtask][split_id] = split
            self._untold[subtask].pop(split_id, None)
        # Even without data a reader must know a new split, which holds back its watermark, and the end of one.
        elif split_id not in self._told or not split.grows:
            self._unread[subtask].pop(split_id, None)
            self._untold[subtask][split_id] = split

    def _position(self, split: Split) -> int:
        """Return the position to read from; data that was deleted before it was read is skipped."""
        return max(self.state.positions.get(split.split_id, split.start), split.start)

    def quiet_splits(self) -> list[dict[str, bool]]:
        """Return for each subtask its splits, and whether they have nothing to read; see `IdleSplits.observe`."""
        found: list[dict[str, bool]] = [{} for _ in range(self._parallelism)]
        for split_id, split in self.state.splits.items():
            found[split.subtask_index][split_id] = self._position(split) >= split.end
        return [splits or {WITHOUT_SPLITS: True} for splits in found]

    # --- what is left ------------------------------------------------------------------------------------------------

    def units_left(self, subtask: int) -> int:
        """Return the units that a subtask has not read, of the splits that are known."""
        return self._backlog.left(subtask)

    @property
    def share_read(self) -> float | None:
        """The share of its input that a bounded source has read, from 0 to 1; None as long as its end is unknown.

        The sources of a HybridSource count as equally large, as the size of a later one is not known before.
        """
        if self.is_endless or not all(part.is_bounded() for part in self._parts):
            return None
        if self.state.ended:
            return 1.0
        if self.state.discovered_ms < 0 or any(split.grows for split in self._growing()):
            return None
        whole = self.state.read + self._backlog.total
        return (self.state.phase + (self.state.read / whole if whole else 1.0)) / len(self._parts)

    def _growing(self) -> Iterable[Split]:
        """Return the splits that may grow, and perhaps others."""
        return () if self._rediscover_ms is None else self.state.splits.values()

    # --- reading -----------------------------------------------------------------------------------------------------

    def reading_subtasks(self) -> list[int]:
        """Return the subtasks that have, or may get, something to read."""
        subtasks = range(self._parallelism)
        return [s for s in subtasks if self._unread[s]] if self._rediscover_ms is None else list(subtasks)

    def take(self, subtask: int, budget: int) -> list[SplitRange]:
        """Return the ranges that a subtask reads next: about `budget` units of its splits.

        Files are read one after the other, so that rows in the order of event time stay in this order. Other splits,
        and files with watermarks of their own, share the budget fairly. A newly assigned or finished split always has a
        range, even if it is empty.
        """
        unread, at_once = self._unread[subtask], self.hints.splits_at_once
        if not unread and not self._untold[subtask]:
            return []
        assigned = list(islice(unread.values(), at_once))
        wanted = [split.units_after(self._position(split)) for split in assigned]
        share = deal if self._has_watermarks or not self.hints.is_in_order else fill
        shares = share(budget, wanted, [split.is_whole for split in assigned])
        ranges = [
            self._read(split, share)
            for split, share in zip(assigned, shares, strict=True)
            if share or split.split_id not in self._told
        ]
        untold, self._untold[subtask] = self._untold[subtask], {}
        ranges += [self._read(split, 0) for split_id, split in untold.items() if split_id not in unread]
        if at_once is None:
            # If the budget was not enough for all splits, the others are read first next time.
            for part in ranges:
                if part.start < part.end and part.split.split_id in unread:
                    # Taken out and put in again, it is the last one of the dictionary.
                    unread[part.split.split_id] = unread.pop(part.split.split_id)
        return ranges

    def _read(self, split: Split, amount: int) -> SplitRange:
        """Return the range of a split to read next, and advance the position of the split."""
        split_id, state = split.split_id, self.state
        start = self._position(split)
        end = split.stop_after(start, amount)
        left = max(split.units_after(end), 0)
        self.state.read += max(split.units_after(start) - left, 0)
        self._backlog.update(split_id, split.subtask_index, left)
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
        # A bounded source is listed once, so what it has read cannot come again.
        if self._rediscover_ms is not None:
            self.state.known.add(split.key)

    def newly_ended(self) -> list[int]:
        """Return the subtasks that have ended since the last call."""
        if self._may_grow_for_ever(self.state.phase) or self.state.phase + 1 < len(self._parts):
            return []
        may_grow = self._rediscover_ms is not None
        growing = {split.subtask_index for split in self.state.splits.values() if split.grows} if may_grow else ()
        return self.end([s for s in range(self._parallelism) if not self._unread[s] and s not in growing])

    def _may_grow_for_ever(self, phase: int) -> bool:
        """Return whether new splits or data may always appear; bounded sources grow to a known end only."""
        return self._enumerators[phase].rediscover_ms is not None and not self._parts[phase].is_bounded()

    def end(self, subtasks: Sequence[int] | None = None) -> list[int]:
        """End subtasks (None: all) and return those that had not ended before."""
        ended = [s for s in (range(self._parallelism) if subtasks is None else subtasks) if s not in self._ended]
        self._ended.update(ended)
        self.state.ended = len(self._ended) == self._parallelism
        return ended

    def all_ranges(self) -> list[SplitRange]:
        """Return the ranges of all splits in full (BATCH mode)."""
        return [
            SplitRange(replace(split, source_index=index), split.start, split.end, is_last=True)
            for index, enumerator in enumerate(self._enumerators)
            for split in enumerator.discover_all(self._parallelism)
        ]


def fill(budget: int, wanted: Sequence[int], is_whole: Sequence[bool]) -> list[int]:
    """Share a budget among splits in their order.

    Args:
        budget: Number of units to share; only the first split may exceed it, if it is whole.
        wanted: Number of units left to read in each split.
        is_whole: Whether each split can only be read as a whole.

    Example:
        >>> fill(10, [1, 100, 100], [False, False, False])
        [1, 9, 0]
    """
    shares = [0] * len(wanted)
    for place, (units, must) in enumerate(zip(wanted, is_whole, strict=True)):
        # The first one is read in any case, or a whole split above each budget would never be.
        if budget <= 0 or (must and place and units > budget):
            break
        shares[place] = units if must else min(units, budget)
        budget -= shares[place]
    return shares


def deal(budget: int, wanted: Sequence[int], is_whole: Sequence[bool]) -> list[int]:
    """Share a budget fairly among splits; the unused share of one goes to the others.

    Whole splits take turns: as many of them are read as fit into their share of the budget, and at least the first.

    Args:
        budget: Number of units to share; only whole splits may exceed it.
        wanted: Number of units left to read in each split.
        is_whole: Whether each split can only be read as a whole.

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
    # `take` moves those that were read to the end, so the others have their turn in the next batches.
    if budget < len(others):
        others = others[:budget]
    level: int | None = None
    # The smallest first, as the larger ones share what these leave.
    for rank, i in enumerate(sorted(others, key=wanted.__getitem__)):
        if level is None and wanted[i] * (len(others) - rank) > budget:
            level = budget // (len(others) - rank)
        shares[i] = wanted[i] if level is None else level
        budget -= shares[i]
    return shares
