"""OVER of bounded tables on arrays gives the same results as row by row, in memory and from files."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pytest

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.over import whole_calls
from firesteel.columns.kernels.over.bounded_over import BoundedOver
from firesteel.columns.kernels.over.over import Over, OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.seeds import seeds

pytestmark = pytest.mark.libraries

TEXTS = (
    "STRING",
    "BIGINT",
    "DOUBLE",
    "TIMESTAMP(3)",
    "DECIMAL(8, 2)",
    "DECIMAL(30, 2)",
    "BOOLEAN",
    "DATE",
    "INT NOT NULL",
)
TYPES = tuple(map(parse_type, TEXTS))
TEXT, NUMBER, FLOAT, TIME, NARROW, WIDE, FLAG, DATE, TILES = range(len(TYPES))
BIGINT, DOUBLE = TYPES[NUMBER], TYPES[FLOAT]


def aggregate(name, column, condition=None):
    kind = find_aggregate(name).resolve([TYPES[column]], False, condition is not None)
    return CallPlan(name, (column,), kind, False, condition)


RANKINGS = [CallPlan(name, (), BIGINT) for name in ("ROW_NUMBER", "RANK", "DENSE_RANK")]
SHARES = [*(CallPlan(name, (), DOUBLE) for name in ("PERCENT_RANK", "CUME_DIST")), CallPlan("NTILE", (TILES,), BIGINT)]
NAVIGATION = [
    CallPlan("LAG", (TEXT,), TYPES[TEXT]),
    CallPlan("LEAD", (NUMBER, TILES, NUMBER), BIGINT),
    CallPlan("LAG", (WIDE, TILES), TYPES[WIDE]),
]
AGGREGATES = [
    CallPlan("COUNT", (), BIGINT),
    aggregate("COUNT", TEXT, FLAG),
    *(aggregate(name, column) for name in ("SUM", "AVG", "MIN", "MAX") for column in (NUMBER, FLOAT, NARROW, WIDE)),
    *(aggregate(name, column) for name in ("MIN", "MAX") for column in (TEXT, DATE, TIME, FLAG)),
    *(aggregate(name, column) for name in ("FIRST_VALUE", "LAST_VALUE") for column in (TEXT, NUMBER, DATE)),
    aggregate("MAX", TEXT, FLAG),
    aggregate("LAST_VALUE", FLOAT, FLAG),
]
WHOLE = FramePlan(False, None, 0)
FRAMES = [
    FramePlan(is_rows, low, high)
    for is_rows in (True, False)
    for low, high in ((None, 0), (None, None), (0, None), (-2, 0), (-1, 2), (1, 2), (-3, -2), (0, 0), (None, 1))
]


def rows_from(choose, count):
    def or_null(value):
        return choose.choice([None, value, value, value])

    return [
        (
            or_null(choose.choice("abc")),
            or_null(choose.randrange(-4, 5)),
            or_null(choose.randrange(-6, 7) / 2),
            or_null(datetime.datetime(2024, 1, 1, 0, 0, 0, choose.randrange(6) * 1000)),
            or_null(Decimal(choose.randrange(-99, 99)).scaleb(-2)),
            or_null(Decimal(choose.randrange(-99, 99)).scaleb(-2)),
            or_null(choose.random() < 0.5),
            or_null(datetime.date(2024, 1, 1 + choose.randrange(5))),
            choose.randrange(1, 4),
        )
        for _ in range(count)
    ]


def plan_of(partition, order, frame, calls):
    return OverFactory(partition, order, frame, tuple(calls), TYPES, (*TYPES, *(call.type for call in calls)), None)


def results(kernel, rows, memory="128 mb"):
    emitted = []
    backend = KeyedStateBackend(None, 128)
    configuration = {"execution.sorted-inputs.memory": memory}
    kernel.open(KernelContext(False, 128, backend.table, emitted.append, None, lambda: 0, configuration))
    for start in range(0, len(rows), 7):
        kernel.process(0, batch_of(rows[start : start + 7], [arrow_type(kind) for kind in TYPES]))
    kernel.end()
    kernel.close()
    return [tuple(map(plain, row)) for batch in emitted for row in rows_of(batch)]


def plain(value):
    return round(value, 9) + 0.0 if isinstance(value, float) else value


@pytest.mark.parametrize("seed", seeds(40, 150))
def test_results_are_those_of_rows(seed, monkeypatch):
    choose = random.Random(seed)
    frame = choose.choice(FRAMES)
    is_by_value = not frame.is_rows and (frame.low not in (None, 0) or frame.high not in (None, 0))
    columns = [NUMBER, FLOAT, TIME] if is_by_value else [*range(len(TYPES))]
    order = tuple((at, *choose.choices([True, False], k=2)) for at in choose.sample(columns, 1 if is_by_value else 2))
    calls = choose.choice([AGGREGATES, choose.sample(AGGREGATES, 2) + NAVIGATION, NAVIGATION, RANKINGS + SHARES])
    if frame in FRAMES[1:] and calls is not AGGREGATES:
        frame = WHOLE
    plan = plan_of(choose.choice([(), (TEXT,), (TEXT, NUMBER)]), order, frame, calls)
    rows = rows_from(choose, choose.choice([1, 5, 60]))
    expected = results(Over(plan), rows)
    monkeypatch.setattr(Over, "process", None)  # none of the rows goes this way
    assert results(plan.make(), rows) == expected
    spilled = results(plan.make(), rows, "1 kb")
    assert sorted(spilled, key=repr) == sorted(expected, key=repr)


def test_the_choice_is_by_the_calls():
    distinct = CallPlan("COUNT", (NUMBER,), BIGINT, True)
    for calls, kind in ((AGGREGATES, BoundedOver), ([distinct], Over), ([aggregate("LISTAGG", TEXT)], Over)):
        kernel = plan_of((TEXT,), ((NUMBER, False, True),), WHOLE, calls).make()
        results(kernel, [])
        assert type(kernel._algorithm) is kind


def test_values_that_have_no_distances_on_arrays_go_row_by_row():
    nan = [(None, None, float("nan"), None, None, None, None, None, 1), (None, 1, 1.0, None, None, None, None, None, 1)]
    plan = plan_of((), ((FLOAT, False, True),), FramePlan(False, -1, 0), [AGGREGATES[0]])
    assert [row[-1] for row in results(plan.make(), nan)] == [row[-1] for row in results(Over(plan), nan)]


def test_the_work_does_not_grow_with_the_rows():
    plan = plan_of((TEXT,), ((NUMBER, False, True),), FramePlan(True, -2, 0), AGGREGATES[:10])

    def work(count):
        batch = batch_of(rows_from(random.Random(1), count), [arrow_type(kind) for kind in TYPES])
        kernel = plan.make()
        kernel.open(KernelContext(False, 128, None, lambda batch: None, None, lambda: 0, {}))
        kernel.process(0, batch)
        return calls_made(kernel.end)

    work(100)
    assert work(4000) < 2 * work(200)


def test_an_integer_at_the_edge_of_its_type_has_a_frame():
    edge = 2**63 - 1
    rows = [(None, number, None, None, None, None, None, None, 1) for number in (edge, edge - 1, -edge - 1, 3 - edge)]
    plan = plan_of((), ((NUMBER, False, True),), FramePlan(False, -2, 4), [AGGREGATES[0]])
    assert [row[-1] for row in results(plan.make(), rows)] == [2, 1, 2, 2]


def test_the_module_names_all_functions_of_windows():
    assert {call.function for call in RANKINGS + SHARES} == whole_calls.RANKINGS
