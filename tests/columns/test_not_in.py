"""NOT IN over streams: what is emitted adds up to the rows that a loop finds, with NULLs and retractions."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.rows import DELETE, INSERT, batch_of, kinds_list, rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.columns.rexes import call, column
from tests.columns.spilling import FixedSpill
from tests.seeds import seeds

INT = parse_type("INT")
TYPES = (INT, INT)


class Run:
    def __init__(self, kind: str, null_aware: bool, ttl_ms: int = 0, by_key: bool = True) -> None:
        self.shown: Counter[tuple[Any, ...]] = Counter()
        self.now = 1000
        condition = None if by_key else call("=", column(0, "INT"), column(0, "INT"))
        self.plan = JoinPlan(kind, ((1,), (1,)), condition, TYPES, TYPES, QuerySettings(), null_aware, True)
        self.start(ttl_ms, [])

    def start(self, ttl_ms: int, state: list[Any], in_memory: int | None = None) -> None:
        self.backend = KeyedStateBackend(None, 8)
        self.backend.key_group = lambda key: key[0]
        for delta in state:
            self.backend.load(delta)
        context = KernelContext(
            *(True, 8, self.backend.table, self.take, lambda watermark: None, lambda: self.now),
            state_ttl_ms=ttl_ms,
            new_spill=None if in_memory is None else partial(FixedSpill, in_memory),
        )
        self.kernel = JoinFactory(self.plan).make()
        self.kernel.open(context)

    def restore(self, ttl_ms: int = 0, in_memory: int | None = None) -> None:
        self.kernel.flush()
        self.start(ttl_ms, list(self.backend.full()), in_memory)

    def take(self, batch: ColumnBatch) -> None:
        for kind, row in zip(kinds_list(batch), rows_of(batch), strict=True):
            self.shown[row] += 1 if kind == INSERT else -1
            assert self.shown[row] >= 0

    def give(self, side: int, kind: int, *rows: tuple[Any, ...]) -> None:
        self.change(side, [(row, kind) for row in rows])

    def change(self, side: int, changes: list[tuple[Any, int]]) -> None:
        batch = batch_of([row for row, _ in changes], [arrow_type(INT)] * 2, [kind for _, kind in changes])
        self.kernel.process(side, batch)


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_a_null_of_a_side_with_nothing_but_its_key_comes_and_goes(kind: str) -> None:
    """Rows whose key is NULL are not in the index by key, also if they are the key alone."""
    run = Run(kind, True)
    run.plan = replace(run.plan, keys=((0,), (0,)), left_types=(INT,), right_types=(INT,))
    run.start(0, [])
    for side, change, value in ((0, INSERT, 1), (1, INSERT, None), (1, DELETE, None)):
        run.kernel.process(side, batch_of([(value,)], [arrow_type(INT)], [change]))
        if change == INSERT and side == 1:
            assert +run.shown == (Counter({(1,): 1}) if kind == "SEMI" else Counter())
    assert +run.shown == (Counter() if kind == "SEMI" else Counter({(1,): 1}))


def expected(kind: str, null_aware: bool, sides: tuple[Counter[Any], Counter[Any]]) -> Counter[Any]:
    left, right = sides
    values = {row[1] for row in right.elements()}

    def is_in(value: int | None) -> bool:
        if null_aware and (None in values or (value is None and values)):
            return True
        return value is not None and value in values

    return Counter(row for row in left.elements() if is_in(row[1]) == (kind == "SEMI"))


@pytest.mark.parametrize(("kind", "null_aware"), [("SEMI", False), ("ANTI", False), ("ANTI", True), ("SEMI", True)])
@pytest.mark.parametrize("seed", seeds(1, 10))
@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("at_once", [1, 5])
def test_semi_joins_of_changes(seed: int, kind: str, null_aware: bool, by_key: bool, at_once: int) -> None:
    chance, run = random.Random(seed), Run(kind, null_aware, by_key=by_key)
    sides: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    for number in range(120 // at_once):
        side = chance.randrange(2)
        changes = []
        for _ in range(at_once):
            present = list(sides[side].elements())
            if present and chance.random() < 0.45:
                row, change = chance.choice(present), DELETE
            else:
                value = chance.choice([None, 1, 2, 3, 4] if chance.random() < 0.3 else [1, 2, 3, 4])
                row, change = (number % 3, value), INSERT
            sides[side][row] += 1 if change == INSERT else -1
            changes.append((row, change))
        if chance.random() < 0.1:
            run.restore(in_memory=chance.choice([None, 0]))
        run.change(side, changes)
        assert +run.shown == +expected(kind, null_aware, sides)


def test_a_null_that_expires_shows_the_left_rows_again() -> None:
    run = Run("ANTI", True, ttl_ms=100)
    run.give(1, INSERT, (1, None))
    run.now = 1090
    run.give(0, INSERT, (1, 7))
    assert +run.shown == Counter()
    run.now = 1120
    run.give(0, INSERT, (2, 8))
    assert +run.shown == Counter({(1, 7): 1, (2, 8): 1})


@pytest.mark.parametrize("seed", seeds(2, 20))
@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_rows_are_counted_again_where_some_may_have_expired(kind: str, seed: int) -> None:
    chance, run, counts_always = random.Random(seed), Run(kind, True, ttl_ms=100), Run(kind, True, ttl_ms=100)
    counts_always.kernel._algorithm._may_have_expired = lambda index, batch: True
    right: list[Any] = []
    for _ in range(60):
        run.now = counts_always.now = run.now + chance.choice([0, 10, 60, 120])
        side = chance.randrange(2)
        changes = [((chance.randrange(99), chance.choice([None, 1, 2])), INSERT) for _ in range(chance.randrange(1, 4))]
        if side and right and chance.random() < 0.4:
            changes = [(right.pop(chance.randrange(len(right))), DELETE), *changes[: chance.randrange(2)]]
        right += [row for row, sign in changes if side and sign == INSERT]
        for one in (run, counts_always):
            one.change(side, changes)
        assert run.shown == counts_always.shown


def test_rows_that_only_come_are_not_counted_with_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    run, counted = Run("ANTI", True, ttl_ms=100), []
    monkeypatch.setattr(run.kernel._algorithm, "_count_right", lambda: counted.append(run.now))
    for number in range(20):
        run.now += 10
        run.give(1, INSERT, (number, number))
    assert counted == []
    run.give(1, DELETE, (19, 19))
    assert counted == [run.now]


def test_a_right_row_looks_at_the_left_rows_of_its_key_alone() -> None:
    calls = []
    for count in (100, 1000):
        run = Run("ANTI", True)
        run.give(0, INSERT, *((number, number) for number in range(count)))
        run.give(1, INSERT, (0, 5000))
        calls.append(calls_made(lambda run=run: run.give(1, INSERT, (0, 5001))))
    assert calls[0] == calls[1]


def test_one_more_row_of_a_key_with_many_rows_changes_nothing_on_the_other_side() -> None:
    calls = []
    for count in (100, 1000):
        run = Run("ANTI", True)
        for side in (0, 1):
            run.give(side, INSERT, *((number, 7) for number in range(count)))
        calls.append([calls_made(lambda run=run, side=side: run.give(side, INSERT, (5000, 7))) for side in (0, 1)])
    assert calls[0] == calls[1]


def test_rows_that_begin_to_expire_have_their_matches() -> None:
    run = Run("SEMI", False)
    run.give(0, INSERT, (1, 7))
    run.give(1, INSERT, (1, 7))
    run.give(1, INSERT, (2, 7))
    run.restore(ttl_ms=100)
    run.give(1, DELETE, (1, 7))
    assert run.shown[1, 7] == 1
    run.give(1, DELETE, (2, 7))
    assert run.shown[1, 7] == 0
