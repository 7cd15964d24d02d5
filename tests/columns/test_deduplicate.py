"""The first or last row of each key: on columns as row by row."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernels import saved_rows
from firesteel.columns.kernels.deduplicate import DeduplicateFactory
from firesteel.columns.type_text import parse_type
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun

TYPES = tuple(map(parse_type, ("BIGINT", "STRING", "TIMESTAMP(3)")))
PLANS = [DeduplicateFactory((1,), keeps_last, time, TYPES) for keeps_last in (True, False) for time in (None, 2)]


class Run(KernelRun):
    def __init__(self, plan, is_on_disk=False, ttl_ms=0):
        super().__init__(plan.make, ttl_ms, is_on_disk)


def batch_of(rows):
    numbers, keys, times = zip(*rows, strict=True)
    column = pa.array([ms * 1000 for ms in times]).cast(pa.timestamp("us"))
    return ColumnBatch((pa.array(numbers), pa.array(keys, pa.string()), column), len(rows))


@pytest.mark.parametrize("least", [10_000, 3])
@pytest.mark.parametrize("ttl_ms", [0, 40])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("plan", PLANS)
def test_rows_and_columns_give_the_same(plan, seed, ttl_ms, least, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", least)
    chance, number = random.Random(seed), 0
    columns, rows = Run(plan, False, ttl_ms), Run(plan, True, ttl_ms)
    for step in range(40):
        found = []
        for _ in range(chance.randrange(1, 12)):
            number += 1
            found.append((number, chance.choice(["a", "b", None, *"cdefg"]), step + chance.randrange(6)))
        columns.now = rows.now = columns.now + chance.choice([0, 10, 30])
        assert columns.give(batch_of(found)) == rows.give(batch_of(found))
        if chance.random() < 0.3:
            columns.restore()
            rows.restore()


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_a_restored_job_goes_on_with_the_state_that_there_is(is_on_disk):
    run = Run(PLANS[0], is_on_disk)
    run.give(batch_of([(1, "a", 0)]))
    run.is_on_disk = not is_on_disk
    run.restore()
    assert [kind for kind, _ in run.give(batch_of([(2, "a", 0)]))] == [1, 2]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("keys", [1, 1_000])
def test_the_work_does_not_grow_with_the_rows(plan, keys):
    def work(length):
        run = Run(plan)
        batch = batch_of([(number, f"key {number % keys}", number) for number in range(length)])
        run.kernel.process(0, batch)
        return calls_made(lambda: run.kernel.process(0, batch))

    assert work(20_000) < 1.3 * work(2_000)
