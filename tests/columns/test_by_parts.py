"""Kernels of bounded inputs give the same results whether their rows are in memory or, by parts, in files."""

from __future__ import annotations

import importlib
import pkgutil
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from firesteel.columns import kernels
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import BigIntType, IntType, TimestampKind, TimestampType, VarCharType
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.by_parts import ByPartsFactory
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.joins.interval_joins import IntervalJoinFactory
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.temporal_joins import TemporalJoinFactory
from firesteel.columns.kernels.joins.window_joins import WindowJoinFactory
from firesteel.columns.kernels.over.over import OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.kernels.ranks import bounded_ranks
from firesteel.columns.kernels.ranks.bounded_ranks import BoundedRanksFactory, LocalRanksFactory
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.set_operations import SetOperationFactory
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sliced_windows import SlicedWindowFactory
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.table.planner.translate.batch_memory import _BY_PARTS, NEEDS_NO_PARTS, bounded
from tests.seeds import seeds

pytestmark = pytest.mark.libraries

TEXT, INT, BIGINT = VarCharType(10), IntType(), BigIntType()
TIME = TimestampType(3, kind=TimestampKind.ROWTIME)
TYPES = (TEXT, INT, TIME)
COUNT, SUM = CallPlan("COUNT", (), BIGINT), CallPlan("SUM", (1,), INT)
JOIN = JoinPlan("LEFT", ((0,), (0,)), None, TYPES, TYPES, QuerySettings())
ORDER = ((2, False, True), (1, False, True))
WINDOW = WindowPlan("SESSION", 2, 5, partition=(0,))

RANKS = RankFactory(
    "ROW_NUMBER", (0,), ((1, True, False), (2, True, False)), 1, 2, True, TYPES, RankStrategy.APPEND_FAST
)

FACTORIES = {
    "groups": GroupAggregateFactory((0,), (COUNT, CallPlan("MAX", (0,), TEXT)), TYPES, (TEXT, BIGINT, TEXT), False),
    "distinct": GroupAggregateFactory(
        (0,), (replace(COUNT, arguments=(1,), distinct=True),), TYPES, (TEXT, BIGINT), False
    ),
    "lists": GroupAggregateFactory((0,), (CallPlan("LISTAGG", (0,), TEXT),), TYPES, (TEXT, TEXT), False),
    "windows": WindowAggregateFactory(
        (0,), (COUNT,), WindowPlan("HOP", 2, 20, 10), None, ("start",), TYPES, (TEXT, BIGINT, TIME)
    ),
    "session table": WindowTableFactory(WINDOW, TYPES, TIME),
    "over": OverFactory((0,), ORDER, FramePlan(True, -1, 0), (SUM,), TYPES, (*TYPES, INT), None),
    "over, distinct": OverFactory(
        (0,), ORDER, FramePlan(True, -1, 0), (replace(SUM, distinct=True),), TYPES, (*TYPES, INT), None
    ),
    "top": BoundedRanksFactory(RANKS),
    "interval join": IntervalJoinFactory(JOIN, 2, 2, -5, 5, True),
    "temporal join": TemporalJoinFactory(JOIN, 2, 2),
    "window join": WindowJoinFactory(JOIN, (2, 2)),
    "intersection": SetOperationFactory("INTERSECT", True, TYPES),
}


def batches(seed, count=60):
    choose = random.Random(seed)
    for number in range(count):
        rows = [
            (choose.choice([None, *"abcdefgh"]), choose.randrange(9), number + choose.randrange(4)) for _ in range(5)
        ]
        texts, numbers, times = zip(*rows, strict=True)
        stamps = pa.array([time * 1000 for time in times], pa.int64()).cast(pa.timestamp("us"))
        yield choose.randrange(2), ColumnBatch((pa.array(texts), pa.array(numbers, pa.int32()), stamps), len(rows))


def results(factory, given, memory):
    emitted = []
    configuration = {"execution.sorted-inputs.memory": memory}
    kernel = factory.make()
    kernel.open(KernelContext(False, 128, None, emitted.append, None, lambda: 0, configuration))
    inputs = len(getattr(factory, "keys", ((),)))
    for index, batch in given:
        kernel.process(index % inputs, batch)
    kernel.end()
    kernel.close()
    return [row for batch in emitted for row in rows_of(batch)]


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_results_do_not_depend_on_the_memory(name, seed):
    factory = FACTORIES[name]
    is_join = "oin" in type(factory).__name__ or isinstance(factory, SetOperationFactory)
    keys = ((0, 1, 2),) if isinstance(factory, SetOperationFactory) else ((0,),)
    plan = bounded(factory, keys * 2 if is_join else keys)
    assert isinstance(plan, ByPartsFactory)
    whole, parts = (results(plan, batches(seed), memory) for memory in ("128 mb", "2 kb"))
    assert sorted(parts, key=repr) == sorted(whole, key=repr) != []
    assert parts != whole or len(whole) < 5, "in another order, as parts come one after the other"


def test_a_global_kernel_is_not_cut():
    assert bounded(FACTORIES["groups"], ((),)) is FACTORIES["groups"]


def kernel_factories():
    """Return all plans that make kernels."""
    for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        for name, found in vars(importlib.import_module(module.name)).items():
            if isinstance(found, type) and name.endswith("Factory") and hasattr(found, "make"):
                yield found


def test_each_kernel_says_what_bounds_its_memory():
    found = {factory.__name__ for factory in kernel_factories()} - {"KernelFactory"}  # the protocol
    by_parts = {factory.__name__ for factory in _BY_PARTS}
    assert found == by_parts | NEEDS_NO_PARTS.keys()
    assert not by_parts & NEEDS_NO_PARTS.keys()
    tried = {type(factory) for factory in FACTORIES.values()}
    assert {*_BY_PARTS} - tried == {SlicedWindowFactory, *(one for one in _BY_PARTS if one.__name__ == "MatchFactory")}


@pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
def test_ranks_before_the_exchange_change_nothing(function, monkeypatch):
    monkeypatch.setattr(bounded_ranks, "_AT_ONCE", 20)
    plan = replace(RANKS, function=function, end=1)
    rows = [batch for _, batch in batches(5)]
    few = []
    local = LocalRanksFactory(plan).make()
    local.open(KernelContext(False, 128, None, few.append, None, lambda: 0, {}))
    for batch in rows:
        local.process(0, batch)
    local.end()
    assert sum(map(len, few)) < sum(map(len, rows))
    whole = bounded(BoundedRanksFactory(plan), ((0,),))
    before, after = (results(whole, [(0, batch) for batch in some], "1 gb") for some in (rows, few))
    assert sorted(map(repr, before)) == sorted(map(repr, after))


def test_ranks_before_the_exchange_give_up_where_most_rows_stay(monkeypatch):
    monkeypatch.setattr(bounded_ranks, "_AT_ONCE", 4)
    emitted = []
    local: Kernel = LocalRanksFactory(replace(RANKS, end=9)).make()
    local.open(KernelContext(False, 128, None, emitted.append, None, lambda: 0, {}))
    for _, batch in batches(1, 3):
        local.process(0, batch)
    assert [batch.length for batch in emitted] == [5, 5, 5]
