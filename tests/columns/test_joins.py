"""Joins of whole batches find the pairs that comparing each row with each other row finds."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.joins import key_counts, updating_joins, updating_semi_joins
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.joins import JoinFactory
from firesteel.columns.kernels.joins.row_index import RowIndex, pairs
from firesteel.columns.kernels.rows import row_log, row_store, saved_rows
from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import INSERT, batch_of, keys_of, kinds_list, rows_of
from firesteel.columns.runs import room
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from tests.columns.counting import calls_made
from tests.columns.join_model import JoinModel
from tests.columns.rexes import call, column
from tests.columns.spilling import FixedSpill
from tests.seeds import examples

pytestmark = pytest.mark.slow

GROUPS = 8
TYPES = tuple(map(parse_type, ("STRING", "INT", "DOUBLE", "ARRAY<INT>", "DECIMAL(10, 2)")))
ARROW = [arrow_type(kind) for kind in TYPES]
TEXT, NUMBER, FLOAT, LIST, DECIMAL = range(len(TYPES))
SMALLER = call("<", column(NUMBER, "INT"), column(len(TYPES) + NUMBER, "INT"))

ROWS = st.tuples(
    st.sampled_from([None, "", "a", "bc"]),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    st.sampled_from([None, [], [1], [1, None]]),
    st.sampled_from([None, "1.00", "2.50"]).map(lambda text: text and pa.scalar(text).cast(ARROW[DECIMAL]).as_py()),
)
BATCHES = st.lists(st.tuples(st.integers(0, 1), st.lists(ROWS, min_size=1, max_size=25)), min_size=1, max_size=12)
KEYS = st.sampled_from([(), (TEXT,), (NUMBER,), (FLOAT,), (LIST,), (DECIMAL,), (TEXT, NUMBER)])
CONDITIONS = st.sampled_from([None, SMALLER])


class Run:
    """A join in a subtask of its own."""

    def __init__(self, plan, is_streaming=True, state=(), key_groups=None, now=0, spill=None, **options):
        self.now = now
        self.backend = KeyedStateBackend(None, GROUPS)
        self.backend.key_group = lambda key: key[0]
        for delta in state:
            self.backend.load(delta, key_groups)
        self.output = []
        self.kernel = JoinFactory(plan).make()
        self.kernel.open(
            KernelContext(
                *(is_streaming, GROUPS, self.backend.table, self.output.append, None, lambda: self.now),
                configuration=options,
                new_spill=None if spill is None else lambda: spill,
            )
        )

    @property
    def algorithm(self):
        return self.kernel._algorithm

    def give(self, index, rows):
        self.kernel.process(index, batch_of(rows, ARROW))
        return self.taken()

    def change(self, index, batch):
        self.kernel.process(index, batch)
        found = [pair for part in self.output for pair in zip(kinds_list(part), rows_of(part), strict=True)]
        self.output.clear()
        return told(found)

    def taken(self):
        found = [pair for batch in self.output for pair in zip(kinds_list(batch), rows_of(batch), strict=True)]
        self.output.clear()
        assert all(kind == INSERT for kind, _ in found)
        return [repr(row) for _, row in found]  # NaN is to be equal to NaN

    def state(self):
        self.kernel.flush()
        return pickle.loads(pickle.dumps(list(self.backend.full())))


def told(changes):
    """Changes as texts. Rows that differ in the sign of a zero are equal, so a retraction may take either."""
    return [(kind, re.sub(r"-0\.0\b", "0.0", repr(row))) for kind, row in changes]


def plan_of(kind, keys, condition, has_updates=False, null_aware=False):
    return JoinPlan(kind, (keys, keys), condition, TYPES, TYPES, QuerySettings(), null_aware, has_updates)


def fits(plan, left, right):
    equal = all(left[k] is not None and freeze(left[k]) == freeze(right[k]) for k in plan.keys[0])
    if not equal or plan.condition is None:
        return equal
    return left[NUMBER] is not None and right[NUMBER] is not None and left[NUMBER] < right[NUMBER]


CHANGES = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.tuples(ROWS, st.sampled_from([0, 0, 1, 2, 3])), min_size=1, max_size=25)),
    min_size=1,
    max_size=12,
)
ALL_KINDS = ["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]
KINDS = st.sampled_from(ALL_KINDS)


def changed(rows):
    batch = batch_of([row for row, _ in rows], ARROW)
    return replace(batch, kinds=np.array([kind for _, kind in rows], np.int8))


def modelled(plan, ttls_ms=(0, 0)):
    return JoinModel(plan, lambda left, right: fits(plan, left, right), ttls_ms)


def read(rows):
    """The rows as they are in columns."""
    return list(zip(rows_of(batch_of([row for row, _ in rows], ARROW)), [kind for _, kind in rows], strict=True))


TTLS = st.sampled_from([(0, 0), (0, 0), (10, 10), (10, None), (0, 10), (25, 10)])
PLACES = st.lists(st.sampled_from(["", "", "memory", "disk"]), min_size=12, max_size=12)
PAUSES = st.lists(st.sampled_from([0, 0, 4, 9, 30]), min_size=12, max_size=12)


@pytest.mark.parametrize("least", [saved_rows.LEAST, 3])
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(
    [(1, [((None, 1, zero, None, None), 0) for zero in (0.0, -0.0)]), (0, [((None, 0, None, None, None), 0)])],
    (),
    SMALLER,
    "INNER",
    (0, 0),
    [0] * 12,
    ["", "disk"],
)
@given(CHANGES, KEYS, CONDITIONS, KINDS, TTLS, PAUSES, PLACES)
def test_a_join_emits_what_one_row_after_the_other_does(
    least, monkeypatch, batches, keys, condition, kind, ttls_ms, pauses, places
):
    """Rows expire, and the join goes on from its state, in memory or in files, as if nothing had happened."""
    monkeypatch.setattr(row_store, "LEAST", least)
    monkeypatch.setattr(key_counts, "_LEAST", least)
    monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    for module in (updating_joins, updating_semi_joins):
        monkeypatch.setattr(module, "PAIRS", 1 << 17 if least > 3 else 7)
    follow(replace(plan_of(kind, keys, condition), state_ttl_ms=ttls_ms), batches, pauses, places)


def follow(plan, batches, pauses, places):
    """Compare a join with the model of it, while rows expire and it goes on from its state."""
    run, model = Run(plan), modelled(plan, [ttl_ms or 0 for ttl_ms in plan.state_ttl_ms])
    for (index, rows), pause, place in zip(batches, pauses, places, strict=False):
        model.now += pause
        run.now += pause
        if place:
            run = Run(plan, state=run.state(), now=run.now, spill=FixedSpill(100) if place == "disk" else None)
        expected = told(model.change(index, read(rows)))
        # Which of equal rows a retraction takes, and so the order of later pairs, is free.
        assert sorted(run.change(index, changed(rows))) == sorted(expected)
        run.kernel.flush()


@settings(max_examples=examples(150), deadline=None)
@given(
    CHANGES, KEYS, KINDS, st.lists(st.sampled_from([None, (), (NUMBER,)]), min_size=2, max_size=2), TTLS, PAUSES, PLACES
)
def test_rows_take_the_place_of_others_by_a_key(batches, keys, kind, uniques, ttls_ms, pauses, places):
    """With and without the row before an update; the key has the columns of the equations."""
    unique = tuple(None if more is None else (*keys, *(set(more) - set(keys))) for more in uniques)
    follow(replace(plan_of(kind, keys, None), state_ttl_ms=ttls_ms, unique=unique), batches, pauses, places)


@settings(max_examples=examples(100), deadline=None)
@given(BATCHES, KEYS)
def test_rows_come_in_the_order_of_the_batch(batches, keys):
    plan = plan_of("FULL", keys, None)
    run, model = Run(plan), modelled(plan)
    for index, rows in batches:
        inserted = [(row, INSERT) for row in rows]
        assert run.change(index, batch_of(rows, ARROW)) == told(model.change(index, read(inserted)))


@pytest.mark.parametrize("ttl_ms", [0, 10])
@pytest.mark.parametrize("condition", [None, SMALLER])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_join_goes_on_from_rows_of_a_former_release(kind, condition, ttl_ms):
    """They were `[row, number of matches, time of the last write]` by key if state was on disk or expired."""
    plan = replace(plan_of(kind, (TEXT,), condition), state_ttl_ms=(ttl_ms, ttl_ms))
    model, rest = modelled(plan, (ttl_ms, ttl_ms)), (None,) * 3
    for index in (0, 1, 0, 1):
        model.now += 4
        model.change(index, [((text, number, *rest), 0) for text in "ab" for number in (index, 2)])
    tables = []
    for name, entries in zip(("left", "right"), model.sides, strict=True):
        keys = keys_of(batch_of([entry[0] for entry in entries], ARROW), (TEXT,), GROUPS)
        by_key = {}
        for key, (row, count, written) in zip(keys, entries, strict=True):
            by_key.setdefault(key, []).append([row, count, written if ttl_ms else 0])
        tables.append((name, by_key))
    run = Run(plan, state=tables, now=model.now)
    for place, index in (("", 0), ("memory", 1), ("disk", 1), ("", 0)):
        model.now += 3
        run.now += 3
        rows = [(("a", 2, *rest), 3 - index), (("b", 0, *rest), 0), (("c", 1, *rest), 0)]
        assert sorted(run.change(index, changed(rows))) == sorted(told(model.change(index, read(rows))))
        if place:
            run = Run(plan, state=run.state(), now=run.now)
        assert not run.backend.table("left").data


@settings(max_examples=examples(60), deadline=None)
@given(BATCHES, BATCHES, st.sampled_from([(TEXT,), (NUMBER,), (TEXT, NUMBER)]))
def test_the_state_of_an_inner_join_is_split_by_key_groups(before, after, keys):
    plan = plan_of("INNER", keys, None)
    whole = Run(plan)
    for index, rows in before:
        whole.give(index, rows)
    parts = [Run(plan, state=whole.state(), key_groups=range(start, start + 4)) for start in (0, 4)]
    for index, rows in after:
        expected = whole.give(index, rows)
        groups = row_hashes(batch_of(rows, ARROW), keys) % GROUPS
        found = []
        for number, part in enumerate(parts):
            own = [row for row, group in zip(rows, groups, strict=True) if group // 4 == number]
            found += part.give(index, own) if own else []
        assert sorted(found) == sorted(expected)


@settings(max_examples=examples(100), deadline=None)
@given(
    *(BATCHES, KEYS, CONDITIONS, st.sampled_from(ALL_KINDS)),
    st.sampled_from(["128 mb", "1 kb", "1 b"]),
)
def test_bounded_joins_equal_comparing_all_rows(batches, keys, condition, kind, memory):
    plan = plan_of(kind, keys, condition)
    run = Run(plan, is_streaming=False, **{"execution.sorted-inputs.memory": memory})
    sides = ([], [])
    for index, rows in batches:
        assert run.give(index, rows) == []
        sides[index].extend(rows_of(batch_of(rows, ARROW)))
    run.kernel.end()
    left, right = sides
    matches = [(a, b) for a in range(len(left)) for b in range(len(right)) if fits(plan, left[a], right[b])]
    nulls = (None,) * len(TYPES)
    matched = ({a for a, _ in matches}, {b for _, b in matches})
    expected = []
    if kind not in ("SEMI", "ANTI"):
        expected = [left[a] + right[b] for a, b in matches]
    if kind in ("LEFT", "FULL"):
        expected += [row + nulls for a, row in enumerate(left) if a not in matched[0]]
    if kind in ("RIGHT", "FULL"):
        expected += [nulls + row for b, row in enumerate(right) if b not in matched[1]]
    if kind in ("SEMI", "ANTI"):
        expected = [row for a, row in enumerate(left) if (a in matched[0]) == (kind == "SEMI")]
    assert sorted(run.taken()) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    ("right", "kept"),
    [([], ["a", "b", None]), (["a"], ["b"]), (["a", None], [])],
    ids=["empty", "without NULL", "with NULL"],
)
def test_a_null_makes_not_in_unknown(right, kept):
    run = Run(plan_of("ANTI", (TEXT,), None, null_aware=True), is_streaming=False)
    rest = (None,) * (len(TYPES) - 1)
    run.give(0, [(text, *rest) for text in ("a", "b", None)])
    run.give(1, [(text, *rest) for text in right])
    run.kernel.end()
    assert run.taken() == [repr((text, *rest)) for text in kept]


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=30), max_size=10), st.integers(1, 7))
def test_an_index_finds_all_rows_in_order_in_runs_of_limited_size(batches, limit):
    before, room._MAX_ROWS = room._MAX_ROWS, 40
    try:
        index, added = RowIndex(), []
        for number, values in enumerate(batches):
            batch = batch_of(
                [(value, (number, place)) for place, value in enumerate(values)], [pa.int64(), pa.list_(pa.int64())]
            )
            added += rows_of(batch)
            index.add(batch, row_hashes(batch, (0,)))
            probes = batch_of([(value,) for value in (3, 9, 0)], [pa.int64()])
            found = []
            for run in index.runs():
                assert run.rows.length <= 40
                for positions, rows in pairs(run, row_hashes(probes, (0,)), limit):
                    assert len(positions) <= limit
                    found += zip(positions.tolist(), rows_of(run.rows.take(rows)), strict=True)
            expected = [(place, row) for place, value in enumerate((3, 9, 0)) for row in added if row[0] == value]
            assert sorted(found, key=lambda pair: pair[0]) == expected
    finally:
        room._MAX_ROWS = before


def test_segments_of_small_batches_are_merged():
    run = Run(plan_of("INNER", (TEXT,), None))
    for number in range(3000):
        run.give(0, [("a", number, None, None, None)])
        run.kernel.flush()
    table = run.backend.table("left changes").data
    assert sum(rows.length for rows in table.values()) == 3000
    assert len(table) < 25
    assert max(rows.length for rows in table.values()) < 8 * row_log._FULL


def test_rows_that_are_gone_leave_no_state(monkeypatch):
    monkeypatch.setattr(row_store, "LEAST", 10)
    monkeypatch.setattr(saved_rows, "LEAST", 10)
    run = Run(plan_of("FULL", (TEXT,), None))
    for number in range(200):
        row = ("a", number, None, None, None)
        run.change(0, changed([(row, 0)]))
        run.change(0, changed([(row, 3), (row, 3), (row, 0), (row, 3)]))
        run.kernel.flush()
    side = run.algorithm._sides[0]
    saved = sum(rows.length for rows in run.backend.table("left changes").data.values())
    assert max(saved, side._store.length) < 30


def many(length):
    numbers = [number % 1000 for number in range(length)]
    columns = [str(number) for number in numbers], numbers, [float(number) for number in numbers]
    empty = pa.nulls(length, ARROW[LIST]), pa.nulls(length, ARROW[DECIMAL])
    return ColumnBatch((*(pa.array(c, kind) for c, kind in zip(columns, ARROW, strict=False)), *empty), length)


@pytest.mark.parametrize("is_streaming", [True, False])
def test_the_work_of_a_join_does_not_grow_with_the_rows(is_streaming):
    def join(length):
        run = Run(plan_of("INNER", (TEXT, FLOAT), SMALLER), is_streaming)
        left, right = many(length), many(1000)

        def process():
            run.kernel.process(1, right)
            run.kernel.process(0, left)
            run.kernel.end()

        return calls_made(process)

    assert join(20_000) < 1.1 * join(2_000)


@pytest.mark.parametrize("keys", [(TEXT,), (FLOAT,)])
def test_the_work_of_changes_does_not_grow_with_the_rows(keys):
    def change(length):
        types = TYPES[:LIST]  # the values of nested columns are Python objects
        run = Run(replace(plan_of("FULL", keys, None), left_types=types, right_types=types))
        rows = ColumnBatch(many(length).columns[:LIST], length)
        run.kernel.process(0, rows)
        goes = replace(rows, kinds=np.full(length, 3, np.int8))

        def process():
            run.kernel.process(0, goes)
            run.kernel.process(0, rows)

        return calls_made(process)

    assert change(20_000) < 1.2 * change(2_000)
