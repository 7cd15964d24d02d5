"""State of table operators is restored from a version, also with another parallelism."""

from __future__ import annotations

import datetime
import pickle
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import BigIntType, IntType, TimestampKind, TimestampType, VarCharType
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernels.calc import CalcFactory
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.joins.interval_joins import IntervalJoinFactory
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.kernels.joins.temporal_joins import TemporalJoinFactory
from firesteel.columns.kernels.over.over import OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.kernels.ranks.deduplicate import DeduplicateFactory
from firesteel.columns.kernels.ranks.first_rows import FirstRowFactory
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.sort import SortFactory
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory
from firesteel.columns.rows import kinds_list, rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.functions.operator_descriptors import ColumnOperator
from firesteel.operators.chain.operator import Output, TaskInfo
from firesteel.operators.chain.user_metrics import measured
from firesteel.operators.column_runner import ColumnRunner
from firesteel.operators.exchange.column_split import SplitColumns
from tests.columns.rexes import call, column
from tests.seeds import seeds

STRING, INT, BIGINT = VarCharType(10), IntType(), BigIntType()
TIME = TimestampType(3, kind=TimestampKind.ROWTIME)
TYPES = (STRING, INT, TIME)
COUNT, SUM = CallPlan("COUNT", (), BIGINT), CallPlan("SUM", (1,), INT)
JOIN = JoinPlan("LEFT", ((0,), (0,)), None, TYPES, TYPES, QuerySettings())
ORDER = ((2, False, True),)

FACTORIES = {
    "groups": GroupAggregateFactory((0,), (COUNT, SUM), TYPES, (STRING, BIGINT, INT), False),
    "distinct": GroupAggregateFactory(
        (0,), (replace(COUNT, arguments=(1,), distinct=True),), TYPES, (STRING, BIGINT), False
    ),
    "windows": WindowAggregateFactory(
        (0,), (COUNT,), WindowPlan("HOP", 2, 20, 10), None, ("start",), TYPES, (STRING, BIGINT, TIME)
    ),
    "sessions": WindowAggregateFactory(
        (0,), (COUNT, SUM), WindowPlan("SESSION", 2, 5), None, ("end",), TYPES, (STRING, BIGINT, INT, TIME)
    ),
    "session table": WindowTableFactory(WindowPlan("SESSION", 2, 5, partition=(0,)), TYPES, TIME),
    "over": OverFactory((0,), ORDER, FramePlan(True, -1, 0), (SUM,), TYPES, (*TYPES, INT), 2),
    "range": OverFactory((0,), ORDER, FramePlan(False, -5, 0), (SUM,), TYPES, (*TYPES, INT), 2),
    "running": OverFactory(
        (0,),
        ORDER,
        FramePlan(False, None, 0),
        (SUM, CallPlan("ROW_NUMBER", (), BIGINT), CallPlan("LAG", (1,), INT)),
        TYPES,
        (*TYPES, INT, BIGINT, INT),
        2,
    ),
    "top": RankFactory("ROW_NUMBER", (0,), ((1, True, False),), 1, 2, True, TYPES, RankStrategy.APPEND_FAST),
    "last": DeduplicateFactory((0,), True, 2, TYPES),
    "first": FirstRowFactory((0,), 2, TYPES),
    "sort": SortFactory(ORDER, TYPES, 2),
    "outer join": JoinFactory(JOIN),
    "inner join": JoinFactory(replace(JOIN, kind="INNER", has_updates=False)),
    "interval join": IntervalJoinFactory(JOIN, 2, 2, -5, 5, True),
    "temporal join": TemporalJoinFactory(JOIN, 2, 2),
}


class Kept:
    def __init__(self) -> None:
        self.changes: list[tuple] = []

    def process(self, values, timestamps):
        for batch in values:
            self.changes += zip(kinds_list(batch), rows_of(batch), strict=True)

    def watermark(self, timestamp):
        pass


def runner(factory, kept, index=0, parallelism=1):
    output = Output()
    output.connect(kept, None)
    task = TaskInfo("j", "v", "v", index, parallelism, 128, 0, False, {})
    made = ColumnRunner("op", task, output, factory, 2 if "join" in type(factory).__name__.lower() else 1)
    return made


def steps(seed):
    """Batches for both inputs, and watermarks between them."""
    choose, now = random.Random(seed), 0
    for _ in range(30):
        rows = []
        for _ in range(choose.randrange(1, 6)):
            now += choose.randrange(3)
            rows.append((choose.choice("abcde"), choose.randrange(9), now - choose.randrange(4)))
        columns = zip(*rows, strict=True)
        texts, numbers, times = columns
        arrays = (
            pa.array(texts),
            pa.array(numbers, pa.int32()),
            pa.array([max(0, t) * 1000 for t in times], pa.int64()).cast(pa.timestamp("us")),
        )
        yield choose.randrange(2), ColumnBatch(arrays, len(rows)), now - 4 if choose.random() < 0.4 else None


def feed(runners, parts, factory):
    is_join = "oin" in type(factory).__name__
    split = SplitColumns((0,), 128, len(runners))
    for side, batch, watermark in parts:
        for channel, batches, _ in split([batch], None):
            target = runners[channel]
            (target.process2 if is_join and side else target.process)(batches, None)
        if watermark is not None:
            for target in runners:
                target.process_watermark(watermark)


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_a_version_is_restored_in_another_parallelism(name, seed):
    factory = FACTORIES[name]
    parts = list(steps(seed))
    whole, resumed = Kept(), Kept()
    straight = runner(factory, whole)
    straight.open()
    feed([straight], parts, factory)

    first = runner(factory, resumed)
    first.open()
    feed([first], parts[:15], factory)
    deltas, snapshot = list(first.state_parts(True)), first.snapshot()
    later = [runner(factory, resumed, index, 2) for index in range(2)]
    for index, target in enumerate(later):
        groups = range(64) if index == 0 else range(64, 128)
        for delta in deltas:
            target.load_keyed(delta, groups)
        target.open()
        target.restore(snapshot)
    feed(later, parts[15:], factory)
    assert sorted(resumed.changes, key=repr) == sorted(whole.changes, key=repr)
    assert whole.changes


def test_equal_values_have_equal_key_groups_whatever_surrounds_them():
    texts = ["", "a", "ä", "a" * 100, None]
    column = pa.array(texts * 2)
    groups = key_groups(ColumnBatch((column,), 10), [0], 128)
    assert groups[:5].tolist() == groups[5:].tolist()
    sliced = key_groups(ColumnBatch((column.slice(5),), 5), [0], 128)
    assert sliced.tolist() == groups[:5].tolist()
    numbers = pa.array([0.0, -0.0])
    assert len(set(key_groups(ColumnBatch((numbers,), 2), [0], 128).tolist())) == 1
    many = key_groups(ColumnBatch((pa.array(range(100_000)),), 100_000), [0], 128)
    counts = [int((many == group).sum()) for group in range(128)]
    assert 600 < min(counts) <= max(counts) < 1000


def test_expressions_know_the_watermark_of_their_operator():
    kept = Kept()
    target = runner(CalcFactory(None, (call("CURRENT_WATERMARK", column(2, "TIMESTAMP(3)")),), QuerySettings()), kept)
    target.open()
    batch = next(steps(0))[1].slice(0, 1)
    target.process([batch], None)
    target.process_watermark(1500)
    target.process([batch], None)
    assert [row for _, row in kept.changes] == [(None,), (datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000),)]


@pytest.mark.parametrize("name", ["windows", "sessions", "session table", "over", "range", "running", "first", "sort"])
def test_late_rows_are_counted_among_the_metrics_of_the_operator(name):
    target = runner(FACTORIES[name], Kept())
    target.open()
    assert measured(target.task.metrics) == {"op.numLateRecordsDropped": 0}
    times = pa.array([100_000, 0], pa.int64()).cast(pa.timestamp("us"))
    batch = ColumnBatch((pa.array(["a", "a"]), pa.array([1, 3], pa.int32()), times), 2)
    target.process([batch.slice(0, 1)], None)
    target.process_watermark(100)
    assert measured(target.task.metrics) == {"op.numLateRecordsDropped": 0}
    target.process([batch.slice(1, 2)], None)
    assert measured(target.task.metrics) == {"op.numLateRecordsDropped": 1}


def test_a_row_is_late_if_all_its_windows_have_ended():
    target = runner(FACTORIES["windows"], Kept())  # of 20 ms, each 10 ms
    target.open()
    for go_by_rows in (False, True):
        if go_by_rows:
            target._kernel.go_by_rows()
        target.process_watermark(109 if not go_by_rows else 209)
        begin = 100_000 if not go_by_rows else 200_000
        times = pa.array([begin, begin - 10_001], pa.int64()).cast(pa.timestamp("us"))
        target.process([ColumnBatch((pa.array(["a", "b"]), pa.array([1, 2], pa.int32()), times), 2)], None)
    assert measured(target.task.metrics) == {"op.numLateRecordsDropped": 2}


def test_a_descriptor_in_a_job_graph_of_a_former_release_is_complete() -> None:
    factory = DeduplicateFactory((0,), True, None, (INT, INT))
    former = ColumnOperator.__new__(ColumnOperator)
    former.__setstate__([factory, 1, "Deduplicate"])
    assert former == ColumnOperator(factory, 1, "Deduplicate", is_narrowed=False)
    assert pickle.loads(pickle.dumps(former)) == former
