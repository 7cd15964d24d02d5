"""The rows of a sink's key on columns, compared with lists of rows."""

from __future__ import annotations

import random

import pytest

from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel
from firesteel.columns.kernels.rows import row_store, saved_rows
from firesteel.columns.kernels.upsert_materialize import UpsertMaterializeFactory
from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    RowOutput,
    batch_of,
    is_retraction,
    keys_of,
    kinds_list,
    rows_of,
)
from firesteel.columns.runs import room
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.counting import calls_made
from tests.columns.kernel_runs import KernelRun
from tests.seeds import steps

TYPES = tuple(map(parse_type, ("INT", "STRING", "DOUBLE")))
ARROW = [arrow_type(kind) for kind in TYPES]


class Model(Kernel):
    def __init__(self, plan):
        self._plan = plan

    def open(self, context):
        super().open(context)
        self._table = expiring_table(context, "rows")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)

    def process(self, index, batch):
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            rows = list(self._table.data.get(key, ()))
            if is_retraction(kind):
                self._retract(key, rows, row)
            else:
                self._add(key, rows, row)
        self._output.flush()

    def _add(self, key, rows, row):
        self._output.add(UPDATE_AFTER if rows else INSERT, row)
        place = None if self._plan.upsert_key is None else self._place(rows, row)
        if place is None:
            rows.append(row)
        else:
            rows[place] = row
        self._table.put(key, rows)

    def _retract(self, key, rows, row):
        place = self._place(rows, row)
        if place is None:  # It came before its insertion was seen, or its state has expired.
            return
        removed = rows.pop(place)
        if not rows:
            self._table.remove(key)
            self._output.add(DELETE, removed)
            return
        self._table.put(key, rows)
        # Only the last row of a key was visible; those before it go without a trace.
        if place == len(rows):
            self._output.add(UPDATE_AFTER, rows[-1])

    def _place(self, rows, row):
        sought = self._identity(row)
        return next((place for place, known in enumerate(rows) if self._identity(known) == sought), None)

    def _identity(self, row):
        columns = self._plan.upsert_key
        values = row if columns is None else [row[column] for column in columns]
        return tuple(map(freeze, values))


def random_changes(chance, there, length, is_full):
    """Rows that come and go, out of order now and then; without whole rows, a retraction only has the upsert key."""
    rows, kinds = [], []
    for _ in range(length):
        if there and chance.random() < 0.45:
            row = there.pop(chance.randrange(len(there)))
            kinds.append(chance.choice([DELETE, UPDATE_BEFORE]))
            rows.append(row if is_full else (*row[:2], None))
        else:
            values = ([None, 1, 2, 3], [None, "a", "b", "c"], [float("nan"), 1.5, None])
            rows.append(tuple(map(chance.choice, values)))
            kinds.append(DELETE if chance.random() < 0.1 else chance.choice([INSERT, UPDATE_AFTER]))
            if kinds[-1] != DELETE:
                there.append(rows[-1])
    return batch_of(rows, ARROW, kinds)


@pytest.mark.parametrize("ttl_ms", [0, 50])
@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("upsert_key", [None, (1,)])
@pytest.mark.parametrize("keys", [(0,), (0, 2), ()])
def test_lists_and_columns_show_the_same(keys, upsert_key, is_on_disk, ttl_ms, monkeypatch):
    if is_on_disk:
        monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    monkeypatch.setattr(saved_rows, "LEAST", 3)
    monkeypatch.setattr(row_store, "LEAST", 3)
    plan = UpsertMaterializeFactory(keys, upsert_key, TYPES)
    chance, there = random.Random(f"{keys} {upsert_key} {is_on_disk} {ttl_ms}"), []
    columns, lists = KernelRun(plan.make, ttl_ms, is_on_disk), KernelRun(lambda: Model(plan), ttl_ms)
    for _ in range(steps(30, 80)):
        given = random_changes(chance, there, chance.randrange(1, 15), upsert_key is None)
        columns.now = lists.now = columns.now + chance.choice([0, 10, 30])
        assert list(map(repr, columns.give(given))) == list(map(repr, lists.give(given)))
        if chance.random() < 0.3:
            columns.restore()
            lists.restore()


def test_a_job_goes_on_from_the_lists_of_a_former_release():
    plan = UpsertMaterializeFactory((0,), (1,), TYPES)
    former = KernelRun(lambda: Model(plan))
    former.give(batch_of([(1, "a", 1.0), (1, "b", 2.0)], ARROW))
    run = KernelRun(plan.make)
    run.start(list(former.backend.full()))
    assert not run.backend.table("rows").data
    assert run.give(batch_of([(1, "b", None)], ARROW, [DELETE])) == [(UPDATE_AFTER, (1, "a", 1.0))]
    run.restore()
    assert run.give(batch_of([(1, "a", None)], ARROW, [DELETE])) == [(DELETE, (1, "a", 1.0))]


@pytest.mark.parametrize("upsert_key", [None, (1,)])
def test_the_work_does_not_grow_with_the_rows(upsert_key):
    few, lots = (work(length, upsert_key) for length in (1_000, 50_000))
    assert lots < 1.3 * few + 300


def work(length, upsert_key):
    run = KernelRun(UpsertMaterializeFactory((0,), upsert_key, TYPES).make)
    rows = [(number % 500, f"text {number % 700}", 1.0) for number in range(length)]
    run.kernel.process(0, batch_of(rows[:10], ARROW))
    given = batch_of(rows, ARROW, [DELETE if number % 3 == 2 else INSERT for number in range(length)])
    return calls_made(lambda: run.kernel.process(0, given))
