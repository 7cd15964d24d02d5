"""Top-N of windows: rows on columns against the definition, with restores and dropped rows in between."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from firesteel.columns.kernels.ranks import window_rank
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.kernel_runs import KernelRun
from tests.columns.test_top_rows import KEY, ORDERS, TYPES, plan, random_rows, ranked

WINDOW_TYPES = (*TYPES, parse_type("TIMESTAMP(3)"))
ARROW = [arrow_type(kind) for kind in WINDOW_TYPES]
END = len(TYPES)


def windows(order, function):
    found = plan(order, 2, 4, True, function)
    return replace(found, partition=(KEY, END), types=WINDOW_TYPES, window_end=END)


def batch(rows):
    return batch_of(rows, ARROW)


def timed(chance, rows, now):
    """Rows with the ends of windows, some of which have passed."""
    times = [now + chance.randrange(-3, 4) for _ in rows]
    values = batch_of([(time * 1000,) for time in times], [arrow_type(parse_type("BIGINT"))]).columns[0]
    ends = values.cast(ARROW[END]).to_pylist()
    return [(*row, end) for row, end in zip(rows, ends, strict=True)], times


@pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
@pytest.mark.parametrize("name", ORDERS)
def test_windows_give_their_best_rows_in_order_of_time(name, function, monkeypatch):
    monkeypatch.setattr(window_rank, "_AT_ONCE", 10)
    chance = random.Random(name + function)
    run, waiting = KernelRun(windows(ORDERS[name], function).make), {}
    for now in range(0, 60, 2):
        rows, times = timed(chance, random_rows(chance, chance.randrange(1, 25)), now)
        assert run.give(batch(rows)) == []
        for row, time in zip(rows_of(batch(rows)), times, strict=True):
            if time - 1 > now - 2 - 1 or not now:
                waiting.setdefault((time, row[KEY]), []).append(row)
        if chance.random() < 0.3:
            snapshot = run.kernel.snapshot()
            run.restore()
            run.kernel.restore(snapshot)
        run.kernel.watermark(now - 1)
        found = [row for part in run.emitted for row in rows_of(part)]
        run.emitted.clear()
        due = {key: waiting.pop(key) for key in list(waiting) if key[0] <= now}
        assert [row[END] for row in found] == sorted(row[END] for row in found)
        wanted = [row for rows in due.values() for row in ranked(ORDERS[name], function, rows)]
        assert by_partition(found) == by_partition(wanted)
    assert waiting


def by_partition(rows):
    found = {}
    for row in rows:
        found.setdefault((row[END], row[KEY]), []).append(row)
    return found


def test_rows_behind_the_last_rank_do_not_stay(monkeypatch):
    monkeypatch.setattr(window_rank, "_AT_ONCE", 10)
    run = KernelRun(windows(ORDERS["numbers"], "ROW_NUMBER").make)
    chance = random.Random(0)
    for _ in range(50):
        rows, _ = timed(chance, random_rows(chance, 20), 10)
        run.give(batch(rows))
        run.kernel.flush()
    assert run.kernel._waiting.count < 250
    assert sum(rows.length for rows in run.backend.table("waiting rows").data.values()) < 11_000


def test_the_rows_of_former_releases_are_taken_over():
    run = KernelRun(windows(ORDERS["numbers"], "ROW_NUMBER").make)
    rows, _ = timed(random.Random(1), random_rows(random.Random(1), 3, "a"), 5)
    end = rows[0][END]
    rows = [("a", number, *row[2:END], end) for number, row in enumerate(rows)]
    run.backend.table("rows").put((0, "a", end), [end, rows])
    run.restore()
    run.kernel.watermark(20)
    assert [row[1] for part in run.emitted for row in rows_of(part)] == [1, 2]
    assert not run.backend.table("rows").data
