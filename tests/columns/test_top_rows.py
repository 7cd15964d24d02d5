"""Top-N over inserted rows on columns gives what the kernel gives that goes row by row."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.ranks import rank_changes
from firesteel.columns.kernels.ranks.bounded_ranks import BoundedRanksFactory
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.ranks.top_rows import TopRows
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.kernels.rows.row_order import row_key
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.runs import room
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun
from tests.columns.rank_model import RankModel
from tests.seeds import ALL, steps

TYPES = tuple(map(parse_type, ("STRING", "BIGINT", "DOUBLE", "STRING", "DECIMAL(8, 2)", "BOOLEAN", "BIGINT")))
ARROW = [arrow_type(kind) for kind in TYPES]
KEY, NUMBER, FLOAT, TEXT, DECIMAL, FLAG = range(6)
ORDERS = {
    "numbers": ((NUMBER, False, True),),
    "numbers, descending": ((NUMBER, True, False),),
    "floats": ((FLOAT, True, True),),
    "texts and flags": ((TEXT, True, True), (FLAG, False, False)),
    "decimals, flags, numbers": ((DECIMAL, False, False), (FLAG, True, False), (NUMBER, True, True)),
}
PLACES = [(1, 1, False), (1, 1, True), (1, 3, False), (1, 3, True), (2, 4, False), (3, 4, True)]


def plan(order, start=1, end=3, outputs_rank=False, function="ROW_NUMBER"):
    return RankFactory(function, (KEY,), order, start, end, outputs_rank, TYPES, RankStrategy.APPEND_FAST)


class Run(KernelRun):
    def __init__(self, make, ttl_ms=0, is_on_disk=False):
        super().__init__(make, ttl_ms, is_on_disk, now=1_000)

    def give(self, rows):
        return super().give(batch_of(rows, ARROW))


def random_rows(chance, length, keys="abc"):
    return [
        (
            chance.choice([None, *keys]),
            chance.choice([None, -(2**63), 2**63 - 1, *range(6)]),
            chance.choice([None, float("nan"), float("inf"), -0.0, 0.0, 1.5, -2.0]),
            chance.choice([None, "", "a", "ab", "b", "é"]),
            chance.choice([None, Decimal("-1.50"), Decimal("0.00"), Decimal("12.25")]),
            chance.choice([None, True, False]),
            chance.randrange(3),
        )
        for _ in range(length)
    ]


@pytest.mark.parametrize(("least", "ttl_ms"), [(3, 0), (10_000, 40), (10_000, 0), (3, 40)][: 4 if ALL else 2])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", ORDERS)
def test_rows_and_columns_give_the_same(name, places, ttl_ms, least, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", least)
    monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    monkeypatch.setattr(rank_changes, "_AT_ONCE", 5 if least == 3 else 1 << 18)
    chance = random.Random(f"{name} {places}")
    found = plan(ORDERS[name], *places)
    columns, rows = Run(found.make, ttl_ms, is_on_disk=least == 3), Run(lambda: RankModel(found), ttl_ms)
    assert isinstance(columns.kernel, TopRows)
    for _ in range(steps(12, 30)):
        given = random_rows(chance, chance.randrange(1, 25), "abcdefgh"[: chance.randrange(1, 9)])
        columns.now = rows.now = columns.now + chance.choice([0, 10, 30])
        assert columns.give(given) == rows.give(given)
        if chance.random() < 0.3:
            columns.restore()
            rows.restore()


def test_a_partition_may_be_all_rows():
    run = Run(replace(plan(ORDERS["numbers"]), partition=(), end=1).make)
    rows = random_rows(random.Random(0), 20)
    run.give(rows)
    run.restore()
    run.give(rows)
    assert len(run.kernel._best._runs) == 1


@pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
@pytest.mark.parametrize("name", ORDERS)
def test_a_bounded_query_ranks_all_rows(name, function):
    chance = random.Random(name + function)
    given = [random_rows(chance, chance.randrange(1, 15)) for _ in range(20)]
    kernel, emitted = BoundedRanksFactory(plan(ORDERS[name], 2, 4, True, function)).make(), []
    kernel.open(KernelContext(False, 8, KeyedStateBackend(None, 8).table, emitted.append, None, lambda: 0))
    for rows in given:
        kernel.process(0, batch_of(rows, ARROW))
    kernel.end()
    partitions = {}
    for row in (row for rows in given for row in rows_of(batch_of(rows, ARROW))):
        partitions.setdefault(row[KEY], []).append(row)
    wanted = [row for rows in partitions.values() for row in ranked(ORDERS[name], function, rows)]
    assert [row for part in emitted for row in rows_of(part)] == wanted


def ranked(order, function, rows):
    key = row_key(order)
    rows = sorted(rows, key=key)
    for number, row in enumerate(rows, 1):
        before = [other for other in rows if key(other) < key(row)]
        distinct = 1 + len({tuple(other[index] for index, _, _ in order) for other in before})
        rank = {"ROW_NUMBER": number, "RANK": 1 + len(before), "DENSE_RANK": distinct}[function]
        if 2 <= rank <= 4:
            yield (*row, rank)


def test_rows_that_are_not_among_the_best_leave_no_state(monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", 10)
    run = Run(plan(ORDERS["numbers, descending"]).make)
    for number in range(300):
        run.give([(key, number, 0.0, "", None, True, 0) for key in "ab"])
        run.kernel.flush()
    assert sum(rows.length for rows in run.backend.table("best rows").data.values()) < 30
    assert sum(part.rows.length for part in run.kernel._best._runs) < 30


def test_expired_keys_are_forgotten():
    run = Run(plan(ORDERS["numbers"]).make, ttl_ms=100)
    for number in range(100):
        run.now += 50
        run.give([(f"key {number}", 1, 0.0, "", None, True, 0)])
        run.kernel.flush()
    assert len(run.kernel._best._numbers) < 6
    assert sum(len(part.numbers) for part in run.kernel._best._runs) < 6


@pytest.mark.parametrize("outputs_rank", [True, False])
@pytest.mark.parametrize("name", ["numbers", "numbers, descending"])
@pytest.mark.parametrize("keys", [1, 1_000])
def test_the_work_does_not_grow_with_the_rows(keys, name, outputs_rank):
    few, lots = (work(keys, ORDERS[name], outputs_rank, length) for length in (2_000, 20_000))
    assert lots < 1.3 * few + 300


def work(keys, order, outputs_rank, length):
    """The calls that a batch makes after another; with some orders each row moves others."""
    run = Run(plan(order, 1, 10, outputs_rank).make)
    numbers = range(2 * length)
    rows = [(f"key {number % keys}", number, 0.0, "", None, True, 0) for number in numbers]
    first, second = batch_of(rows[:length], ARROW), batch_of(rows[length:], ARROW)
    run.kernel.process(0, first)
    return calls_made(lambda: run.kernel.process(0, second))


@pytest.mark.parametrize("end", [1, 3])
@pytest.mark.parametrize("ttl_ms", [0, 40])
def test_a_job_goes_on_from_rows_of_a_former_release(end, ttl_ms):
    """They were sorted in a list for each key if state was on disk."""
    chance, found = random.Random(0), plan(ORDERS["numbers"], end=end)
    rows, columns = Run(lambda: RankModel(found), ttl_ms), Run(found.make, ttl_ms)
    for _ in range(3):
        rows.give(random_rows(chance, 10))
        rows.now += 15
    columns.now = rows.now
    rows.kernel.flush()
    columns.start(list(rows.backend.full()))
    for _ in range(4):
        given = random_rows(chance, 4)
        assert columns.give(given) == rows.give(given)
        columns.restore()
        assert not columns.backend.table("rows").data
        rows.now = columns.now = columns.now + 20
