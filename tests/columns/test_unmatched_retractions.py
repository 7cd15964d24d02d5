"""Retractions of rows that were never there: dropped while the group has no rows, as in Flink's `GroupAggFunction`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.columns.type_text import parse_type
from firesteel.table.udf import TableAggregateFunction, udtaf
from tests.columns.test_vectorised import BIG, TYPES, Run, call, grouping, row, with_kinds

CHANGES = [
    (row(BIG, 1), DELETE),  # dropped
    (row(BIG, 2), INSERT),
    (row(BIG, 2), DELETE),  # the group is gone
    (row(BIG, 3), UPDATE_BEFORE),  # dropped
    (row(BIG, 4), INSERT),
    (row(BIG, 5), INSERT),
    (row(BIG, 6), UPDATE_BEFORE),  # another row than those that were added
]


@pytest.mark.parametrize("at_once", [1, 3, len(CHANGES)])
@pytest.mark.parametrize("by_rows", [True, False])
def test_groups(by_rows: bool, at_once: int) -> None:
    run = Run(grouping((), [call("SUM", BIG), call("$SUM0", BIG)], True), by_rows=by_rows)
    for start in range(0, len(CHANGES), at_once):
        run.kernel.process(0, with_kinds(CHANGES[start : start + at_once]))
    assert run.take_rows() == [
        (INSERT, "2", "2"),
        (DELETE, "2", "2"),
        (INSERT, "4", "4"),
        (UPDATE_BEFORE, "4", "4"),
        (UPDATE_AFTER, "9", "9"),
        (UPDATE_BEFORE, "9", "9"),
        (UPDATE_AFTER, "3", "3"),
    ]


class Total(TableAggregateFunction[int, list[int]]):
    """Emits the sum."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: int) -> None:
        accumulator[0] += args[0]

    def retract(self, accumulator: list[int], *args: int) -> None:
        accumulator[0] -= args[0]

    def emit_value(self, accumulator: list[int]) -> Iterator[int]:
        yield accumulator[0]


def test_table_aggregates() -> None:
    big = parse_type("BIGINT")
    plan = GroupAggregateFactory(
        (),
        (CallPlan(udtaf(Total(), result_type="ROW<total BIGINT>", accumulator_type="ARRAY<BIGINT>"), (BIG,), big),),
        tuple(TYPES),
        (big,),
        True,
        flat=True,
    )
    run = Run(plan)
    run.kernel.process(0, with_kinds(CHANGES))
    assert run.take_rows() == [
        (INSERT, "2"),
        (DELETE, "2"),
        (INSERT, "4"),
        (DELETE, "4"),
        (INSERT, "9"),
        (DELETE, "9"),
        (INSERT, "3"),
    ]
