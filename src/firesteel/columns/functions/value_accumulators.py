"""Accumulators of aggregate functions that keep values: MIN, FIRST_VALUE, LISTAGG, COLLECT, ..."""

# ruff: noqa: D102

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from firesteel.columns.functions.accumulators import Accumulator, SignedAccumulator, State
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.row_keys import freeze


class Extreme(Accumulator):
    """MIN and MAX over rows that are never retracted; `choose` is `min` or `max`."""

    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose

    def new(self) -> State:
        return [None]

    def add(self, state: State, *args: object) -> None:
        value = args[0]
        if value is not None:
            state[0] = value if state[0] is None else self._choose(state[0], value)

    def value(self, state: State) -> Any:
        return state[0]


_MANY = 64
"""Number of distinct values from which on they are ordered, so that the next extreme need not be sought among all."""


class RetractableExtreme(SignedAccumulator):
    """MIN and MAX over rows that may be retracted.

    The state holds a count per value, and the extreme until it is retracted.
    """

    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose

    def new(self) -> State:
        return [None, {}]

    def _change(self, state: State, value: Any, count: int) -> None:
        counts, value = state[1], freeze(value)
        left = counts.get(value, 0) + count
        if left:
            counts[value] = left
        else:
            del counts[value]
        if left > 0 >= left - count and isinstance(counts, _OrderedCounts):
            counts.push(value)
        if left > 0 and state[0] is not None:
            state[0] = self._choose(state[0], value)
        elif left > 0 and len(counts) == 1:
            state[0] = value
        elif state[0] == value:
            state[0] = None

    def value(self, state: State) -> Any:
        if state[0] is None:
            if len(state[1]) >= _MANY and not isinstance(state[1], _OrderedCounts):
                state[1] = _OrderedCounts(state[1], self._choose)
            counts = state[1]
            if isinstance(counts, _OrderedCounts):
                state[0] = counts.first()
            else:
                state[0] = self._choose((value for value, count in counts.items() if count > 0), default=None)
        return state[0]


class _Candidate:
    """A value in the order of MIN or MAX."""

    __slots__ = ("choose", "value")

    def __init__(self, value: Any, choose: Callable[..., Any]) -> None:
        self.value, self.choose = value, choose

    def __lt__(self, other: _Candidate) -> bool:
        return bool(self.value != other.value) and self.choose(self.value, other.value) is self.value


class _OrderedCounts(dict[Any, int]):
    """Counts of values with a heap of the values, from which those that are gone are removed late."""

    WRITTEN_AS = dict

    def __init__(self, counts: dict[Any, int], choose: Callable[..., Any]) -> None:
        super().__init__(counts)
        self._choose = choose
        self._rebuild()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counts alone, as a plain dictionary."""
        return dict, (dict(self),)

    def _rebuild(self) -> None:
        self._heap = [_Candidate(value, self._choose) for value, count in self.items() if count > 0]
        heapify(self._heap)

    def push(self, value: Any) -> None:
        """Note a value that has come."""
        # Values that went stay in the heap until they are at its top, which those at the other end never are.
        if len(self._heap) > 2 * len(self) + _MANY:
            self._rebuild()
        else:
            heappush(self._heap, _Candidate(value, self._choose))

    def first(self) -> Any:
        """Return the extreme, or None if no value is there."""
        heap = self._heap
        while heap and self.get(heap[0].value, 0) <= 0:
            heappop(heap)
        return heap[0].value if heap else None


class FirstValue(Accumulator):
    """FIRST_VALUE and LAST_VALUE over rows that are never retracted; NULLs are skipped."""

    def __init__(self, last: bool) -> None:
        self._last = last

    def new(self) -> State:
        return [None]

    def add(self, state: State, *args: object) -> None:
        if args[0] is not None and (self._last or state[0] is None):
            state[0] = args[0]

    def value(self, state: State) -> Any:
        return state[0]


class ValueLog(Accumulator):
    """Values in order of arrival; a retraction removes the earliest of equal values.

    The state holds the next sequence number, the values by sequence number, and the sequence numbers of each value if
    rows are retracted.
    """

    skip_null = True

    def __init__(self, retracts: bool = True) -> None:
        self._retracts = retracts

    def new(self) -> State:
        return [0, {}, {}]

    def add(self, state: State, *args: object) -> None:
        value = args[0]
        if value is None and self.skip_null:
            return
        number = state[0]
        state[0] = number + 1
        state[1][number] = value
        if self._retracts:
            state[2].setdefault(freeze(value), []).append(number)

    def retract(self, state: State, *args: object) -> None:
        key = freeze(args[0])
        numbers = state[2].get(key)
        if not numbers:
            return
        del state[1][numbers.pop(0)]
        if not numbers:
            del state[2][key]


class RetractableFirstValue(ValueLog):
    """FIRST_VALUE and LAST_VALUE over rows that may be retracted."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self._last = last

    def value(self, state: State) -> Any:
        values = state[1]
        if not values:
            return None
        return values[next(reversed(values) if self._last else iter(values))]


class ArrayAgg(ValueLog):
    """ARRAY_AGG; the result of an empty group is NULL."""

    def __init__(self, skip_null: bool, retracts: bool) -> None:
        super().__init__(retracts)
        self.skip_null = skip_null

    def value(self, state: State) -> Any:
        return list(state[1].values()) or None


DELIMITER = ","
"""The delimiter of LISTAGG without a second argument."""


class ListAgg(ValueLog):
    """LISTAGG, with an optional delimiter as second argument."""

    def new(self) -> State:
        return [*super().new(), DELIMITER]

    def add(self, state: State, *args: object) -> None:
        super().add(state, args[0])
        if len(args) > 1:
            state[3] = args[1]

    def value(self, state: State) -> Any:
        return state[3].join(state[1].values()) if state[1] else None


class Counts(SignedAccumulator):
    """Base of functions that need the number of occurrences of each value; NULLs are skipped."""

    def new(self) -> State:
        return [{}]

    def _change(self, state: State, value: object, count: int) -> None:
        key = freeze(value)
        entry = state[0].get(key)
        left = count if entry is None else entry[1] + count
        if left:
            state[0][key] = (value, left)
        else:
            del state[0][key]


class Collect(Counts):
    """COLLECT: a multiset, as pairs of a value and its count."""

    def value(self, state: State) -> Any:
        return list(state[0].values())


class CountDistinct(Counts):
    """APPROX_COUNT_DISTINCT, which is exact here."""

    def value(self, state: State) -> Any:
        return len(state[0])


class Percentile(Accumulator):
    """PERCENTILE(value, percentage [, frequency]) with linear interpolation; the percentage may be an array."""

    def new(self) -> State:
        return [{}, None]

    def _change(self, state: State, args: tuple[Any, ...], sign: int) -> None:
        frequency = args[2] if len(args) > 2 else 1
        state[1] = args[1]
        if args[0] is None or frequency is None or frequency <= 0:
            return
        value = freeze(args[0])
        left = state[0].get(value, 0) + sign * frequency
        if left:
            state[0][value] = left
        else:
            del state[0][value]

    def add(self, state: State, *args: object) -> None:
        self._change(state, args, 1)

    def retract(self, state: State, *args: object) -> None:
        self._change(state, args, -1)

    def value(self, state: State) -> Any:
        if not state[0] or state[1] is None:
            return None
        values = sorted(state[0].items())
        if isinstance(state[1], list):
            return [self._at(values, percentage) for percentage in state[1]]
        return self._at(values, state[1])

    @staticmethod
    def _at(values: list[tuple[Any, int]], percentage: float) -> float:
        if percentage is None or not 0 <= percentage <= 1:
            raise FunctionError(f"Percentage of PERCENTILE should be between [0.0, 1.0], but was {percentage}")
        position = (sum(count for _, count in values) - 1) * float(percentage)
        lower, upper = math.floor(position), math.ceil(position)
        low, high = (_nth(values, index) for index in (lower, upper))
        return low if lower == upper else (upper - position) * low + (position - lower) * high


def _nth(values: list[tuple[Any, int]], index: int) -> float:
    for value, count in values:
        index -= count
        if index < 0:
            return float(value)
    raise IndexError(index)
