"""Which of the matches in the rows of partitions count, and where the next ones may start.

Why: `docs/decisions/0068-patterns-on-arrays.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_search import Search
from firesteel.columns.kernels.match.match_searches import Outcome, Searches
from firesteel.columns.kernels.match.match_skip import Skip
from firesteel.columns.kernels.match.match_threads import Taken, Threads, concat_taken, concat_threads
from firesteel.columns.kernels.rows.segments import bisect_right, first_of_segments, reached, running_max
from firesteel.columns.orders import stable_order

_AT_ONCE = 1 << 15
"""About how many searches run together."""

_FIRST = 4

_LONG_BITS = 6
"""Searches that take more rows than a number of so many bits are long."""

_LATEST = 0.25
"""How much the latest searches count for the average."""


@dataclass(slots=True)
class Partitions:
    """Partitions with the rows at which matches may still start.

    Attributes:
        rows: The rows.
        starts: By partition, the place of its first row; afterwards, of the first one at which a match may start.
        limits: By partition, the place behind its last row.
        nexts: By partition, the place of the first row that the search from its first row has not taken yet.
        threads: The threads of these searches, by partition, with ends counted from the starts; afterwards, those of
            the searches that wait.
    """

    rows: MatchRows
    starts: Array
    limits: Array
    nexts: Array
    threads: Threads


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches, those of a partition in their order.

    Attributes:
        partitions: The partition of each.
        taken: Their rows.
        released: The place of the row after which each counts; behind its partition if time has decided.
    """

    partitions: Array
    taken: Taken
    released: Array

    def take(self, places: Array) -> Matches:
        """Return some of the matches."""
        return Matches(self.partitions[places], self.taken.take(places), self.released[places])


def concat_matches(parts: list[Matches]) -> Matches:
    """Concatenate at least one part."""
    partitions, released = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("partitions", "released")
    )
    return Matches(partitions, concat_taken([part.taken for part in parts]), released)


class Width:
    """How many searches run together in a partition.

    Searches from rows that a match takes are in vain. Short ones cost little beside the calls for arrays of any size,
    long ones take too many rows.

    Args:
        is_one: Whether no search may run unless it counts, so that it is always 1.
    """

    def __init__(self, is_one: bool) -> None:
        self._is_one = is_one
        self._former = _FIRST
        self._bits = 0.0  # of the number of rows that searches take, on average

    def of(self, partitions: int) -> int:
        """Return the number for so many partitions."""
        are_long = self._is_one or self._bits > _LONG_BITS
        # At most doubled, so that few have run before it is known how long they are.
        self._former = 1 if are_long else max(1, min(2 * self._former, _AT_ONCE // partitions))
        return self._former

    def note(self, taken: Array, widths: Array, advanced: Array) -> None:
        """Note how long searches were.

        Args:
            taken: The number of rows that each one that counts has taken.
            widths: The number of searches of each partition.
            advanced: By how many rows these have brought it forward.
        """
        self._bits += _LATEST * (float(np.log2(taken + 1).mean()) - self._bits)
        if len(advanced):
            # Those behind one that was given up were in vain: what they cost must be worth the rows.
            self._former = max(1, int(np.where(advanced < widths, advanced, self._former).mean()))


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Searches that run together, those of a partition from its next start on.

    Attributes:
        partitions: The partitions.
        widths: The number of searches of each.
        firsts: The number of the first one of each.
        owners: By search, the place of its partition among these.
        searches: The searches.
        threads: Their threads.
    """

    partitions: Array
    widths: Array
    firsts: Array
    owners: Array
    searches: Searches
    threads: Threads


class Finding:
    """Finds the matches of partitions.

    As in Flink, a match waits while one that starts earlier may still come; the end of the input decides nothing.

    Args:
        partitions: The partitions, which change.
        skip: Where the search goes on after a match.
        within: The maximum duration of a match (ms), or None.
        now: The time up to which all rows have come.
        width: How many searches run together in a partition.
    """

    def __init__(self, partitions: Partitions, skip: Skip, within: int | None, now: int, width: Width) -> None:
        self._partitions, self._skip, self._within, self._now, self._width = partitions, skip, within, now, width
        count = len(partitions.starts)
        if within is not None:
            times = partitions.rows.times
            self._falls = np.append(np.flatnonzero(times[1:] < times[:-1]) + 1, len(times))
        self._released = np.full(count, -1)
        self._step_count = partitions.threads.ends.shape[1]
        self._found: list[Matches] = []
        self._waiting = [partitions.threads.take(np.zeros(0, np.int64))]

    def run(self, search: Search) -> Matches | None:
        """Return the matches, or None if there are none."""
        partitions = self._partitions
        threads, active = partitions.threads, np.flatnonzero(partitions.starts < partitions.limits)
        while len(active):
            lanes = self._lanes(active, threads, search)
            search.run(lanes.searches, lanes.threads)
            threads, active = self._waiting[0], self._settle(lanes, search)
        waiting = concat_threads(self._waiting)
        partitions.threads = waiting.take(stable_order(waiting.searches))
        return concat_matches(self._found) if self._found else None

    def _lanes(self, active: Array, threads: Threads, search: Search) -> _Lanes:
        """Return the next searches of partitions, some of which have threads."""
        partitions = self._partitions
        waits = np.zeros(len(partitions.starts), bool)
        waits[threads.searches] = True
        starts = partitions.starts[active]
        width = self._width.of(len(active))
        widths = np.where(waits[active], 1, np.minimum(width, partitions.limits[active] - starts))
        firsts = np.cumsum(widths) - widths
        owners = np.repeat(np.arange(len(active)), widths)
        starts = starts[owners] + np.arange(len(owners)) - firsts[owners]
        nexts = starts.copy()
        begins = np.flatnonzero(~waits[active][owners])
        new = search.begin(begins)
        if len(threads):
            nexts[firsts[waits[active]]] = partitions.nexts[active[waits[active]]]
            numbers = firsts[np.searchsorted(active, threads.searches)]
            new = concat_threads(
                [replace(threads, searches=numbers, ends=threads.ends + starts[numbers][:, None]), new]
            )
        limits, are_open = self._limits(starts, partitions.limits[active][owners])
        searches = Searches(starts, limits, are_open, nexts, self._step_count, first_of_segments(owners))
        return _Lanes(active, widths, firsts, owners, searches, new)

    def _limits(self, starts: Array, limits: Array) -> tuple[Array, Array]:
        """Return behind which row each match must end, and whether further rows may belong to it."""
        if self._within is None:
            return limits, np.ones(len(limits), bool)
        begun = self._partitions.rows.times[starts]
        ends = self._first_behind(starts, limits, begun + self._within - 1)
        return ends, (ends == limits) & (self._now - begun < self._within)

    def _first_behind(self, starts: Array, limits: Array, latest: Array) -> Array:
        """Return the place of the first row from each start on that is behind the latest time of the match."""
        found, active = starts.copy(), np.arange(len(starts))
        # Times ascend, but for rows that come after a restore with a watermark that is further back.
        while len(active):
            begin, later = found[active], self._falls[np.searchsorted(self._falls, found[active], "right")]
            end = np.minimum(later, limits[active])
            found[active] = bisect_right(self._partitions.rows.times, begin, end, latest[active])
            active = active[(found[active] == end) & (end < limits[active])]
        return found

    def _settle(self, lanes: _Lanes, search: Search) -> Array:
        """Add the matches that count, and return the partitions whose search goes on."""
        partitions, searches, active = self._partitions, lanes.searches, lanes.partitions
        starts, outcomes = searches.starts, searches.outcomes
        matched = np.flatnonzero(outcomes == Outcome.MATCHED)
        nexts = starts + 1
        nexts[matched] = self._skip.places(self._taken(searches, matched))
        is_decided = (outcomes == Outcome.FAILED) | (outcomes == Outcome.MATCHED)
        goes_on = is_decided & (nexts > starts)
        following = lanes.firsts[lanes.owners] + nexts - partitions.starts[active][lanes.owners]
        is_here = goes_on & (following < (lanes.firsts + lanes.widths)[lanes.owners])
        places = reached(np.where(is_here, following, len(starts)), lanes.firsts)
        owners = lanes.owners[places]
        lasts = places[np.append(first_of_segments(owners)[1:], True)]
        is_match = outcomes[lasts] == Outcome.MATCHED
        self._skip.refuse(starts[lasts[is_match]], nexts[lasts[is_match]])
        self._search_again(searches, places[searches.rely[places]], search)
        self._release(lanes, places, owners, goes_on)
        waits, before = outcomes[lasts] == Outcome.WAITING, partitions.starts[active]
        partitions.starts[active] = np.where(goes_on[lasts], nexts[lasts], starts[lasts])
        advanced = partitions.starts[active] - before
        self._width.note((searches.nexts - starts)[places], lanes.widths[~waits], advanced[~waits])
        self._keep(lanes, lasts[waits])
        left: Array = active[~waits & (partitions.starts[active] < partitions.limits[active])]
        return left

    def _search_again(self, searches: Searches, places: Array, search: Search) -> None:
        """Find the rows of matches and the threads of searches that have relied on others, as far as they count."""
        places = places[searches.outcomes[places] != Outcome.FAILED]
        if len(places):
            again = searches.again(places)
            search.run(again, search.begin(np.arange(len(places))))
            searches.ends[places] = again.ends
            searches.waiting += [replace(threads, searches=places[threads.searches]) for threads in again.waiting]

    def _taken(self, searches: Searches, places: Array) -> Taken:
        rows = self._partitions.rows
        return Taken(rows, searches.starts[places], searches.ends[places], searches.decided[places], self._step_count)

    def _release(self, lanes: _Lanes, places: Array, owners: Array, is_decided: Array) -> None:
        """Add the matches among the searches that count: each waits for those before it."""
        searches, active = lanes.searches, lanes.partitions
        decided = np.where(is_decided[places], searches.decided[places], -1)
        is_first = first_of_segments(owners)
        released = np.maximum(running_max(decided, is_first), self._released[active][owners])
        self._released[active] = released[np.append(is_first[1:], True)]
        are_matches = np.flatnonzero(searches.outcomes[places] == Outcome.MATCHED)
        if len(are_matches):
            taken = self._taken(searches, places[are_matches])
            self._found.append(Matches(active[owners[are_matches]], taken, released[are_matches]))

    def _keep(self, lanes: _Lanes, numbers: Array) -> None:
        """Keep the threads of searches that wait, given their numbers."""
        if not len(numbers):
            return
        waiting, searches = concat_threads(lanes.searches.waiting), lanes.searches
        waits = np.zeros(len(searches.starts), bool)
        waits[numbers] = True
        threads = waiting.take(np.flatnonzero(waits[waiting.searches]))
        ends = threads.ends - searches.starts[threads.searches][:, None]
        owners = lanes.partitions[lanes.owners[threads.searches]]
        self._waiting.append(replace(threads, searches=owners, ends=ends))
