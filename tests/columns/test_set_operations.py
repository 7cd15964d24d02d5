"""INTERSECT and EXCEPT over rows that come and go, compared with counts of rows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from firesteel.columns.kernels import set_operations
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.kernels.set_operations import SetOperationFactory
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of, is_retraction, rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.kernel_runs import KernelRun
from tests.seeds import steps

TYPES = tuple(map(parse_type, ("STRING", "DOUBLE")))
ARROW = [arrow_type(kind) for kind in TYPES]


def times(kind, is_all, left, right):
    left, right = max(left, 0), max(right, 0)
    if kind == "INTERSECT":
        return min(left, right) if is_all else min(left, right, 1)
    return max(0, left - right) if is_all else int(left > 0 and right == 0)


def run_of(kind, is_all, **options):
    return KernelRun(SetOperationFactory(kind, is_all, TYPES).make, **options)


def emitted(run, side, rows, kinds):
    process = run.kernel.process
    run.kernel.process = lambda _, batch: process(side, batch)
    found = run.give(batch_of(rows, ARROW, kinds))
    run.kernel.process = process
    return [(kind, repr(row)) for kind, row in found]


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("is_all", [True, False])
@pytest.mark.parametrize("kind", ["INTERSECT", "EXCEPT"])
def test_each_row_comes_as_often_as_its_counts_say(kind, is_all, is_on_disk, monkeypatch):
    monkeypatch.setattr(saved_rows, "LEAST", 3)
    monkeypatch.setattr(set_operations, "LEAST", 3)
    chance, counts, run = (
        random.Random(f"{kind} {is_all}"),
        (Counter(), Counter()),
        run_of(kind, is_all, is_on_disk=is_on_disk),
    )
    for _ in range(steps(50, 150)):
        side, wanted = chance.randrange(2), []
        rows = [
            (chance.choice([None, "a", "b"]), chance.choice([float("nan"), 0.0, None]))
            for _ in range(chance.randrange(1, 8))
        ]
        kinds = [chance.choice([INSERT, UPDATE_AFTER, DELETE, UPDATE_BEFORE]) for _ in rows]
        for change, row in zip(kinds, map(repr, rows), strict=True):
            before = times(kind, is_all, counts[0][row], counts[1][row])
            counts[side][row] += -1 if is_retraction(change) else 1
            difference = times(kind, is_all, counts[0][row], counts[1][row]) - before
            wanted += [(INSERT if difference > 0 else DELETE, row)] * abs(difference)
        assert emitted(run, side, rows, kinds) == wanted
        if chance.random() < 0.3:
            run.restore()


def test_rows_that_have_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(set_operations, "LEAST", 10)
    run = run_of("EXCEPT", True)
    for number in range(300):
        emitted(run, 0, [(str(number), 1.0)] * 2, [INSERT, DELETE])
        run.kernel.flush()
    assert len(run.kernel._numbers) < 20


def test_counts_expire():
    run = run_of("EXCEPT", False, ttl_ms=100)
    found = []
    for now, side in ((0, 1), (60, 1), (150, 0), (300, 0)):
        run.now = now
        found.append(len(emitted(run, side, [("a", 1.0)], None)))
        run.restore()
    assert found == [0, 0, 0, 1]
    run.now = 1_000
    run.kernel.flush()
    assert run.kernel._left == 0


def test_a_job_goes_on_from_the_entries_of_a_former_release():
    former = run_of("INTERSECT", True)
    former.backend.table("counts").put((0, "a", 1.0), [2, 0, ("a", 1.0)])
    run = run_of("INTERSECT", True)
    run.start(list(former.backend.full()))
    assert emitted(run, 1, [("a", 1.0)] * 3, None) == [(INSERT, "('a', 1.0)")] * 2
    run.restore()
    assert emitted(run, 0, [("a", 1.0)], None) == [(INSERT, "('a', 1.0)")]


def test_the_rows_of_a_bounded_query_have_the_types_of_its_columns():
    run = run_of("INTERSECT", False)
    run.kernel.context = replace(run.kernel.context, is_streaming=False)
    for side in (0, 1):
        run.kernel.process(side, batch_of([("b", 1.0), ("a", None)], ARROW))
    run.kernel.end()
    [found] = run.emitted
    assert [column.type for column in found.columns] == ARROW
    assert rows_of(found) == [("b", 1.0), ("a", None)]
