"""Top-N over updates with long partitions: the same as with short ones, and what a change costs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from firesteel.columns.kernels import rank
from firesteel.columns.kernels.rank import RankFactory, RankStrategy
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.kernel_runs import KernelRun
from tests.columns.test_top_rows import ARROW, ORDERS, PLACES, plan, random_rows

INT = parse_type("BIGINT")
COUNTS = RankFactory(
    "ROW_NUMBER",
    (),
    ((1, False, True),),
    1,
    3,
    False,
    (INT, INT),
    RankStrategy.RETRACT,
)


def changes(chance, there, length):
    """Rows that come, and go as far as they are there, with a few that are not."""
    kinds, rows = [], []
    for row in random_rows(chance, length, "ab"):
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


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", ORDERS)
def test_long_and_short_partitions_give_the_same(name, places, monkeypatch):
    chance = random.Random(f"{name} {places}")
    found = replace(plan(ORDERS[name], *places), strategy=RankStrategy.RETRACT)
    long, short, there, was_long = KernelRun(found.make), KernelRun(found.make), [], False
    for _ in range(40):
        given = changes(chance, there, chance.randrange(1, 25))
        monkeypatch.setattr(rank, "LONG", 4)
        emitted = long.give(given)
        monkeypatch.setattr(rank, "LONG", 1 << 30)
        assert emitted == short.give(given)
        was_long |= bool(long.backend.table("ranked rows").data)
        if chance.random() < 0.3:
            long.restore()
            short.restore()
    assert was_long
    assert not short.backend.table("ranked rows").data


def test_a_change_writes_one_row_of_a_long_partition():
    run = KernelRun(COUNTS.make)
    types = [arrow_type(kind) for kind in COUNTS.types]
    run.give(batch_of([(item, 1) for item in range(1_000)], types))
    run.kernel.flush()
    list(run.backend.full())
    run.give(batch_of([(700, 1), (700, 2)], types, [UPDATE_BEFORE, UPDATE_AFTER]))
    run.kernel.flush()
    assert sum(len(entries) for name, entries in run.backend.delta() if name in ("rows", "ranked rows")) == 2


@pytest.mark.parametrize("later", [{"is_on_disk": True}, {"ttl_ms": 1_000}])
def test_a_restored_job_may_keep_partitions_as_a_whole(later):
    run = KernelRun(COUNTS.make)
    types = [arrow_type(kind) for kind in COUNTS.types]
    run.give(batch_of([(item, item % 50) for item in range(500)], types))
    run.is_on_disk, run.ttl_ms = later.get("is_on_disk", False), later.get("ttl_ms", 0)
    run.restore()
    assert not run.backend.table("ranked rows").data
    assert run.give(batch_of([(0, 0)], types, [DELETE])) == [(DELETE, (0, 0)), (INSERT, (150, 0))]
    run.is_on_disk, run.ttl_ms = False, 0
    run.restore()
    assert run.give(batch_of([(50, 0)], types, [DELETE])) == [(DELETE, (50, 0)), (INSERT, (200, 0))]
    assert not run.backend.table("rows").data


def test_what_never_moves_up_by_itself_is_forgotten():
    plan, types = replace(COUNTS, order=((1, True, False),), strategy=RankStrategy.UPDATE_FAST), [arrow_type(INT)] * 2
    run, counts = KernelRun(plan.make), {}
    chance = random.Random(1)
    for _ in range(2_000):
        item = min(int(chance.expovariate(0.05)), 99)
        count = counts[item] = counts.get(item, 0) + 1
        rows, kinds = [(item, count)], [INSERT]
        if count > 1:
            rows, kinds = [(item, count - 1), (item, count)], [UPDATE_BEFORE, UPDATE_AFTER]
        run.give(batch_of(rows, types, kinds))
    [rows] = run.backend.table("rows").data.values()
    assert sorted(count for _, count in rows) == sorted(counts.values())[-3:]
