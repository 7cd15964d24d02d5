"""Vectorised kernels give the same results as row-by-row processing."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.vector_values import VectorStates, VectorValue
from firesteel.columns.kernels.calls.vectorized import group_calls, mergeable_calls, vector_calls, window_calls
from firesteel.columns.kernels.groups import aggregate, distinct_values, gathered_groups, group_vectors
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.rows import saved_rows
from firesteel.columns.kernels.times.time_windows import WindowPlan
from firesteel.columns.kernels.windows.sliced_windows import LocalWindowFactory, SlicedWindowFactory, SlicedWindowPlan
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of, kinds_list, rows_of
from firesteel.columns.runs import run_store
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.common.encoding import encoded_entries
from firesteel.common.encoding.program_values import program_entries
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.columns.spilling import FixedSpill
from tests.seeds import examples

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

TYPES = [
    parse_type(text)
    for text in (
        *("STRING", "INT", "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "TIMESTAMP(3)"),
        *("DECIMAL(9, 2)", "DECIMAL(38, 10)", "DATE", "TIME(0)", "TIMESTAMP_LTZ(6)"),
    )
]
TEXT, NUMBER, TINY, INT, BIG, FLOAT, DOUBLE, FLAG, TIME, NARROW, WIDE, DAY, HOUR, INSTANT = range(len(TYPES))
NOTHING = (None,) * (len(TYPES) - NARROW)
"""Values of the last columns."""

DIGITS = Context(prec=38)
ARROW = [arrow_type(kind) for kind in TYPES]
NUMERIC = (TINY, INT, BIG, FLOAT, DOUBLE, NARROW, WIDE)
TIMES = (TIME, DAY, HOUR, INSTANT)


def call(name, *arguments, condition=None, distinct=False):
    result = find_aggregate(name).resolve([TYPES[i] for i in arguments], True, condition is not None)
    return CallPlan(name, arguments, result, distinct, condition)


CALLS = [
    call("COUNT"),
    call("COUNT", TEXT),
    call("COUNT", TEXT, DOUBLE, condition=FLAG),
    *(call(name, i) for name in ("SUM", "$SUM0", "AVG", "MIN", "MAX") for i in NUMERIC),
    *(call(name, BIG, condition=FLAG) for name in ("SUM", "$SUM0", "AVG", "MIN", "MAX")),
    *(call(name, column) for name in ("MIN", "MAX") for column in (TEXT, FLAG, *TIMES)),
    *(call(name, column) for name in ("FIRST_VALUE", "LAST_VALUE") for column in (TEXT, *NUMERIC, *TIMES)),
    *(call(name, column, condition=FLAG) for name in ("MIN", "FIRST_VALUE", "LAST_VALUE") for column in (TEXT, DAY)),
]
COLLECTING = [
    call("LISTAGG", TEXT),
    call("LISTAGG", TEXT, condition=FLAG),
    *(call("COLLECT", column) for column in (TEXT, BIG, DOUBLE, WIDE, TIME)),
    call("COLLECT", TEXT, condition=FLAG),
    *(call("ARRAY_AGG", column) for column in (TEXT, TINY, BIG, DOUBLE, FLAG, TIME, WIDE)),
    *(call("ARRAY_AGG_IGNORE_NULLS", column) for column in (TEXT, FLAG)),
    call("ARRAY_AGG", TEXT, condition=FLAG),
    call("STDDEV_POP", INT, condition=FLAG),
    call("STDDEV_SAMP", DOUBLE),
]
"""Calls whose states are those of the rows."""
NUMERIC_CALLS = [plan for plan in CALLS if vector_calls([plan], TYPES)]
MERGEABLE = [plan for plan in (*CALLS, *COLLECTING) if mergeable_calls([plan], TYPES)]
OBJECTS = [plan for plan in CALLS if isinstance(group_calls([plan], TYPES)[0], VectorValue | VectorStates)]
DISTINCT = [
    *(call("COUNT", column, distinct=True) for column in (TEXT, BIG, DOUBLE, FLAG, TIME)),
    call("COUNT", BIG, condition=FLAG, distinct=True),
    call("COUNT", TEXT, BIG, distinct=True),
    *(call(name, TINY, distinct=True) for name in ("SUM", "AVG", "MAX")),
    call("SUM", TINY, condition=FLAG, distinct=True),
    *(call(name, TEXT, distinct=True) for name in ("LISTAGG", "COLLECT", "ARRAY_AGG", "ARRAY_AGG_IGNORE_NULLS")),
]


def integers(bits):
    edge = 1 << (bits - 1)
    return st.none() | st.integers(-5, 5) | st.sampled_from([-edge, edge - 1])


FLOATS = st.none() | st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 1e300, 0.1, 0.7, -3.3])
PLAIN_FLOATS = st.none() | st.sampled_from([0.0, 1e300, -1e300, 0.1, 0.7, -3.3])


def as_float(value):
    """The value of a FLOAT; exact ones stay exact."""
    if value is None or not math.isfinite(value):
        return value
    return float(np.float32(max(-1e30, min(value, 1e30))))


def rows(texts, floats):
    return st.tuples(
        texts,
        st.sampled_from([None, 1, 2]),
        integers(8),
        integers(32),
        integers(64),
        floats.map(as_float),
        floats,
        st.sampled_from([None, True, False]),
        st.sampled_from([0, 999, 1000, 3500, 5000, 9999, 12000]).map(lambda ms: ms * 1000),
        decimals(9, 2),
        decimals(38, 10),
        st.sampled_from([None, -1, 0, 20_000]),
        st.sampled_from([None, 0, 999_000, 86_399_000]),
        st.sampled_from([None, -1, 0, 1_700_000_000_123_456]),
    )


def decimals(digits, scale):
    edge = 10**digits - 1
    numbers = st.none() | st.integers(-500, 500) | st.sampled_from([edge, -edge, 2**32 % edge, -(2**63) % edge])
    return numbers.map(lambda number: number if number is None else Decimal(number).scaleb(-scale, DIGITS))


def row(column=None, value=None):
    """A row with one value; all others are NULL."""
    return tuple(0 if place == TIME else value if place == column else None for place in range(len(TYPES)))


TEXTS = st.sampled_from([None, "a", "b", "c", ""])


def batches_of(floats):
    return st.lists(st.lists(rows(TEXTS, floats), min_size=1, max_size=60), min_size=1, max_size=4)


BATCHES = st.sampled_from([PLAIN_FLOATS, FLOATS]).flatmap(batches_of)


def saved(deltas):
    """Deltas as a file has them."""
    return [encoded_entries(*delta) for delta in deltas]


class Run:
    """A kernel in the place of a subtask."""

    def __init__(self, factory, is_streaming=True, by_rows=False, deltas=(), new_spill=None):
        self.backend = KeyedStateBackend(None, 128)
        for delta in deltas:
            self.backend.load(program_entries(delta))
        self.changes = []
        self.kernel = factory.make()
        self.kernel.open(
            KernelContext(
                *(is_streaming, 128, self.backend.table, self.changes.append, lambda _: None, lambda: 0),
                new_spill=new_spill,
            )
        )
        if by_rows:
            self.kernel.go_by_rows()

    def take_rows(self):
        """The changelog since the last call; values as text, as NaN is to be equal to NaN."""
        found = [
            (kind, *(repr(value) for value in row))
            for batch in self.changes
            for kind, row in zip(kinds_list(batch), rows_of(batch), strict=True)
        ]
        self.changes.clear()
        return found


def grouping(keys, calls, retracts=False, mini_batch_rows=0):
    output = (*(TYPES[key] for key in keys), *(plan.type for plan in calls))
    return GroupAggregateFactory(keys, tuple(calls), tuple(TYPES), output, retracts, mini_batch_rows=mini_batch_rows)


KEYS = st.sampled_from([(), (TEXT,), (NUMBER,), (TEXT, NUMBER), (NUMBER, FLAG, TIME)])
CHOSEN = st.lists(st.sampled_from(CALLS) | st.sampled_from(COLLECTING), max_size=4)
WITH_DISTINCT = st.lists(st.sampled_from(CALLS) | st.sampled_from(COLLECTING) | st.sampled_from(DISTINCT), max_size=4)


@settings(max_examples=examples(150), deadline=None)
@example([], (), [call("COUNT", BIG), call("COUNT", TEXT, distinct=True)], False)
@example([], (), DISTINCT, False)
@given(BATCHES, KEYS, WITH_DISTINCT, st.booleans())
def test_groups_change_as_row_by_row(batches, keys, calls, is_streaming):
    factory = grouping(keys, calls)
    fast, slow = Run(factory, is_streaming), Run(factory, is_streaming, by_rows=True)
    versions = []
    for part in batches:
        batch = batch_of(part, ARROW)
        fast.kernel.process(0, batch)
        slow.kernel.process(0, batch)
        assert fast.take_rows() == slow.take_rows()
        if is_streaming:
            fast.kernel.flush()
            versions += saved(fast.backend.delta())
    if is_streaming:
        fast = Run(factory, deltas=versions)
        for run in (fast, slow):
            run.kernel.process(0, batch_of(batches[0], ARROW))
        assert fast.take_rows() == slow.take_rows()
    fast.kernel.end()
    slow.kernel.end()
    assert fast.take_rows() == slow.take_rows()


@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize("plan", [*CALLS, *COLLECTING], ids=str)
def test_each_call_is_as_row_by_row(plan, is_streaming, monkeypatch):
    monkeypatch.setattr(gathered_groups, "_AT_ONCE", 100)
    random = np.random.default_rng(7)
    rows = many(240)
    fast, slow = (Run(grouping((NUMBER,), [plan]), is_streaming, by_rows) for by_rows in (False, True))
    for places in np.split(random.permutation(240), 4):
        columns = [
            pc.if_else(pa.array(random.random(60) < 0.3), None, column.take(pa.array(places)))
            for column in rows.columns
        ]
        for run in (fast, slow):
            run.kernel.process(0, ColumnBatch(tuple(columns), 60))
        assert fast.take_rows() == slow.take_rows()
    for run in (fast, slow):
        run.kernel.end()
    assert fast.take_rows() == slow.take_rows()


@settings(max_examples=examples(60), deadline=None)
@example([[row(DOUBLE, -0.0)], [row(DOUBLE, 0.0)]], (), [call("COUNT"), call("MIN", DOUBLE)], [False] * 4)
@given(BATCHES, KEYS, WITH_DISTINCT, st.lists(st.booleans(), min_size=4, max_size=4))
def test_row_and_column_operators_restore_each_others_state(batches, keys, calls, ways):
    factory = grouping(keys, calls)
    slow, mixed = Run(factory, by_rows=True), Run(factory)
    for part, by_rows in zip(batches, ways, strict=False):
        batch = batch_of(part, ARROW)
        slow.kernel.process(0, batch)
        mixed.kernel.flush()
        following = Run(factory, by_rows=by_rows, deltas=saved(mixed.backend.full()))
        following.kernel.process(0, batch)
        mixed = following
        assert mixed.take_rows() == slow.take_rows()


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["", "-", "<>"]),
    st.lists(st.lists(st.tuples(st.booleans(), TEXTS), min_size=1, max_size=12), min_size=1, max_size=3),
    st.booleans(),
)
def test_strings_are_joined_with_any_delimiter(delimiter, batches, by_rows):
    types = [parse_type(text) for text in ("BOOLEAN", "STRING", "STRING")]
    plan = CallPlan("LISTAGG", (1, 2), types[1], False, None)
    factory = GroupAggregateFactory((0,), (plan,), tuple(types), (types[0], types[1]), False)
    fast, slow = Run(factory), Run(factory, by_rows=True)
    for part in batches:
        batch = batch_of([(*row, delimiter) for row in part], list(map(arrow_type, types)))
        for run in (fast, slow):
            run.kernel.process(0, batch)
            run.kernel.flush()
        assert fast.take_rows() == slow.take_rows()
        fast = Run(factory, by_rows=by_rows, deltas=saved(fast.backend.full()))


@pytest.mark.parametrize(
    "plan",
    [
        *(call(name, TEXT) for name in ("LISTAGG", "ARRAY_AGG", "COLLECT", "LAST_VALUE")),
        *(call(name, BIG) for name in ("ARRAY_AGG", "COLLECT")),
    ],
    ids=lambda plan: f"{plan.function} {plan.arguments}",
)
def test_results_that_take_much_room_are_emitted_in_parts(monkeypatch, plan):
    monkeypatch.setattr(group_vectors, "RESULT_BYTES", 20_000)
    factory, batch = grouping((), [plan]), batch_of([(f"{i:0200}", 1, 1, 1, i, *row()[5:]) for i in range(400)], ARROW)
    fast, slow = Run(factory), Run(factory, by_rows=True)
    for run in (fast, slow):
        run.kernel.process(0, batch)
    assert len(fast.changes) > 5
    assert max(part.columns[0].nbytes for part in fast.changes) < 200_000
    assert fast.take_rows() == slow.take_rows()


def test_fewer_rows_go_together_if_results_made_before_grow(monkeypatch):
    monkeypatch.setattr(aggregate, "RESULT_BYTES", 10_000)
    run = Run(grouping((), [call("LISTAGG", TEXT)], retracts=True))
    run.kernel.process(0, batch_of([row(TEXT, "a" * 10)] * 50, ARROW))
    run.changes.clear()
    run.kernel.process(0, batch_of([row(TEXT, "a" * 10)] * 50, ARROW))
    parts, results = len(run.changes), run.take_rows()
    assert parts > 5
    assert len(results) == 100
    assert results[-1] == (UPDATE_AFTER, repr(",".join(["a" * 10] * 100)))


@pytest.mark.parametrize("name", ["LISTAGG", "COLLECT", "ARRAY_AGG"])
def test_distinct_values_are_collected_and_restored(name):
    """NULL is a value of ARRAY_AGG, as in Flink; the state of COLLECT looks like that of distinct values."""
    factory = grouping((NUMBER,), [call(name, TEXT, distinct=True)])
    batch = batch_of([(text, 1, *row()[2:]) for text in ("a", None, "a", "b", None)], ARROW)
    fast, slow = Run(factory), Run(factory, by_rows=True)
    for _ in range(3):
        for run in (fast, slow):
            run.kernel.process(0, batch)
            run.kernel.flush()
        assert fast.take_rows() == slow.take_rows()
        fast = Run(factory, deltas=saved(fast.backend.full()))


RETRACTABLE = [plan for plan in (*CALLS, *COLLECTING) if group_calls([plan], TYPES, True)]


def with_kinds(part):
    batch = batch_of([row for row, _ in part], ARROW)
    return ColumnBatch(batch.columns, batch.length, np.array([kind for _, kind in part], np.int8))


def changes(pool):
    """Batches of changes, among them repeated and unmatched retractions."""
    return st.lists(
        st.lists(st.tuples(st.sampled_from(pool), st.sampled_from([0, 0, 1, 2, 3])), min_size=1, max_size=30),
        min_size=1,
        max_size=4,
    )


def lives(pool):
    """Batches in which each row is removed only after it was added."""

    def balanced(steps):
        found, present = [], []
        for row, kind in steps:
            if kind in (1, 3):
                if not present:
                    continue
                row = present.pop(len(present) // 2)
            else:
                present.append(row)
            found.append((row, kind))
        return [found[i : i + 12] for i in range(0, len(found), 12)]

    steps = st.lists(st.tuples(st.sampled_from(pool), st.sampled_from([0, 1, 2, 3])), min_size=1, max_size=60)
    return steps.map(balanced)


def left_by(changes):
    """The rows that are left when changes are applied."""
    left = Counter()
    for kind, *row in changes:
        left[tuple(row)] += -1 if kind in (UPDATE_BEFORE, DELETE) else 1
    return +left


@settings(max_examples=examples(150), deadline=None)
@example([[(row(), INSERT), (row(), INSERT), (row(BIG, -(1 << 63)), UPDATE_BEFORE)]], (), [call("AVG", BIG)], 100)
@given(
    st.lists(rows(TEXTS, PLAIN_FLOATS), min_size=1, max_size=6).flatmap(lambda pool: lives(pool) | changes(pool)),
    KEYS,
    st.lists(st.sampled_from(CALLS) | st.sampled_from(DISTINCT), min_size=1, max_size=4),
    st.sampled_from([1, 3, 100]),
)
def test_mini_batches_leave_the_same_rows_with_one_change_per_group(batches, keys, calls, size):
    plain, (fast, slow) = (
        Run(grouping(keys, calls, True)),
        (Run(grouping(keys, calls, True, size), by_rows=by_rows) for by_rows in (False, True)),
    )
    all_changes, few_changes = [], []
    for part in filter(None, batches):
        for run in (plain, fast, slow):
            run.kernel.process(0, with_kinds(part))
        found = fast.take_rows()
        assert found == slow.take_rows()
        if size > len(part):
            entered = Counter(row[1 : 1 + len(keys)] for row in found if row[0] in (INSERT, UPDATE_AFTER))
            assert all(number == 1 for number in entered.values())
        few_changes += found
        all_changes += plain.take_rows()
        assert left_by(few_changes) == left_by(all_changes)


@settings(max_examples=examples(200), deadline=None)
@example(
    [[(row(), INSERT), (row(INT, 0), INSERT), (row(INT, 1), UPDATE_BEFORE)]],
    (),
    [call("$SUM0", INT)],
    (2, 1),
    [False] * 10,
    None,
)
@example(
    [[(row(INT, 0), INSERT), (row(INT, 0), INSERT), (row(INT, 1), UPDATE_BEFORE), (row(INT, 9), INSERT)]],
    (),
    [call("STDDEV_POP", INT)],
    (2, 1),
    [False] * 10,
    None,
)
@example(  # a state that grows beyond the memory
    [[(row(WIDE, Decimal("0.5")), INSERT)] * 12] * 3,
    (),
    [call("LAST_VALUE", WIDE), call("LAST_VALUE", TEXT)],
    (10_000, 1024),
    [False, True, True] + [False] * 7,
    2_000,
)
@example(  # zeros that are equal and shown otherwise
    [[(row(DOUBLE, 0.0), INSERT)], [(row(DOUBLE, -0.0), INSERT)], [(row(DOUBLE, 0.0), DELETE)]],
    (),
    [call("LAST_VALUE", DOUBLE), call("MIN", DOUBLE)],
    (10_000, 1024),
    [False] * 10,
    None,
)
@given(
    st.lists(rows(TEXTS, PLAIN_FLOATS), min_size=1, max_size=6).flatmap(lambda pool: lives(pool) | changes(pool)),
    KEYS,
    st.lists(st.sampled_from(RETRACTABLE) | st.sampled_from(DISTINCT), max_size=4) | CHOSEN,
    st.sampled_from([(10_000, 1024), (2, 1)]),
    st.lists(st.booleans(), min_size=10, max_size=10),
    st.sampled_from([None, 0, 2_000]),
)
def test_groups_with_retractions_change_as_row_by_row(batches, keys, calls, least, restores, in_memory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_rows, "LEAST", least[0])
        patch.setattr(distinct_values, "_LEAST", least[1])
        patch.setattr(run_store, "_MERGED_AT_ONCE", 2)
        patch.setattr(run_store, "_SMALL", 0)
        check_groups_with_retractions(batches, keys, calls, restores, in_memory)


def check_groups_with_retractions(batches, keys, calls, restores, in_memory):
    """Compare the ways of a kernel, one of which has so many bytes of groups in memory; None: all."""
    factory = grouping(keys, calls, True)
    spill = None if in_memory is None else functools.partial(FixedSpill, in_memory)
    fast, slow, versions = Run(factory, new_spill=spill), Run(factory, by_rows=True), []
    for part, restored in zip(batches, itertools.cycle(restores), strict=False):
        batch = with_kinds(part)
        fast.kernel.process(0, batch)
        slow.kernel.process(0, batch)
        assert fast.take_rows() == slow.take_rows()
        fast.kernel.flush()
        versions += saved(fast.backend.delta())
        if restored:
            versions = saved(fast.backend.full()) if in_memory else versions
            fast = Run(factory, deltas=versions, new_spill=spill)
        found, wanted = (
            {entry: state[0] for entry, state in run.backend.table("groups").all_items()}
            for run in (Run(factory, deltas=versions), slow)
        )
        assert found == wanted


@pytest.mark.parametrize("keys", [(), (TEXT,)])
def test_the_work_of_distinct_values_does_not_grow_with_the_rows(keys):
    def work(length):
        run = Run(grouping(keys, [call("COUNT", BIG, distinct=True), call("SUM", INT, distinct=True, condition=FLAG)]))
        numbers = range(2 * length)
        rows = [(f"key {n % 10}", 1, 1, n % 1000, n, 0.5, 0.5, n % 2 == 0, 0, *NOTHING) for n in numbers]
        run.kernel.process(0, batch_of(rows[:length], ARROW))
        batch = batch_of(rows[length:], ARROW)
        return calls_made(lambda: run.kernel.process(0, batch))

    assert work(20_000) < 1.3 * work(2_000)


def test_the_values_of_a_large_group_are_written_once():
    run = Run(grouping((), [call("COUNT", BIG, distinct=True)]))
    written = []
    for start in range(0, 5_000, 1_000):
        run.kernel.process(0, batch_of([row(BIG, number) for number in range(start, start + 1_000)], ARROW))
        run.kernel.flush()
        written.append(sum(map(len, saved(run.backend.delta()))))
    assert max(written[1:]) < 2 * written[0]


def test_the_work_of_retracting_does_not_grow_with_the_rows():
    factory = grouping((TEXT,), [call("AVG", BIG), call("COUNT")], True)
    few, lots = Run(factory), Run(factory)
    halves = []
    for run, length in ((few, 500), (lots, 5_000)):
        batch = many(length)
        run.kernel.process(0, ColumnBatch(batch.columns, length, np.zeros(length, np.int8)))
        kinds = np.where(np.arange(length) % 2, 2, 1).astype(np.int8)
        halves.append((run, ColumnBatch(batch.columns, length, kinds)))
    (few, few_rows), (lots, lots_of_rows) = halves
    assert calls_made(lambda: lots.kernel.process(0, lots_of_rows)) < 1.1 * calls_made(
        lambda: few.kernel.process(0, few_rows)
    )


WINDOWS = [
    WindowPlan("TUMBLE", TIME, 1000),
    WindowPlan("TUMBLE", TIME, 5000, offset=1500),
    WindowPlan("HOP", TIME, 3000, 1000),
    WindowPlan("HOP", TIME, 3000, 2000),
    WindowPlan("CUMULATE", TIME, 4000, 1000),
    WindowPlan("TUMBLE", TIME, 1000, is_rowtime=False),
]
MARKS = st.lists(st.sampled_from([-1, 999, 2000, 4999, 9000, 20000]), min_size=4, max_size=4).map(sorted)
TIMESTAMP = parse_type("TIMESTAMP(3)")


def windowing(keys, calls, window, retracts=False):
    output = (*(TYPES[key] for key in keys), *(plan.type for plan in calls), TIMESTAMP, TIMESTAMP, TIMESTAMP)
    columns = None if window is not None else (TIME, len(TYPES))
    types = tuple(TYPES) if window is not None else (*TYPES, TIMESTAMP)
    properties = ("start", "end", "rowtime")
    return WindowAggregateFactory(keys, tuple(calls), window, columns, properties, types, output, retracts)


def sliced(keys, calls, window):
    outputs = (*((key, TYPES[key]) for key in keys), *((name, TIMESTAMP) for name in ("start", "end", "time")))
    return SlicedWindowPlan(window, keys, tuple(calls), tuple(TYPES), outputs)


class SlicedRun:
    """Both phases of an aggregation by slices; `restore` continues in new subtasks."""

    def __init__(self, plan, is_streaming):
        self.plan, self.is_streaming = plan, is_streaming
        self.last = Run(SlicedWindowFactory(plan), is_streaming)
        self.first = Run(LocalWindowFactory(plan), is_streaming)

    def process(self, batch):
        self.first.kernel.process(0, batch)
        for partial in self.first.changes:
            self.last.kernel.process(0, partial)
        self.first.changes.clear()

    def restore(self):
        self.last.kernel.flush()
        following = Run(SlicedWindowFactory(self.plan), self.is_streaming)
        for delta in saved(self.last.backend.full()):
            following.backend.load(program_entries(delta))
        following.kernel.open(following.kernel.context)
        following.kernel.restore(self.last.kernel.snapshot())
        self.last = following

    def take_rows(self):
        """The results with the columns in the order of other window aggregates."""
        keys, calls = len(self.plan.keys), len(self.plan.calls)
        return [
            (*row[: 1 + keys], *row[len(row) - calls :], *row[1 + keys : len(row) - calls])
            for row in self.last.take_rows()
        ]


SLICED = [window for window in WINDOWS if window.is_rowtime and window.size % (window.step or 1) == 0]
SLICED += [WindowPlan("CUMULATE", TIME, 4000, 2000, offset=700), WindowPlan("HOP", TIME, 4000, 1000, offset=-300)]
EXACT_FLOATS = st.none() | st.sampled_from([0.0, 0.25, -3.5, 7.75, float("inf")])
"""Their sums are not rounded, so they do not depend on what is added first."""

UNORDERED_FLOATS = EXACT_FLOATS | st.sampled_from([-0.0, float("nan")])
"""Of these, the first extreme remains; windows of many slices do not know which row came first."""

WINDOWS_AND_BATCHES = st.sampled_from(SLICED).flatmap(
    lambda window: st.tuples(st.just(window), batches_of(UNORDERED_FLOATS if window.kind == "TUMBLE" else EXACT_FLOATS))
)


@settings(max_examples=examples(200), deadline=None)
@given(
    WINDOWS_AND_BATCHES,
    st.sampled_from([(), (TEXT,), (NUMBER, FLAG), (TEXT, NUMBER)]),
    st.lists(st.sampled_from(MERGEABLE), max_size=4),
    MARKS,
    st.booleans(),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_windows_of_slices_fire_as_row_by_row(window_and_batches, keys, calls, marks, is_streaming, restores):
    window, batches = window_and_batches
    has_slices = window.kind != "TUMBLE"
    lists = [1 + len(keys) + n for n, plan in enumerate(calls) if has_slices and plan.function == "LISTAGG"]

    def taken(run):
        """The results; the strings of several slices are listed by slice, those of rows as they came."""
        return sorted(
            tuple("".join(sorted(value)) if place in lists and value else value for place, value in enumerate(row))
            for row in run.take_rows()
        )

    has_nan = any(value != value for part in batches for one in part for value in one)
    fast = SlicedRun(sliced(keys, calls, window), is_streaming)
    slow = Run(windowing(keys, calls, window), is_streaming, by_rows=True)
    for part, mark, restored in zip(batches, marks, restores, strict=False):
        batch = batch_of(part, ARROW)
        fast.process(batch)
        slow.kernel.process(0, batch)
        # A version merges rows; NaN as the first of them then hides the others from MIN and MAX, as in Flink.
        if restored and is_streaming and not has_nan:
            fast.restore()
        if is_streaming:
            fast.last.kernel.watermark(mark)
            slow.kernel.watermark(mark)
        assert taken(fast) == taken(slow)
    for run in (fast.last, slow):
        run.kernel.watermark(2**63 - 1)
        run.kernel.end()
    assert taken(fast) == taken(slow)
    fast.last.kernel.flush()
    assert not is_streaming or not fast.last.backend.table("slices").data


def test_the_state_of_a_slice_does_not_grow_with_its_rows():
    run = SlicedRun(sliced((TEXT,), [call("COUNT"), call("SUM", BIG)], WindowPlan("TUMBLE", TIME, 86_400_000)), True)
    for _ in range(3_000):
        run.process(many(20))
        run.last.kernel.flush()
    stored = sum(rows.length for rows in run.last.backend.table("slices").data.values())
    assert stored < 11_000
    run.last.kernel.watermark(2**63 - 1)
    counts = [row[1:4] for row in run.take_rows()]
    assert sorted(counts)[0] == ("'user-0'", "6000", str(3_000 * 10))


def with_window_end(batch):
    micros = batch.columns[TIME].cast(pa.int64())
    end = pc.add(micros, 4_000_000).cast(pa.timestamp("us"))
    return batch.with_columns([*batch.columns, end])


@settings(max_examples=examples(150), deadline=None)
@given(BATCHES, KEYS, CHOSEN, st.none() | st.sampled_from(WINDOWS), MARKS, st.booleans())
def test_windows_fire_as_row_by_row(batches, keys, calls, window, marks, is_streaming):
    parts = [batch_of(part, ARROW) for part in batches]
    fire_alike(windowing(keys, calls, window), is_streaming, parts, marks)


def fire_alike(factory, is_streaming, batches, marks):
    """Check that windows give the same by arrays and row by row."""
    fast, slow = Run(factory, is_streaming), Run(factory, is_streaming, by_rows=True)
    for batch, mark in zip(batches, marks, strict=False):
        for run in (fast, slow):
            run.kernel.process(0, batch if factory.window is not None else with_window_end(batch))
            run.kernel.watermark(mark)
            run.kernel.advance_processing_time(mark)
        assert fast.kernel.late.count == slow.kernel.late.count
        assert sorted(fast.take_rows()) == sorted(slow.take_rows())
    for run in (fast, slow):
        run.kernel.watermark(2**63 - 1)
        run.kernel.end()
    assert sorted(fast.take_rows()) == sorted(slow.take_rows())


IN_WINDOWS = [plan for plan in (*CALLS, *COLLECTING) if window_calls([plan], TYPES, True)]
SESSIONS = [WindowPlan("SESSION", TIME, 700), WindowPlan("SESSION", TIME, 5000, is_rowtime=False)]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(rows(TEXTS, PLAIN_FLOATS | FLOATS), min_size=1, max_size=6).flatmap(
        lambda pool: lives(pool) | changes(pool)
    ),
    KEYS,
    st.lists(st.sampled_from(IN_WINDOWS), min_size=1, max_size=4) | CHOSEN,
    st.sampled_from([*WINDOWS, *SESSIONS, None]),
    MARKS,
)
def test_windows_with_retractions_fire_as_row_by_row(batches, keys, calls, window, marks):
    parts = [with_kinds(part) for part in batches if part]
    fire_alike(windowing(keys, calls, window, retracts=True), True, parts, (*marks, 2**63 - 1))


def many(length):
    """Rows of ten keys."""
    numbers = np.arange(length)
    return ColumnBatch(
        (
            pa.array([f"user-{n % 10}" for n in range(length)]),
            pa.array(numbers % 3, pa.int32()),
            pa.array(numbers % 100, pa.int8()),
            pa.array(numbers, pa.int32()),
            pa.array(numbers, pa.int64()),
            pa.array(numbers / 4, pa.float32()),
            pa.array(numbers / 8),
            pa.array(numbers % 2 == 0),
            pa.array(numbers % 20 * 1_000_000).cast(pa.timestamp("us")),
            pa.array((numbers % 1000).astype(np.int32)).cast(pa.decimal128(12, 2)).cast(pa.decimal128(9, 2)),
            pa.array(numbers).cast(pa.decimal128(38, 10)),
            *(pa.array((numbers % 1000).astype(np.int32)).cast(ARROW[place]) for place in (DAY, HOUR)),
            pa.array(numbers).cast(ARROW[INSTANT]),
        ),
        length,
    )


@pytest.mark.parametrize("is_streaming", [True, False])
def test_the_work_of_grouping_does_not_grow_with_the_rows(is_streaming):
    factory = grouping((TEXT,), [plan for plan in CALLS if plan not in OBJECTS])
    few, lots = Run(factory, is_streaming), Run(factory, is_streaming)
    few_rows, lots_of_rows = many(1_000), many(10_000)

    def run(run, batch):
        run.kernel.process(0, batch)
        run.kernel.end()

    assert calls_made(lambda: run(lots, lots_of_rows)) < 1.1 * calls_made(lambda: run(few, few_rows))


@settings(max_examples=40, deadline=None)
@given(BATCHES, KEYS, CHOSEN, st.integers(1, 40))
def test_bounded_groups_are_the_same_whenever_waiting_rows_are_added(batches, keys, calls, at_once):
    factory = grouping(keys, calls)
    fast, slow = Run(factory, False), Run(factory, False, by_rows=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered_groups, "_AT_ONCE", at_once)
        for part in batches:
            for run in (fast, slow):
                run.kernel.process(0, batch_of(part, ARROW))
        fast.kernel.end()
    slow.kernel.end()
    assert fast.take_rows() == slow.take_rows()


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize("window", [WindowPlan("TUMBLE", TIME, 10_000), WindowPlan("HOP", TIME, 10_000, 5_000)])
def test_the_work_of_windows_does_not_grow_with_the_rows(window, retracts):
    calls = [plan for plan in CALLS if plan not in OBJECTS and (not retracts or vector_calls([plan], TYPES, True))]
    factory = windowing((TEXT,), calls, window, retracts)
    few, lots = Run(factory), Run(factory)
    few_rows, lots_of_rows = (
        with_retractions(many(length)) if retracts else many(length) for length in (1_000, 10_000)
    )
    assert calls_made(lambda: lots.kernel.process(0, lots_of_rows)) < 1.1 * calls_made(
        lambda: few.kernel.process(0, few_rows)
    )


def with_retractions(batch):
    return ColumnBatch(
        batch.columns, batch.length, np.where(np.arange(batch.length) % 4 == 3, DELETE, 0).astype(np.int8)
    )
