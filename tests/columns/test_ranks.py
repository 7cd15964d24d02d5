"""Top-N over rows that come and go: the same as row by row, whatever the partitions, and what a change costs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from firesteel.columns.kernels.ranks import order_index, rank_changes, ranked_rows
from firesteel.columns.kernels.ranks.rank import Rank, RankFactory, RankStrategy
from firesteel.columns.kernels.rows import row_store, saved_rows
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of, is_retraction, rows_of
from firesteel.columns.runs import room
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun
from tests.columns.rank_model import RankModel
from tests.columns.test_top_rows import ARROW, ORDERS, PLACES, plan, random_rows
from tests.seeds import steps

INT = parse_type("BIGINT")
TYPES = [arrow_type(INT)] * 2
COUNTS = RankFactory("ROW_NUMBER", (), ((1, False, True),), 1, 3, False, (INT, INT), RankStrategy.RETRACT)


def changes(chance, there, length, keys="ab"):
    """Rows that come, and go as far as they are there, with a few that are not."""
    kinds, rows = [], []
    for row in random_rows(chance, length, keys):
        if there and chance.random() < 0.5:
            kinds.append(chance.choice([UPDATE_BEFORE, DELETE]))
            rows.append(there.pop(chance.randrange(len(there))))
        elif chance.random() < 0.05:
            kinds.append(DELETE)
            rows.append(row)
        else:
            kinds.append(chance.choice([INSERT, UPDATE_AFTER]))
            rows.append(row)
            there.append(row)
    return batch_of(rows, ARROW, kinds)


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", ORDERS)
def test_rows_and_columns_give_the_same(name, places, is_on_disk, monkeypatch):
    if is_on_disk:
        monkeypatch.setattr(saved_rows, "LEAST", 3)
        monkeypatch.setattr(row_store, "LEAST", 3)
        monkeypatch.setattr(room, "_LEAST_BYTES", 1)
        monkeypatch.setattr(rank_changes, "_AT_ONCE", 5)
    chance, there = random.Random(f"{name} {places} {is_on_disk}"), []
    found = replace(plan(ORDERS[name], *places), strategy=RankStrategy.RETRACT)
    columns, rows = KernelRun(found.make, is_on_disk=is_on_disk), KernelRun(lambda: RankModel(found))
    assert isinstance(columns.kernel, Rank)
    for _ in range(steps(10, 40)):
        given = changes(chance, there, chance.randrange(1, 25), "abcdefgh"[: chance.randrange(1, 9)])
        assert list(map(repr, columns.give(given))) == list(map(repr, rows.give(given)))
        if chance.random() < 0.3:
            columns.restore()
            rows.restore()


def test_keys_with_the_same_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(ranked_rows, "row_hashes", lambda rows, _: _same_hash(rows))
    chance, there = random.Random(1), []
    found = replace(plan(ORDERS["numbers"], 1, 2), strategy=RankStrategy.RETRACT)
    columns, rows = KernelRun(found.make), KernelRun(lambda: RankModel(found))
    for _ in range(40):
        given = changes(chance, there, chance.randrange(1, 25), "abc")
        assert list(map(repr, columns.give(given))) == list(map(repr, rows.give(given)))


def _same_hash(rows):
    from firesteel.columns.hashing import row_hashes

    return row_hashes(rows, ()) * 0


def updates(chance, counts, length, keys=3, kinds=9):
    """What counts of kinds per key change, as GROUP BY emits it; keys and kinds are numbers."""
    for _ in range(length):
        group = (chance.randrange(keys), min(int(chance.expovariate(0.3)), kinds))
        count = counts[group] = counts.get(group, 0) + 1
        if count > 1:
            yield UPDATE_BEFORE, (*group, count - 1)
        yield UPDATE_AFTER if count > 1 else INSERT, (*group, count)


@pytest.mark.parametrize("outputs_rank", [True, False])
@pytest.mark.parametrize("end", [1, 3])
def test_rows_that_only_move_up(end, outputs_rank):
    types = [arrow_type(INT)] * 3
    found = RankFactory(
        "ROW_NUMBER", (0,), ((2, True, False),), 1, end, outputs_rank, (INT,) * 3, RankStrategy.UPDATE_FAST
    )
    columns, rows = KernelRun(found.make), KernelRun(lambda: RankModel(found))
    chance, counts, shown = random.Random(end), {}, (Counter(), Counter())
    for _ in range(60):
        kinds, given = zip(*updates(chance, counts, chance.randrange(1, 40)), strict=True)
        emitted = [run.give(batch_of(given, types, kinds)) for run in (columns, rows)]
        if outputs_rank:
            for part, into in zip(emitted, shown, strict=True):
                for kind, row in part:
                    into[row] += -1 if is_retraction(kind) else 1
                    assert into[row] >= 0
            assert len(emitted[0]) <= len(emitted[1])
            assert +shown[0] == +shown[1]
        else:
            assert emitted[0] == emitted[1]
        if chance.random() < 0.3:
            columns.restore()
            rows.restore()


def left_rows(run):
    return [row for rows, _ in run.kernel._rows.parts() for row in rows_of(rows)]


def test_what_never_moves_up_by_itself_is_forgotten():
    found = replace(COUNTS, order=((1, True, False),), strategy=RankStrategy.UPDATE_FAST)
    run, counts, chance = KernelRun(found.make), {}, random.Random(1)
    for _ in range(500):
        kinds, given = zip(*updates(chance, counts, 3, keys=1, kinds=99), strict=True)
        run.give(batch_of([row[1:] for row in given], TYPES, kinds))
    assert sorted(count for _, count in left_rows(run)) == sorted(counts.values())[-3:]


def test_a_change_writes_the_rows_that_change():
    run = KernelRun(COUNTS.make)
    run.give(batch_of([(item, 1) for item in range(1_000)], TYPES))
    run.kernel.flush()
    list(run.backend.full())
    run.give(batch_of([(700, 1), (700, 2)], TYPES, [UPDATE_BEFORE, UPDATE_AFTER]))
    run.kernel.flush()
    [(name, entries)] = list(run.backend.delta())
    assert (name, [rows.length for rows in entries.values()]) == ("ranked", [2])


@pytest.mark.parametrize("ttl_ms", [0, 1_000])
def test_a_row_that_comes_and_goes_between_two_versions_is_in_neither(ttl_ms, monkeypatch):
    monkeypatch.setattr(row_store, "LEAST", 10)  # so that rows are compacted in between
    run = KernelRun(COUNTS.make, ttl_ms=ttl_ms)
    run.give(batch_of([(item, 1) for item in range(10)], TYPES))
    run.kernel.flush()
    list(run.backend.full())
    for count in range(1, 100):
        run.kernel.process(0, batch_of([(7, count), (7, count + 1)], TYPES, [UPDATE_BEFORE, UPDATE_AFTER]))
    run.kernel.flush()
    [(name, entries)] = [(name, entries) for name, entries in run.backend.delta() if entries]
    assert (name, [rows.length for rows in entries.values()]) == ("ranked", [2])
    run.restore()
    assert sorted(left_rows(run)) == sorted([*((item, 1) for item in range(10) if item != 7), (7, 100)])


@pytest.mark.parametrize("strategy", [RankStrategy.RETRACT, RankStrategy.UPDATE_FAST])
@pytest.mark.parametrize("outputs_rank", [True, False])
def test_the_work_does_not_grow_with_the_partition(outputs_rank, strategy):
    few, lots = (work(length, outputs_rank, strategy) for length in (2_000, 200_000))
    assert lots < 1.3 * few + 300


def work(length, outputs_rank, strategy):
    """The calls that a small batch makes, which removes the best rows and adds others."""
    run = KernelRun(replace(COUNTS, outputs_rank=outputs_rank, strategy=strategy).make)
    run.kernel.process(0, batch_of([(item, item) for item in range(length)], TYPES))
    rows = [row for item in range(50) for row in ((item, item), (item, item + length))]
    second = batch_of(rows, TYPES, [UPDATE_BEFORE, UPDATE_AFTER] * 50)
    run.kernel.process(0, batch_of([(length, length)], TYPES, [DELETE]))
    return calls_made(lambda: run.kernel.process(0, second))


def test_rows_that_are_gone_are_skipped_a_few_at_a_time(monkeypatch):
    """The best row stays, and thousands behind it go: finding the next one looks at each twice, about."""
    run, looked_at = KernelRun(COUNTS.make), []
    run.give(batch_of([(item, item) for item in range(20_000)], TYPES))
    gone = [(item, item) for item in range(1, 9_000)]
    run.give(batch_of(gone, TYPES, [DELETE] * len(gone)))
    ranges = order_index.ranges
    monkeypatch.setattr(order_index, "ranges", lambda low, high: looked_at.append(sum(high - low)) or ranges(low, high))
    given = [(0, 0), (0, 1)]
    assert run.give(batch_of(given, TYPES, [UPDATE_BEFORE, UPDATE_AFTER]))[0] == (DELETE, (0, 0))
    assert sum(looked_at) < 50_000


def test_rows_expire_one_by_one():
    run = KernelRun(COUNTS.make, ttl_ms=100)
    run.give(batch_of([(1, 1), (2, 2)], TYPES))
    run.now = 60
    run.give(batch_of([(3, 3), (4, 4)], TYPES))
    run.now = 120
    run.restore()
    assert run.give(batch_of([(1, 1)], TYPES, [DELETE])) == []
    assert run.give(batch_of([(3, 3)], TYPES, [DELETE])) == [(DELETE, (3, 3))]
    run.now = 400
    run.give(batch_of([(9, 9)], TYPES))
    run.kernel.flush()
    assert left_rows(run) == [(9, 9)]


@pytest.mark.parametrize("ttl_ms", [0, 1_000])
def test_a_job_goes_on_from_lists_of_a_former_release(ttl_ms):
    """Short partitions were a list of rows each, the rows of long ones were entries by key and number."""
    chance, there = random.Random(0), []
    found = replace(plan(ORDERS["numbers"], 1, 3), strategy=RankStrategy.RETRACT)
    rows, columns = KernelRun(lambda: RankModel(found), ttl_ms), KernelRun(found.make, ttl_ms)
    for _ in range(3):
        rows.give(changes(chance, there, 20))
    columns.start(list(rows.backend.full()))
    for _ in range(4):
        given = changes(chance, there, 5)
        assert list(map(repr, columns.give(given))) == list(map(repr, rows.give(given)))
        columns.restore()
        assert not columns.backend.table("rows").data


def test_a_job_goes_on_from_long_partitions_of_a_former_release():
    former = KernelRun(COUNTS.make)
    for number in range(200):
        former.backend.table("ranked rows").put((number,), (number % 100, number % 100))
    run = KernelRun(COUNTS.make)
    run.start(list(former.backend.full()))
    assert not run.backend.table("ranked rows").data
    assert run.give(batch_of([(0, 0), (0, 0)], TYPES, [DELETE] * 2)) == [
        (DELETE, (0, 0)),
        (INSERT, (1, 1)),
        (DELETE, (0, 0)),
        (INSERT, (2, 2)),
    ]
