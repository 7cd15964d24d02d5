"""The first row of a partition in event time."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernels.ranks.first_rows import FirstRowFactory
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.runs import room
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun

TYPES = tuple(map(parse_type, ("STRING", "TIMESTAMP(3)", "BIGINT")))


def run(partition=(0,), **options):
    return KernelRun(FirstRowFactory(partition, 1, TYPES).make, **options)


def batch(rows):
    keys, millis, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    times = pa.array([None if ms is None else ms * 1_000 for ms in millis], pa.int64()).cast(pa.timestamp("us"))
    return ColumnBatch((pa.array(keys, pa.string()), times, pa.array(numbers, pa.int64())), len(rows))


def passed(found, ms):
    found.kernel.watermark(ms)
    rows = [row for part in found.emitted for row in rows_of(part)]
    found.emitted.clear()
    return [(key, numbers) for key, _, numbers in rows]


def test_the_first_row_is_emitted_once_when_the_watermark_passes_it():
    found = run()
    assert found.give(batch([("a", 5, 1), ("b", 9, 2), ("z", None, 3)])) == []
    assert passed(found, 4) == []
    found.give(batch([("a", 4, 4), ("a", 3, 5), ("b", 9, 6)]))
    assert passed(found, 8) == [("a", 4)], "3 is before the watermark, 4 is not"
    found.give(batch([("a", 8, 7), ("b", 20, 8), ("c", 8, 9)]))
    assert passed(found, 2**40) == [("c", 9), ("b", 2)]


def first_rows(batches):
    """Yield what each watermark emits, of batches with the watermarks that follow them."""
    waiting, emitted, watermark = {}, set(), None
    for rows, next_watermark in batches:
        for key, ms, number in rows:
            is_late = watermark is not None and ms is not None and ms < watermark
            if ms is None or is_late or key in emitted:
                continue
            if key not in waiting or ms < waiting[key][0]:
                waiting[key] = (ms, number)
        watermark = next_watermark
        due = sorted((*first, key) for key, first in waiting.items() if first[0] <= watermark)
        for *_, key in due:
            emitted.add(key)
            del waiting[key]
        yield [(key, number) for _, number, key in due]


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_each_partition_has_its_earliest_row_that_is_not_late(seed, is_on_disk, monkeypatch):
    if is_on_disk:
        monkeypatch.setattr(saved_rows, "LEAST", 3)
        monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    chance, found, number = random.Random(seed), run(is_on_disk=is_on_disk), iter(range(10_000))
    batches = [
        (
            [
                (
                    chance.choice([None, *"abcdefghij"[: seed + 4]]),
                    chance.choice([None, *range(at, at + 30)]),
                    next(number),
                )
                for _ in range(chance.randrange(12))
            ],
            at + 10,
        )
        for at in range(0, 300, 5)
    ]
    for (rows, watermark), wanted in zip(batches, first_rows(batches), strict=True):
        found.give(batch(rows))
        if chance.random() < 0.3:
            found.restore()
            found.kernel.watermark(watermark - 5)
        # Rows of the same time and of several keys have no order once they are restored.
        assert sorted(passed(found, watermark), key=str) == sorted(wanted, key=str)


def test_a_partition_may_be_all_rows():
    found = run(())
    found.give(batch([("a", 5, 1), ("b", 3, 2)]))
    assert passed(found, 9) == [("b", 2)]
    found.restore()
    found.give(batch([("c", 20, 3)]))
    assert passed(found, 30) == []


def test_emitted_keys_expire():
    found = run(ttl_ms=100)
    for at, wanted in ((0, [("a", 1)]), (50, []), (99, []), (150, [("a", 1)])):
        found.now = at
        found.give(batch([("a", at, 1)]))
        found.restore()
        assert passed(found, at) == wanted


def test_a_job_goes_on_from_the_entries_of_a_former_release():
    former = run()
    table, moment = former.backend.table("row"), rows_of(batch([("b", 7, 2)]))[0]
    table.put((0, "a"), ())
    table.put((1, "b"), (7, moment))
    found = run()
    found.start(list(former.backend.full()))
    assert not found.backend.table("row").data
    found.give(batch([("a", 5, 3), ("b", 6, 4), ("b", 8, 5)]))
    found.restore()
    assert passed(found, 9) == [("b", 4)]


def test_no_python_values_are_made():
    few, lots = (work(length) for length in (1_000, 100_000))
    assert lots < 1.3 * few + 300


def work(length):
    found = run()
    types = list(map(arrow_type, TYPES))
    rows = batch_of([(f"key {number % 5_000}", None, number) for number in range(length)], types)
    rows = ColumnBatch(
        (rows.columns[0], batch([(None, ms, 0) for ms in range(length)]).columns[1], rows.columns[2]), length
    )
    found.kernel.process(0, batch([("a", 1, 1)]))
    return calls_made(lambda: (found.kernel.process(0, rows), found.kernel.watermark(length)))
