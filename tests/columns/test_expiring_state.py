"""State of queries with a time to live: expired state is ignored and removed."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.aggregate_set import CallPlan
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.joins import JoinFactory
from firesteel.columns.kernels.rank import DeduplicateFactory, RankFactory
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of, kinds_list, rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state_backend import KeyedStateBackend

TTL_MS = 100
TYPES = (parse_type("STRING"), parse_type("BIGINT"))
ARROW = [arrow_type(kind) for kind in TYPES]


class Run:
    """A kernel with a manual clock."""

    def __init__(self, factory: Any, ttl_ms: int = TTL_MS) -> None:
        self.now_ms = 1000
        self.backend = KeyedStateBackend(None, 8)
        self.changes: list[tuple[int, Any]] = []
        self.kernel = factory.make()
        context = KernelContext(
            True, 8, self.backend.table, self._take, lambda watermark: None, lambda: self.now_ms, state_ttl_ms=ttl_ms
        )
        self.kernel.open(context)

    def _take(self, batch: Any) -> None:
        self.changes += zip(kinds_list(batch), rows_of(batch), strict=True)

    def give(self, *rows: tuple[str, int], after_ms: int = 0, index: int = 0) -> list[tuple[int, Any]]:
        """Return the changes that these rows make `after_ms` later."""
        self.now_ms += after_ms
        self.changes = []
        self.kernel.process(index, batch_of(rows, ARROW))
        return self.changes

    def entries(self) -> int:
        return sum(len(table) for table in self.backend.tables.values())


def sums() -> GroupAggregateFactory:
    result = find_aggregate("SUM").resolve([TYPES[1]], True, False)
    return GroupAggregateFactory((0,), (CallPlan("SUM", (1,), result),), TYPES, (TYPES[0], result), False)


@pytest.mark.parametrize("by_rows", [False, True])
def test_a_group_without_writes_expires_after_the_time_to_live(by_rows: bool) -> None:
    run = Run(sums())
    if by_rows:
        run.kernel.go_by_rows()
    assert run.give(("a", 1)) == [(INSERT, ("a", 1))]
    assert run.give(("a", 2), after_ms=TTL_MS - 1) == [(UPDATE_BEFORE, ("a", 1)), (UPDATE_AFTER, ("a", 3))]
    assert run.give(("a", 4), after_ms=TTL_MS - 1) == [(UPDATE_BEFORE, ("a", 3)), (UPDATE_AFTER, ("a", 7))]
    assert run.give(("a", 8), after_ms=TTL_MS) == [(INSERT, ("a", 8))]


def test_groups_live_for_ever_without_a_time_to_live() -> None:
    run = Run(sums(), ttl_ms=0)
    run.give(("a", 1))
    assert run.give(("a", 2), after_ms=10**9)[-1] == (UPDATE_AFTER, ("a", 3))


def test_keys_that_never_come_back_are_removed() -> None:
    run = Run(sums())
    for number in range(1000):
        run.give((f"key {number}", 1), after_ms=10)
    assert run.entries() < 2 * 40  # a value and a time for each of the last ten keys, and for those not visited yet


def join(kind: str) -> JoinFactory:
    return JoinFactory(JoinPlan(kind, ((0,), (0,)), None, TYPES, TYPES, QuerySettings(), has_updates=False))


def test_rows_of_a_join_expire_one_by_one() -> None:
    run = Run(join("INNER"))
    run.give(("a", 1))
    run.give(("a", 2), after_ms=60)
    assert run.give(("a", 7), after_ms=60, index=1) == [(INSERT, ("a", 2, "a", 7))]
    assert run.give(("a", 8), after_ms=60, index=1) == []
    assert run.give(("a", 3), index=0) == [(INSERT, ("a", 3, "a", 7)), (INSERT, ("a", 3, "a", 8))]


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
    assert run.entries() < 80


def test_top_n_and_deduplication_forget() -> None:
    rank = Run(RankFactory("ROW_NUMBER", (0,), ((1, False, False),), 1, 1, False, TYPES, False))
    assert rank.give(("a", 5)) == [(INSERT, ("a", 5))]
    assert rank.give(("a", 9), after_ms=TTL_MS - 1) == []
    assert rank.give(("a", 7), after_ms=2 * TTL_MS) == [(INSERT, ("a", 7))]
    first = Run(DeduplicateFactory((0,), False, None, TYPES))
    assert first.give(("a", 1)) == [(INSERT, ("a", 1))]
    assert first.give(("a", 2), after_ms=TTL_MS - 1) == []
    assert first.give(("a", 3), after_ms=1) == [(INSERT, ("a", 3))]
    assert DELETE not in {kind for kind, _ in first.changes}
