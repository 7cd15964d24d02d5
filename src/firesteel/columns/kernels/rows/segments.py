"""Sorted arrays that consist of segments, one per key: searches and running values within each segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.orders import stable_order


def first_of_segments(numbers: Array) -> Array:
    """Return for each place whether a segment begins there; the numbers of the segments are sorted."""
    is_first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first


def last_of_segments(numbers: Array) -> Array:
    """Return for each place whether a segment has its last one there; the numbers of the segments are sorted."""
    is_last = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_last[:-1])
    return is_last


def starts_of_segments(numbers: Array) -> Array:
    """Return for each place where its segment starts; the numbers of the segments are sorted."""
    found: Array = np.maximum.accumulate(np.where(first_of_segments(numbers), np.arange(len(numbers)), 0))
    return found


def ends_of_segments(numbers: Array) -> Array:
    """Return for each place where its segment ends; the numbers of the segments are sorted."""
    return bounds_of_segments(first_of_segments(numbers))[1]


def bounds_of_segments(is_first: Array) -> tuple[Array, Array]:
    """Return for each place where its segment starts, and where it ends.

    Args:
        is_first: For each place whether a segment begins there, as it does at the first one.
    """
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(is_first))
    return np.repeat(starts, sizes), np.repeat(starts + sizes, sizes)


def segments_of(numbers: Array, ends: Array, sought: Array) -> tuple[Array, Array]:
    """Return where the segments of some numbers begin and end; both are the same for one that is not there.

    Args:
        numbers: The number of the segment at each place, sorted.
        ends: The `ends_of_segments`.
        sought: The sought numbers.
    """
    order = np.argsort(sought)  # Searching in ascending order is kind to the processor's cache.
    begin, end = np.empty(len(sought), np.int64), np.empty(len(sought), np.int64)
    begin[order] = np.searchsorted(numbers, sought[order])
    end[:] = begin
    if len(numbers):
        place = np.minimum(begin, len(numbers) - 1)
        is_there = numbers[place] == sought
        end[is_there] = ends[place[is_there]]
    return begin, end


def distinct(numbers: Array) -> Array:
    """Return the numbers, sorted and once each. `np.unique` hashes them, which takes longer."""
    numbers = np.sort(numbers)
    return numbers[first_of_segments(numbers)]


def running_max(values: Array, is_first: Array) -> Array:
    """Return the largest value of each segment up to each place."""
    if is_first.all():
        return values
    known, ranks = np.unique(values, return_inverse=True)
    # Ranks and not values: the product stays small, whatever the values are.
    segments = np.cumsum(is_first) * len(known)
    reached: Array = known[np.maximum.accumulate(segments + ranks) - segments]
    return reached


def clamped_counts(steps: Array, is_first: Array, before: Array | int = 0) -> tuple[Array, Array]:
    """Return the count of each segment after each step, and which steps count.

    Args:
        steps: 1 or -1. A step that would make the count negative does not count, and changes no later one.
        is_first: Where segments begin.
        before: The count of the segment of each step before all steps.
    """
    sums = np.cumsum(steps)
    starts = np.flatnonzero(is_first)
    sums -= np.repeat(sums[starts] - steps[starts], np.diff(starts, append=len(sums))) - before
    missing = running_max(np.maximum(-sums, 0), is_first)
    missing_before = np.where(is_first, 0, np.roll(missing, 1))
    return sums + missing, missing == missing_before


def places_in_turn(owners: Array, sought: Array) -> Array:
    """Return a place of each sought owner: the first of its places where it is sought first, then the second etc.

    Args:
        owners: The owner of each place, ascending.
        sought: The sought owners, ascending; none is sought more often than it has places.
    """
    found: Array = np.searchsorted(owners, sought) + np.arange(len(sought)) - starts_of_segments(sought)
    return found


def count_on(counts: Array, numbers: Array, steps: Array) -> Array:
    """Change counts one after the other, in place, and return the count after each change.

    Args:
        counts: The counts.
        numbers: Which count each change is of.
        steps: By how much it changes.
    """
    order = stable_order(numbers)
    sought, sums = numbers[order], np.cumsum(steps[order])
    starts = np.flatnonzero(first_of_segments(sought))
    sizes = np.diff(starts, append=len(sought))
    sums += np.repeat(counts[sought[starts]] - sums[starts] + steps[order][starts], sizes)
    counts[sought[starts]] = sums[starts + sizes - 1]
    after = np.empty(len(order), np.int64)
    after[order] = sums
    return after


def bisect_right(values: Array, low: Array, high: Array, sought: Array) -> Array:
    """Return for each search the place behind the values up to the sought one, in its own sorted part of `values`.

    Args:
        values: The values; those of each part are ascending.
        low: Where the part of each search begins.
        high: Where it ends.
        sought: The sought values.
    """
    return bisect_by(lambda places, searches: values[places] <= sought[searches], low, high)


def bisect_by(is_before: Callable[[Array, Array], Array], low: Array, high: Array) -> Array:
    """Return the first place of each search for which a test fails, as it then does for all behind.

    Args:
        is_before: Tests places, given the searches for which they are.
        low: Where the part of each search begins.
        high: Where it ends.
    """
    found, high = low.copy(), high.copy()
    active = np.flatnonzero(found < high)
    while len(active):
        middle = (found[active] + high[active]) >> 1
        is_behind = is_before(middle, active)
        found[active[is_behind]] = middle[is_behind] + 1
        high[active[~is_behind]] = middle[~is_behind]
        active = active[found[active] < high[active]]
    return found


def ranges(low: Array, high: Array) -> Array:
    """Return the places of all ranges, one range after the other."""
    sizes = high - low
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    places: Array = np.arange(total) + np.repeat(low - (ends - sizes), sizes)
    return places


def reached(following: Array, first: Array) -> Array:
    """Return the places that are reached, in ascending order.

    Args:
        following: The place behind each one; one that is too large ends the way.
        first: The places where ways begin.
    """
    count = len(following)
    jumps = np.append(np.minimum(following, count), count)
    is_reached = np.zeros(count + 1, bool)
    is_reached[first] = True
    # Doubling: a way may be long, which a loop would follow place by place.
    while (jumps < count).any():
        is_reached[jumps[is_reached]] = True
        jumps = jumps[jumps]
    found: Array = np.flatnonzero(is_reached[:count])
    return found


def parts_of(weights: Array, limit: int) -> Sequence[tuple[int, int]]:
    """Return where to cut rows, given the weight of each, so that parts weigh about as much as a limit."""
    if not len(weights):
        return []
    parts = np.cumsum(weights) // limit
    starts = np.flatnonzero(first_of_segments(parts)).tolist()
    return list(zip(starts, [*starts[1:], len(weights)], strict=True))
