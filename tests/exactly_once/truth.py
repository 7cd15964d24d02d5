"""The expected output of the jobs of the fault runs, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from tests.exactly_once.job import BOUND_MS, JOIN_WINDOW_MS, KEYS, WINDOW_MS

Result = tuple[int, int, int]


def write_input(directory: Path, records: int) -> None:
    """The numbers as two files of lines."""
    directory.mkdir()
    for part in range(2):
        half = range(part * records // 2, (part + 1) * records // 2)
        (directory / f"part-{part}.txt").write_text("".join(f"{number}\n" for number in half))


def _totals(records: int) -> Iterator[Result]:
    for number in range(records):
        key, count = number % KEYS, number // KEYS + 1
        yield key, count, count * key


def _windows(records: int) -> Iterator[Result]:
    sums: Counter[tuple[int, int]] = Counter()
    for number in range(records):
        time = number % (records // 2)
        sums[number % KEYS, time - time % WINDOW_MS] += number
    for (key, start), total in sums.items():
        yield key, start, total


def _window_join(records: int) -> Iterator[Result]:
    sides: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number in range(records):
        sides[number % KEYS, number % (records // 2) // JOIN_WINDOW_MS].append(number)
    for (key, _), found in sides.items():
        for left, right in product(found, found):
            if right % 3 == 0:
                yield key, left, right


def _interval_join(records: int) -> Iterator[Result]:
    half = records // 2
    for left in range(records):
        time = left % half
        for right_time in range(max(0, time - BOUND_MS), min(half - 1, time + BOUND_MS) + 1):
            for right in (right_time, right_time + half):
                if right % 3 == 0 and (left - right) % KEYS == 0:
                    yield left % KEYS, left, right


def _sql_join(records: int) -> Iterator[Result]:
    return ((number % KEYS, number, number) for number in range(0, records, 10))


_TRUTHS = {
    "totals": _totals,
    "kafka totals": _totals,
    "windows": _windows,
    "kafka windows": _windows,
    "window join": _window_join,
    "interval join": _interval_join,
    "SQL totals": _totals,
    "SQL join": _sql_join,
}


def truth(job: str, records: int) -> Counter[Result]:
    """All that the job writes, with how often."""
    return Counter(_TRUTHS[job](records))
