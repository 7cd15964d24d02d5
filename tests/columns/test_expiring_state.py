"""State of queries with a time to live: expired state is ignored and removed."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.groups import distinct_values
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.join_state import CHANGES
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.kernels.ranks.deduplicate import DeduplicateFactory
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of, kinds_list, rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.spilling import FixedSpill
from tests.seeds import seeds, steps

TTL_MS = 100
TYPES = (parse_type("STRING"), parse_type("BIGINT"))
ARROW = [arrow_type(kind) for kind in TYPES]


class Run:
    """A kernel with a manual clock."""

    def __init__(
        self,
        factory: Any,
        ttl_ms: int = TTL_MS,
        backend: KeyedStateBackend | None = None,
        in_memory: int | None = None,
        now_ms: int = 1000,
    ) -> None:
        self.now_ms = now_ms
        self.backend = backend or KeyedStateBackend(None, 8)
        self.changes: list[tuple[int, Any]] = []
        self.factory, self.kernel = factory, factory.make()
        context = KernelContext(
            *(True, 8, self.backend.table, self._take, lambda watermark: None, lambda: self.now_ms),
            state_ttl_ms=ttl_ms,
            new_spill=None if in_memory is None else partial(FixedSpill, in_memory),
        )
        self.kernel.open(context)

    def _take(self, batch: Any) -> None:
        self.changes += zip(kinds_list(batch), rows_of(batch), strict=True)

    def give(self, *rows: Any, after_ms: int = 0, index: int = 0, kinds: Any = None) -> list[tuple[int, Any]]:
        """Return the changes that these rows make `after_ms` later."""
        self.now_ms += after_ms
        self.changes = []
        self.kernel.process(index, batch_of(rows, ARROW, kinds))
        return self.changes

    def entries(self) -> int:
        return sum(len(table) for table in self.backend.tables.values())


def sums(ttl_ms: int | None = None) -> GroupAggregateFactory:
    result = find_aggregate("SUM").resolve([TYPES[1]], True, False)
    calls = (CallPlan("SUM", (1,), result),)
    return GroupAggregateFactory((0,), calls, TYPES, (TYPES[0], result), False, state_ttl_ms=ttl_ms)


@pytest.mark.parametrize(("by_rows", "in_memory"), [(False, None), (False, 0), (False, 500), (True, None)])
def test_a_group_without_writes_expires_after_the_time_to_live(by_rows: bool, in_memory: int | None) -> None:
    run = Run(sums(), in_memory=in_memory)
    if by_rows:
        run.kernel.go_by_rows()
    assert run.give(("a", 1)) == [(INSERT, ("a", 1))]
    assert run.give(("a", 2), after_ms=TTL_MS - 1) == [(UPDATE_BEFORE, ("a", 1)), (UPDATE_AFTER, ("a", 3))]
    assert run.give(("a", 4), after_ms=TTL_MS - 1) == [(UPDATE_BEFORE, ("a", 3)), (UPDATE_AFTER, ("a", 7))]
    assert run.give(("a", 8), after_ms=TTL_MS) == [(INSERT, ("a", 8))]


@pytest.mark.parametrize("mini_batch_rows", [0, 2])
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("keeps_calls", [False, True])
def test_a_result_that_stays_the_same_is_emitted_anew(keeps_calls: bool, by_rows: bool, mini_batch_rows: int) -> None:
    """Else what a following join keeps of it would expire before the group, which rows write to."""
    plan = replace(sums(), mini_batch_rows=mini_batch_rows)
    plan = plan if keeps_calls else replace(plan, calls=(), output_types=plan.output_types[:1])
    row = ("a", 1) if keeps_calls else ("a",)
    for ttl_ms in (TTL_MS, 0):
        run = Run(plan, ttl_ms)
        if by_rows:
            run.kernel.go_by_rows()
        run.give(("a", 1))
        assert run.give(("a", 0)) == ([(UPDATE_BEFORE, row), (UPDATE_AFTER, row)] if ttl_ms else [])


def test_groups_live_for_ever_without_a_time_to_live() -> None:
    run = Run(sums(), ttl_ms=0)
    run.give(("a", 1))
    assert run.give(("a", 2), after_ms=10**9)[-1] == (UPDATE_AFTER, ("a", 3))


@pytest.mark.parametrize("by_rows", [False, True])
def test_the_time_to_live_of_a_hint_replaces_that_of_the_job(by_rows: bool) -> None:
    longer, never, without_job = Run(sums(3 * TTL_MS)), Run(sums(0)), Run(sums(TTL_MS), ttl_ms=0)
    for run in (longer, never, without_job):
        if by_rows:
            run.kernel.go_by_rows()
        run.give(("a", 1))
    assert longer.give(("a", 2), after_ms=2 * TTL_MS)[-1] == (UPDATE_AFTER, ("a", 3))
    assert never.give(("a", 2), after_ms=10**9)[-1] == (UPDATE_AFTER, ("a", 3))
    assert without_job.give(("a", 2), after_ms=TTL_MS) == [(INSERT, ("a", 2))]


def versions(run: Run, is_full: bool) -> list[bytes]:
    run.kernel.flush()
    return [encoded_entries(*delta) for delta in (run.backend.full() if is_full else run.backend.delta())]


@pytest.mark.parametrize("in_memory", [None, 0])
@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("ttl_ms", [TTL_MS, 3 * TTL_MS, 0])
def test_groups_are_restored_with_the_times_of_their_writes(in_memory: int | None, is_full: bool, ttl_ms: int) -> None:
    """A longer time to live, or none, counts for all groups."""
    before = Run(sums(), in_memory=in_memory)
    before.give(("a", 1), ("b", 1))
    before.give(("b", 2), after_ms=60)
    backend = KeyedStateBackend(None, 8)
    for part in versions(before, is_full):
        backend.load(program_entries(part))
    run = Run(sums(), ttl_ms, backend, in_memory)
    run.now_ms = before.now_ms
    (_, a), (_, b) = (run.give((key, 4), after_ms=after)[-1] for key, after in (("a", 60), ("b", 0)))
    assert (a, b) == (("a", 4 if ttl_ms == TTL_MS else 5), ("b", 7))


@pytest.mark.parametrize("in_memory", [None, 0])
def test_a_group_keeps_its_time_where_it_goes_to_the_table_and_back(in_memory: int | None) -> None:
    run = Run(sums(), in_memory=in_memory)
    run.give(("a", 1))
    run.kernel._vectors.give_back(batch_of([("a", 0), ("b", 0)], ARROW))
    assert run.give(("a", 2), after_ms=TTL_MS - 1)[-1] == (UPDATE_AFTER, ("a", 3))
    run.kernel._vectors.give_back(batch_of([("a", 0)], ARROW))
    assert run.give(("a", 4), after_ms=TTL_MS) == [(INSERT, ("a", 4))]


@pytest.mark.parametrize("in_memory", [None, 0])
def test_keys_that_never_come_back_are_removed(in_memory: int | None) -> None:
    run = Run(sums(), in_memory=in_memory)
    for number in range(1000):
        run.give((f"key {number}", 1), after_ms=10)
    assert run.entries() < 2 * 40  # a value and a time for each of the last ten keys, and for those not visited yet


def distinct_sums(retracts: bool) -> GroupAggregateFactory:
    results = [find_aggregate(name).resolve([TYPES[1]], True, False) for name in ("COUNT", "SUM")]
    calls = (CallPlan("COUNT", (1,), results[0], distinct=True), CallPlan("SUM", (1,), results[1]))
    return GroupAggregateFactory((0,), calls, TYPES, (TYPES[0], *results), retracts)


def extremes() -> GroupAggregateFactory:
    """Calls whose values are rows of their own, and one that has none of its own."""
    names = ("MIN", "COUNT", "MAX", "FIRST_VALUE", "LAST_VALUE")
    results = [find_aggregate(name).resolve([TYPES[1]], True, False) for name in names]
    calls = tuple(CallPlan(name, (1,), result) for name, result in zip(names, results, strict=True))
    return GroupAggregateFactory((0,), calls, TYPES, (TYPES[0], *results), True)


@pytest.mark.parametrize("plan", [distinct_sums(False), distinct_sums(True), extremes()])
@pytest.mark.parametrize("ttl_ms", [0, TTL_MS])
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_values_expire_with_their_group(
    seed: int, ttl_ms: int, plan: GroupAggregateFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct_values, "_LEAST", 3)
    monkeypatch.setattr(saved_rows, "LEAST", 3)
    chance, retracts = random.Random(seed), plan.retracts
    run, by_rows = Run(plan, ttl_ms), Run(plan, ttl_ms)
    by_rows.kernel.go_by_rows()
    there: list[Any] = []
    for _ in range(steps(30, 60)):
        after_ms = chance.choice([0, 0, 30, 60, TTL_MS])
        if ttl_ms and after_ms:  # A group may have expired, whose rows can't be taken back any more.
            there.clear()
        rows, kinds = [], []
        for _ in range(chance.randrange(1, 6)):
            goes = retracts and there and chance.random() < 0.3
            rows.append(there.pop() if goes else (chance.choice("abc"), chance.choice([None, 1, 2, 3])))
            kinds.append(DELETE if goes else INSERT)
            there += [] if goes else rows[-1:]
        if chance.random() < 0.2:
            run = restored(run, ttl_ms, chance.choice([None, 0]))
        assert run.give(*rows, after_ms=after_ms, kinds=kinds) == by_rows.give(*rows, after_ms=after_ms, kinds=kinds)
        assert run.kernel._vectors is not None
        run.kernel.flush()


@pytest.mark.parametrize("in_memory", [None, 0])
def test_distinct_values_of_groups_that_never_come_back_are_removed(in_memory: int | None) -> None:
    run = Run(distinct_sums(False), in_memory=in_memory)
    for number in range(300):
        run.give((f"key {number}", number), after_ms=10)
        run.kernel.flush()
    (values,) = run.kernel._distinct._values
    assert len(values._values) < 40
    assert sum(rows.length for rows in run.backend.table("distinct 0").data.values()) < 40


def test_ranked_values_of_groups_that_never_come_back_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_rows, "LEAST", 3)
    run = Run(extremes())
    for number in range(300):
        run.give((f"key {number}", number), after_ms=10)
        run.kernel.flush()
    assert sum(rows.length for rows in run.backend.table("values 0").data.values()) < 40


def restored(run: Run, ttl_ms: int, in_memory: int | None) -> Run:
    backend = KeyedStateBackend(None, 8)
    for part in versions(run, True):
        backend.load(program_entries(part))
    return Run(run.factory, ttl_ms, backend, in_memory, run.now_ms)


def join(kind: str, ttls_ms: tuple[int | None, int | None] = (None, None)) -> JoinFactory:
    return JoinFactory(
        JoinPlan(kind, ((0,), (0,)), None, TYPES, TYPES, QuerySettings(), has_updates=False, state_ttl_ms=ttls_ms)
    )


def test_rows_of_a_join_expire_one_by_one() -> None:
    run = Run(join("INNER"))
    run.give(("a", 1))
    run.give(("a", 2), after_ms=60)
    assert run.give(("a", 7), after_ms=60, index=1) == [(INSERT, ("a", 2, "a", 7))]
    assert run.give(("a", 8), after_ms=60, index=1) == []
    assert run.give(("a", 3), index=0) == [(INSERT, ("a", 3, "a", 7)), (INSERT, ("a", 3, "a", 8))]


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("job_ms", [0, 10 * TTL_MS])
def test_each_input_of_a_join_has_a_time_to_live_of_its_own(kind: str, index: int, job_ms: int) -> None:
    run = Run(join(kind, (TTL_MS, None) if index == 0 else (None, TTL_MS)), job_ms)
    run.give(("a", 1), index=index)
    run.give(("b", 2), index=1 - index)
    found = run.give(("a", 3), after_ms=TTL_MS, index=1 - index)
    assert [row for _, row in found if None not in row] == []
    found = run.give(("b", 4), index=index)
    assert [row for _, row in found if None not in row] == [("b", 4, "b", 2) if index == 0 else ("b", 2, "b", 4)]


def test_an_input_that_never_expires_keeps_its_rows() -> None:
    run = Run(join("INNER", (0, None)))
    run.give(("a", 1))
    run.give(("a", 2), index=1)
    assert run.give(("a", 3), after_ms=10**9, index=1) == [(INSERT, ("a", 1, "a", 3))]
    assert run.give(("a", 4), after_ms=TTL_MS) == []


def test_rows_restored_without_a_time_start_to_age_when_they_are_read() -> None:
    before = Run(join("LEFT"), ttl_ms=0)
    before.give(("a", 1))
    before.kernel.flush()
    run = Run(join("LEFT"), backend=before.backend)
    assert run.give(("a", 7), index=1)[-1] == (INSERT, ("a", 1, "a", 7))
    assert run.give(("a", 8), after_ms=TTL_MS, index=1) == []


def test_a_row_without_a_partner_that_expired_is_not_taken_back() -> None:
    run = Run(join("LEFT"))
    assert run.give(("a", 1)) == [(INSERT, ("a", 1, None, None))]
    assert run.give(("a", 7), after_ms=TTL_MS, index=1) == []
    run.give(("a", 2))
    assert run.give(("a", 3), after_ms=TTL_MS, index=0) == [(INSERT, ("a", 3, None, None))]


def test_unmatched_rows_of_joins_expire() -> None:
    run = Run(join("SEMI"))
    for number in range(1000):
        run.give((f"key {number}", 1), after_ms=10, index=number % 2)
        run.kernel.flush()
    logs = (run.backend.table(name).data.values() for name in CHANGES)
    assert sum(rows.length for log in logs for rows in log) < 80


def test_top_n_and_deduplication_forget() -> None:
    rank = Run(RankFactory("ROW_NUMBER", (0,), ((1, False, False),), 1, 1, False, TYPES, RankStrategy.APPEND_FAST))
    assert rank.give(("a", 5)) == [(INSERT, ("a", 5))]
    assert rank.give(("a", 9), after_ms=TTL_MS - 1) == []
    assert rank.give(("a", 7), after_ms=2 * TTL_MS) == [(INSERT, ("a", 7))]
    first = Run(DeduplicateFactory((0,), False, None, TYPES))
    assert first.give(("a", 1)) == [(INSERT, ("a", 1))]
    assert first.give(("a", 2), after_ms=TTL_MS - 1) == []
    assert first.give(("a", 3), after_ms=1) == [(INSERT, ("a", 3))]
    assert DELETE not in {kind for kind, _ in first.changes}


def test_equal_rows_of_a_top_n_go_in_the_order_of_their_arrival_after_a_restore() -> None:
    plan = RankFactory("ROW_NUMBER", (), ((1, False, False),), 1, 1, False, TYPES, RankStrategy.RETRACT)
    run = Run(plan, 0)
    run.give(("x", 1), ("y", 1), ("z", 2))
    run.kernel.flush()
    assert run.give(("x", 1), ("x", 1), kinds=[INSERT, DELETE]) == [(DELETE, ("x", 1)), (INSERT, ("y", 1))]
    run.kernel.flush()
    run = restored(run, 0, None)
    assert run.give(("y", 1), kinds=[DELETE]) == [(DELETE, ("y", 1)), (INSERT, ("x", 1))]
