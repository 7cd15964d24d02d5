"""UNNEST, lookup joins and normalized upserts on columns, compared with rows."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import RowField, RowType
from firesteel.columns.kernels.joins.correlate import CorrelateFactory
from firesteel.columns.kernels.joins.lookup_joins import LookupJoinFactory
from firesteel.columns.kernels.normalize import NormalizeFactory
from firesteel.columns.kernels.rows import past_rows, saved_rows
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, batch_of
from firesteel.columns.runs import room
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type, to_arrow
from tests.columns.kernel_runs import KernelRun
from tests.columns.rexes import call, column
from tests.seeds import seeds

INT, TEXT = parse_type("INT"), parse_type("STRING")
PAIR = (INT, TEXT)
ARROW = [arrow_type(kind) for kind in PAIR]

UNNESTED = {
    "ARRAY<INT>": ([[1, None, 2], None, [], [3]], ("INT",), lambda value: [(one,) for one in value]),
    "ARRAY<ROW<a INT, b STRING>>": (
        [[(1, "x"), None], [(None, "y")]],
        PAIR,
        lambda value: [one or (None, None) for one in value],
    ),
    "MAP<STRING, INT>": ([{"a": 1, "b": None}, None, {}], ("STRING", "INT"), lambda value: list(value.items())),
    "MULTISET<STRING>": (
        [{"a": 2, "b": 1}, {}, None],
        ("STRING",),
        lambda value: [(one,) for one, n in value.items() for _ in range(n)],
    ),
}


@pytest.mark.parametrize("ordinality", [True, False])
@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("name", UNNESTED)
def test_unnest(name, outer, ordinality):
    values, types, rows = UNNESTED[name]
    kinds = [parse_type(kind) if isinstance(kind, str) else kind for kind in types] + [INT] * ordinality
    columns = RowType([RowField(f"f{place}", kind) for place, kind in enumerate(kinds)])
    plan = CorrelateFactory(
        "UNNEST WITH ORDINALITY" if ordinality else "UNNEST",
        *((column(1, name),), outer, (INT, parse_type(name)), columns, None, QuerySettings()),
    )
    arrays = (pa.array(range(len(values)), pa.int32()), to_arrow(values, parse_type(name)))
    run, wanted = KernelRun(plan.make), []
    for start in (0, 1):  # also a slice, whose offsets do not begin with 0
        wanted = []
        for place, value in list(enumerate(values))[start:]:
            found = rows(value) if value is not None else []
            found = [(*row, number) for number, row in enumerate(found, 1)] if ordinality else found
            wanted += [(place, *row) for row in found or ([(None,) * len(kinds)] if outer else [])]
        given = ColumnBatch(tuple(array.slice(start) for array in arrays), len(values) - start)
        assert [(row[0], *row[2:]) for _, row in run.give(given)] == wanted


class Found:
    """A lookup in a dictionary, which must be open to be asked."""

    def __init__(self, table):
        self.table, self.asked, self.is_open = table, [], False

    def __call__(self, keys):
        assert self.is_open
        self.asked.extend(keys)
        return [self.table.get(key, []) for key in keys]

    def open(self):
        self.is_open = True

    def close(self):
        self.is_open = False


@pytest.mark.parametrize("has_condition", [True, False])
@pytest.mark.parametrize("outer", [True, False])
def test_lookup_joins_ask_once_for_each_key(outer, has_condition):
    chance = random.Random(1)
    table = {(number,): [(number, text) for text in "abc"[: number % 4]] for number in range(8)}
    lookup = Found(table)
    condition = call("<>", column(1, "STRING"), column(3, "STRING")) if has_condition else None
    run = KernelRun(LookupJoinFactory(lookup, (0,), outer, PAIR, PAIR, condition, QuerySettings()).make)
    rows = [(chance.choice([None, *range(10)]), chance.choice("abc")) for _ in range(60)]
    kinds = [chance.choice([INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER]) for _ in rows]
    wanted = []
    for kind, (number, text) in zip(kinds, rows, strict=True):
        pairs = [(number, text, *other) for other in table.get((number,), []) if not has_condition or other[1] != text]
        wanted += [(kind, pair) for pair in pairs or ([(number, text, None, None)] if outer else [])]
    assert run.give(batch_of(rows, ARROW, kinds)) == wanted
    assert sorted(lookup.asked) == sorted({(number,) for number, _ in rows if number is not None})
    nothing = batch_of([(None, "a")], ARROW)
    assert [row for _, row in run.give(nothing)] == ([(None, "a", None, None)] if outer else [])
    assert lookup.is_open
    run.kernel.close()
    assert not lookup.is_open


def normalized(rows, kinds, known):
    for kind, row in zip(kinds, rows, strict=True):
        before = known.get(row[0])
        if kind == DELETE:
            if before is not None:
                yield DELETE, known.pop(row[0])
        elif kind != UPDATE_BEFORE and before != row:
            known[row[0]] = row
            yield from [(INSERT, row)] if before is None else [(UPDATE_BEFORE, before), (UPDATE_AFTER, row)]


@pytest.mark.parametrize("is_on_disk", [True, False])
@pytest.mark.parametrize("seed", seeds(2, 6))
def test_upserts_become_a_full_changelog(seed, is_on_disk, monkeypatch):
    if is_on_disk:
        monkeypatch.setattr(room, "_LEAST_BYTES", 1)
    monkeypatch.setattr(saved_rows, "LEAST", 3)
    monkeypatch.setattr(past_rows, "LEAST", 3)
    chance, known = random.Random(seed), {}
    run = KernelRun(NormalizeFactory((0,), PAIR).make, is_on_disk=is_on_disk)
    for _ in range(60):
        count = chance.randrange(1, 12)
        rows = [(chance.choice([None, *range(2 * seed + 2)]), chance.choice([None, "a", "b"])) for _ in range(count)]
        kinds = [chance.choice([INSERT, UPDATE_AFTER, DELETE, UPDATE_BEFORE]) for _ in rows]
        batch = batch_of(rows, ARROW, kinds)
        assert run.give(batch) == list(normalized(rows, kinds, known))
        if chance.random() < 0.3:
            run.restore()
        elif chance.random() < 0.3:
            run.kernel.flush()
            list(run.backend.delta())


def test_deleted_keys_are_forgotten(monkeypatch):
    monkeypatch.setattr(past_rows, "LEAST", 10)
    run = KernelRun(NormalizeFactory((0,), PAIR).make)
    for number in range(300):
        run.give(batch_of([(number, "a"), (number, "a")], ARROW, [INSERT, DELETE]))
        run.kernel.flush()
    assert len(run.kernel._past._numbers) < 20


def test_rows_of_keys_expire():
    run = KernelRun(NormalizeFactory((0,), PAIR).make, ttl_ms=100)
    found = []
    for now in (0, 60, 120, 230):
        run.now = now
        found.append([kind for kind, _ in run.give(batch_of([(1, str(now))], ARROW))])
        run.restore()
    assert found == [[INSERT], [UPDATE_BEFORE, UPDATE_AFTER], [UPDATE_BEFORE, UPDATE_AFTER], [INSERT]]


@pytest.mark.parametrize("ttl_ms", [0, 100])
def test_an_equal_row_is_emitted_if_it_prolongs_the_life_of_its_key(ttl_ms):
    run = KernelRun(NormalizeFactory((0,), PAIR).make, ttl_ms=ttl_ms)
    kinds = [kind for kind, _ in run.give(batch_of([(1, "a"), (1, "a")], ARROW))]
    assert kinds == [INSERT, *([UPDATE_BEFORE, UPDATE_AFTER] if ttl_ms else [])]


def test_a_job_goes_on_from_the_entries_of_a_former_release():
    former = KernelRun(NormalizeFactory((0,), PAIR).make)
    former.backend.table("rows").put((0, 7), (7, "a"))
    run = KernelRun(NormalizeFactory((0,), PAIR).make)
    run.start(list(former.backend.full()))
    assert run.give(batch_of([(7, "a"), (7, "b")], ARROW)) == [(UPDATE_BEFORE, (7, "a")), (UPDATE_AFTER, (7, "b"))]
    run.restore()
    assert run.give(batch_of([(7, None)], ARROW, [DELETE])) == [(DELETE, (7, "b"))]
