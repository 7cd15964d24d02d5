"""Interval and temporal joins: what a loop over the rows finds, at a cost that does not grow with a key's rows."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins import interval_joins, temporal_joins
from firesteel.columns.kernels.joins.interval_joins import IntervalJoinFactory
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.temporal_joins import TemporalJoinFactory
from firesteel.columns.kernels.rows import row_store, saved_rows
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, batch_of, keys_of, kinds_list, rows_of
from firesteel.columns.runs import room
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.columns.spilling import FixedSpill
from tests.seeds import seeds

TYPES = tuple(map(parse_type, ("INT", "INT", "TIMESTAMP(3)")))
ARROW = [arrow_type(kind) for kind in TYPES]
INNER = JoinPlan("INNER", ((0,), (0,)), None, TYPES, TYPES, QuerySettings(), False, False)
MAX = 2**63 - 1


class Run:
    def __init__(
        self, factory: Any, state: Any = (), is_on_disk: bool = False, ttl_ms: int = 0, now_ms: int = 0
    ) -> None:
        self.ttl_ms = ttl_ms
        self.backend = KeyedStateBackend(None, 8)
        self.backend.key_group = lambda key: key[0]
        for delta in state:
            self.backend.load(delta, None)
        self.found: Counter[tuple[Any, ...]] = Counter()
        self.factory = factory
        self.kernel, self.now = factory.make(), now_ms
        self.kernel.open(
            KernelContext(
                True,
                8,
                self.backend.table,
                self.take,
                None,
                lambda: self.now,
                state_ttl_ms=ttl_ms,
                new_spill=(lambda: FixedSpill(100)) if is_on_disk else None,
            )
        )

    def take(self, batch: ColumnBatch) -> None:
        assert set(kinds_list(batch)) <= {INSERT}
        self.found.update(tuple(None if part is None else part for part in (row[1], row[4])) for row in rows_of(batch))

    def give(self, side: int, *rows: tuple[int, int, int], kinds: list[int] | None = None) -> None:
        self.kernel.process(side, batch_of([(key, number, at(time)) for key, number, time in rows], ARROW, kinds))

    def resumed(self, is_on_disk: bool) -> Run:
        """The join in another subtask."""
        self.kernel.flush()
        following = Run(self.factory, list(self.backend.full()), is_on_disk, self.ttl_ms, self.now)
        following.kernel.restore(self.kernel.snapshot())
        following.found = self.found
        return following


def at(time: int | None) -> datetime.datetime | None:
    if time is None:
        return None
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=time)


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("on_disk", [range(0), range(6), range(100), range(6, 100)], ids=str)
@pytest.mark.parametrize("least", [row_store.LEAST, 2])
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_interval_joins(seed: int, kind: str, least: int, on_disk: range, monkeypatch: pytest.MonkeyPatch) -> None:
    few(least, monkeypatch)
    chance = random.Random(seed)
    run = Run(IntervalJoinFactory(replace(INNER, kind=kind), 2, 2, -30, 10, True), is_on_disk=0 in on_disk)
    sides: tuple[list[Any], list[Any]] = ([], [])
    for step in range(20):
        for side in (0, 1):
            rows = [
                (chance.randrange(2), number, step * 20 + chance.randrange(40))
                for number in range(100 * step, 100 * step + 3)
            ]
            sides[side].extend(rows)
            run.give(side, *rows)
        run.kernel.watermark(step * 20 - 1)  # no row is late
        run = run.resumed(step in on_disk) if step % 6 == 5 else run
    run.kernel.watermark(MAX)
    run.kernel.end()
    pairs = [(a, b) for a in sides[0] for b in sides[1] if a[0] == b[0] and -30 <= a[2] - b[2] <= 10]
    wanted = Counter((a[1], b[1]) for a, b in pairs)
    if kind in ("LEFT", "FULL"):
        wanted.update((a[1], None) for a in sides[0] if a not in [pair[0] for pair in pairs])
    if kind in ("RIGHT", "FULL"):
        wanted.update((None, b[1]) for b in sides[1] if b not in [pair[1] for pair in pairs])
    assert run.found == wanted


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("bounds", [(-30, 10), (5, 20), (-20, -5)])
@pytest.mark.parametrize("seed", seeds(2, 8))
def test_interval_joins_in_processing_time(seed: int, bounds: tuple[int, int], kind: str) -> None:
    low, high = bounds
    chance = random.Random(seed)
    run = Run(IntervalJoinFactory(replace(INNER, kind=kind), 2, 2, low, high, False))
    sides: tuple[list[Any], list[Any]] = ([], [])
    for number in range(80):
        side, now = chance.randrange(2), run.now + chance.choice([0, 3, 15])
        due = run.kernel.next_processing_time()
        assert due is None or due > run.now
        while (due := run.kernel.next_processing_time()) is not None and due <= now:
            run.now = due
            run.kernel.advance_processing_time(due)
        run.now = now
        sides[side].append((chance.randrange(3), number, now))
        run.give(side, sides[side][-1])
        if chance.random() < 0.1:
            run = run.resumed(False)
            run.now = now
    while (due := run.kernel.next_processing_time()) is not None:
        run.now = due
        run.kernel.advance_processing_time(due)
    assert not any(side._store.left for side in run.kernel._sides)
    pairs = [(a, b) for a in sides[0] for b in sides[1] if a[0] == b[0] and low <= a[2] - b[2] <= high]
    wanted = Counter((a[1], b[1]) for a, b in pairs)
    for outer, rows, place in (("LEFT", sides[0], 0), ("RIGHT", sides[1], 1)):
        if kind in (outer, "FULL"):
            alone = [row[1] for row in rows if row not in [pair[place] for pair in pairs]]
            wanted.update((number, None) if place == 0 else (None, number) for number in alone)
    assert run.found == wanted


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_rows_of_interval_joins_come_and_go_with_the_watermark_of_another_job(is_on_disk: bool) -> None:
    factory = IntervalJoinFactory(replace(INNER, kind="LEFT"), 2, 2, 0, 10, True)
    run = Run(factory)
    run.give(0, (1, 7, 100), (1, 8, 300))
    run.kernel.flush()
    run.kernel.watermark(150)
    assert run.found == Counter([(7, None)])
    run.kernel.flush()
    for has_watermark in (False, True):
        other = Run(factory, list(run.backend.full()), is_on_disk)
        other.give(0, (1, 9, 60))
        if has_watermark:
            other.kernel.watermark(50)
        other = other.resumed(is_on_disk)
        other.kernel.watermark(MAX)
        assert other.found == Counter([(9, None), (8, None)])


def few(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let go of rows, and write logs anew, when so many are gone; look at few pairs at once."""
    monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    for module in (row_store, temporal_joins, saved_rows):
        monkeypatch.setattr(module, "LEAST", least)
    monkeypatch.setattr(interval_joins, "_PAIRS", 1 << 17 if least > 2 else 3)


@pytest.mark.parametrize("on_disk", [range(0), range(6), range(100), range(6, 100)], ids=str)
@pytest.mark.parametrize("least", [row_store.LEAST, 2])
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_temporal_joins(seed: int, least: int, on_disk: range, monkeypatch: pytest.MonkeyPatch) -> None:
    few(least, monkeypatch)
    chance = random.Random(seed)
    run = Run(TemporalJoinFactory(replace(INNER, kind="LEFT"), 2, 2), is_on_disk=0 in on_disk)
    left, versions = [], []
    for step in range(20):
        for number in range(3):
            row = (chance.randrange(2), 10 * step + number, step * 20 + chance.randrange(40))
            change = DELETE if chance.random() < 0.2 else UPDATE_AFTER
            left.append((row[0], row[1], step * 20 + chance.randrange(40)))
            versions.append((row, change))
            run.give(0, left[-1])
            run.give(1, row, kinds=[change])
        run.kernel.watermark(step * 20 - 1)
        run = run.resumed(step in on_disk) if step % 6 == 5 else run
    run.kernel.end()
    wanted: Counter[tuple[Any, ...]] = Counter()
    for key, number, time in left:
        before = [(row[2], place) for place, (row, _) in enumerate(versions) if row[0] == key and row[2] <= time]
        row, change = versions[max(before)[1]] if before else ((), DELETE)
        wanted[number, None if change == DELETE else row[1]] += 1
    assert run.found == wanted


@pytest.mark.parametrize("on_disk", [range(0), range(6), range(100), range(6, 100)], ids=str)
@pytest.mark.parametrize("least", [row_store.LEAST, 2])
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_versions_of_idle_keys_are_forgotten(
    seed: int, least: int, on_disk: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(least, monkeypatch)
    chance = random.Random(seed)
    run = Run(TemporalJoinFactory(replace(INNER, kind="LEFT"), 2, 2), (), 0 in on_disk, 100, 1000)
    used: dict[int, int] = {}
    versions: dict[int, dict[int, int]] = {}
    waiting: list[tuple[int, int, int]] = []
    wanted: Counter[tuple[Any, ...]] = Counter()

    def use(key: int) -> None:
        if used.get(key, run.now) + 100 <= run.now:
            versions.pop(key, None)
        used[key] = run.now

    for step in range(60):
        for number in range(chance.randrange(3)):
            key, time = chance.randrange(5), step * 20 + chance.randrange(40)
            if chance.random() < 0.5:
                waiting.append((key, 10 * step + number, time))
                run.give(0, waiting[-1])
                use(key)
            else:
                run.give(1, (key, 10 * step + number, time))
                use(key)
                versions.setdefault(key, {})[time] = 10 * step + number
        run.now += chance.randrange(40)
        run.kernel.watermark(step * 20 - 1)
        due = [row for row in waiting if row[2] < step * 20]
        waiting = [row for row in waiting if row not in due]
        for key, number, time in due:
            use(key)
            before = [(at, value) for at, value in versions.get(key, {}).items() if at <= time]
            wanted[number, max(before)[1] if before else None] += 1
        if step % 6 == 5:
            run = run.resumed(step in on_disk)
        elif step % 3 == 2:
            run.kernel.flush()
    assert run.found == wanted


def test_versions_of_keys_that_never_come_again_leave_the_state() -> None:
    sizes = []
    for ttl_ms in (0, 100):
        run = Run(TemporalJoinFactory(INNER, 2, 2), ttl_ms=ttl_ms, now_ms=1000)
        for step in range(100):
            run.now += 50
            run.give(1, *((1000 * step + number, number, step) for number in range(100)))
            run.kernel.flush()
        sizes.append(sum(rows.length for rows in SavedRows(run.backend.table("version rows"), (0,), 8).rows()))
    assert sizes[0] == 10_000
    assert sizes[1] <= 600


def test_versions_that_were_kept_without_a_time_to_live_age_from_their_restore_on() -> None:
    run = Run(TemporalJoinFactory(replace(INNER, kind="LEFT"), 2, 2), now_ms=1000)
    run.give(1, (1, 7, 10), (2, 8, 10))
    run.ttl_ms, run.now = 100, 5000
    run = run.resumed(False)
    run.now += 60
    run.give(0, (1, 1, 20))
    run.now += 60
    run.give(0, (2, 2, 20))
    run.kernel.watermark(MAX)
    assert run.found == Counter([(1, 7), (2, None)])


def test_rows_without_a_time_have_no_version() -> None:
    run = Run(TemporalJoinFactory(replace(INNER, kind="LEFT"), 2, 2))
    run.kernel.process(0, batch_of([(1, 2, at(20)), (1, 1, at(None))], ARROW))
    run.give(1, (1, 7, 10))
    run = run.resumed(False)
    run.kernel.watermark(30)
    assert run.found == Counter([(1, None), (2, 7)])


@pytest.mark.parametrize("on_disk", [False, True])
def test_joins_go_on_from_rows_of_a_former_release(on_disk: bool) -> None:
    """They were in lists by key and time if state was on disk."""
    rows = rows_of(batch_of([(1, 7, at(10)), (1, 8, at(20))], ARROW))
    (key,) = {*keys_of(batch_of(rows, ARROW), (0,), 8)}
    entries = [[10 * place, row, False] for place, row in enumerate(rows, 1)]
    run = Run(IntervalJoinFactory(replace(INNER, kind="LEFT"), 2, 2, 0, 5, True), [("left", {key: entries})], on_disk)
    run.give(1, (1, 9, 18))
    run.kernel.watermark(MAX)
    assert run.found == Counter([(8, 9), (7, None)])
    versions = [(10 * place, place, INSERT, row) for place, row in enumerate(rows, 1)]
    waiting = [(19, 3, INSERT, rows[0]), (20, 4, INSERT, rows[1])]
    run = Run(TemporalJoinFactory(INNER, 2, 2), [("left", {key: waiting}), ("right", {key: versions})], on_disk)
    run.kernel.watermark(MAX)
    assert run.found == Counter([(7, 7), (8, 8)])


@pytest.mark.parametrize("factory", [IntervalJoinFactory(INNER, 2, 2, -5, 5, True), TemporalJoinFactory(INNER, 2, 2)])
def test_a_row_costs_the_same_however_many_its_key_has(factory: Any) -> None:
    costs = []
    for count in (256, 4096):
        run = Run(factory)
        for side in (1, 0):
            run.give(side, *((1, number, 10_000 + 10 * number) for number in range(count)))

        def one_more(run: Run = run) -> None:
            run.give(1, (1, 0, 10_000))
            run.give(0, (1, 0, 9_000))
            run.kernel.watermark(9_500)

        costs.append(calls_made(one_more))
    assert costs[1] < costs[0] + 40
