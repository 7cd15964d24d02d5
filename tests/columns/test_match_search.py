"""MATCH_RECOGNIZE on arrays finds what a search finds that follows all ways row by row."""

from __future__ import annotations

import datetime
import random
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import ArrayType, DecimalType, DoubleType, NullType, TimestampType
from firesteel.columns.kernels.match import match, match_finding, match_rows, match_search, match_threads
from firesteel.columns.kernels.match.match import MatchFactory
from firesteel.columns.kernels.match.match_pattern import Step
from firesteel.columns.kernels.match.match_steps import Steps
from firesteel.columns.kernels.match.match_threads import Taken
from firesteel.columns.rex import Call, Literal
from firesteel.columns.rows import rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.values import arrow_type
from tests.columns.kernel_runs import KernelRun
from tests.columns.match_model import (
    NUMBER,
    TEXT,
    Model,
    aggregate,
    compare,
    either,
    first,
    is_null,
    last,
    number,
    of,
)
from tests.seeds import examples

TYPES = (TEXT, NUMBER, TimestampType(3))
QUANTIFIERS = [(1, 1), (1, 1), (0, 1), (0, None), (1, None), (2, None), (2, 2), (1, 3), (0, 2)]
NEVER = -1_000_000
SUBSETS = (("U", ("A", "C")),)


def pattern_of(steps):
    return ("concat", tuple(("repeat", ("var", s.name), s.low, s.high, s.greedy) for s in steps))


def steps_like(chance):
    names = "ABCD"[: chance.randint(1, 4)]
    steps = [Step(name, *chance.choice(QUANTIFIERS), chance.random() < 0.5) for name in names]
    return steps if any(step.low for step in steps) else steps_like(chance)


LOCAL = ["known", "low", "high", "any"]
DISTANT = ["rises", "above", "below first", "sum", "total", "total", "count", "subset", "back"]


def condition(chance, name, kinds):
    """A condition of a variable, about its row alone or about those before it, or None."""
    bound = number(chance.randrange(1, 6))
    match chance.choice(kinds):
        case "known":
            return compare("<>", of(name), number(0))
        case "low":
            return compare("<", of(name), bound)
        case "high":
            return compare(">", of("*"), bound)
        case "rises":
            return either(is_null(last(name, 1)), compare(">", of(name), last(name, 1)))
        case "above":
            return compare(">", of(name), of("A"))
        case "below first":
            return compare("<", last(name), first(chance.choice("AB"), chance.randrange(2)))
        case "sum":
            return compare("<", aggregate("SUM", name), number(chance.randrange(4, 14)))
        case "total":
            total = aggregate(chance.choice(["SUM", "COUNT", "AVG", "MIN", "MAX"]), chance.choice("ABU*"))
            limit = number(chance.randrange(chance.choice([9, 150])))
            return either(is_null(total), compare(chance.choice("<<>"), total, limit))
        case "count":
            return compare("<=", aggregate("COUNT", chance.choice("AB*")), number(3))
        case "subset":
            return compare("<=", last("U", chance.randrange(2)), bound)
        case "back":
            return compare("<>", of(name), last("*", chance.randrange(1, 4)))
    return None


MEASURES = (
    of("A"),
    first("B"),
    last("C", 1),
    last("*"),
    last("U"),
    aggregate("COUNT", "*"),
    aggregate("SUM", "B"),
    aggregate("COUNT", "U"),
)


def plan_of(steps, define, after=("PAST LAST ROW",), within=None, measures=MEASURES, is_rowtime=True):
    return MatchFactory(
        (0,),
        ((2, False, True),),
        pattern_of(steps),
        tuple(define),
        measures,
        after,
        within,
        SUBSETS,
        TYPES,
        (TEXT, *(NUMBER for _ in measures)),
        is_rowtime,
        QuerySettings(),
    )


def batch(rows):
    """Rows of a key, a value and a time in ms."""
    keys, values, times = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = [arrow_type(kind) for kind in TYPES]
    return ColumnBatch(
        (pa.array(keys, kinds[0]), pa.array(values, kinds[1]), pa.array(times, pa.timestamp("ms")).cast(kinds[2])),
        len(rows),
    )


class Compared:
    """A kernel beside a model for each key."""

    def __init__(self, steps, define, after, within, is_on_disk=False):
        self.run = KernelRun(plan_of(steps, define, after, within).make, is_on_disk=is_on_disk)
        self.models, self.make = {}, lambda: Model(steps, define, after, within, SUBSETS)

    def give(self, rows, now):
        """Give rows up to a watermark; return what kernel and models find, in order, or None for an error."""
        expected, found = [], None
        try:
            for key, value, time in rows:
                # Row by row: a match is emitted with the row that decides it and all matches before it.
                expected += self.matches(key, [(time, value)], NEVER)
            for key in self.models:
                expected += self.matches(key, [], now)
        except ValueError:
            expected = None
        self.run.kernel.process(0, batch(rows))
        with suppress(RuntimeError):
            self.run.kernel.watermark(now)
            found = [row for part in self.run.emitted for row in rows_of(part)]
            self.run.emitted.clear()
        return found, expected

    def matches(self, key, rows, now):
        model = self.models.setdefault(key, self.make())
        return [(key, *(model.value(rex, start, labels) for rex in MEASURES)) for start, labels in model.add(rows, now)]


def by_key(rows):
    return {key: [row for row in rows if row[0] == key] for key in "xyz"}


@pytest.mark.parametrize("kinds", [LOCAL, LOCAL + DISTANT], ids=["conditions of rows", "conditions of matches"])
@pytest.mark.parametrize("width", [1, 10, 100])
def test_the_same_matches_as_row_by_row(monkeypatch, kinds, width):
    matched = 0
    for seed in range(examples(300)):
        chance = random.Random(f"{seed} {width} {kinds}")
        monkeypatch.setattr(match_search, "_FEW", chance.choice([0, 512]))
        monkeypatch.setattr(match_search, "_IN_VAIN", chance.choice([0, 2, 32]))
        monkeypatch.setattr(match_finding, "_AT_ONCE", width)
        monkeypatch.setattr(match_threads, "_LEAST", chance.choice([1, 1024]))
        monkeypatch.setattr(match_rows, "_FEW", chance.choice([0, 0, 1024]))
        monkeypatch.setattr(match_rows, "_COPIED", chance.choice([0, 1]))
        steps = steps_like(chance)
        define = [(s.name, rex) for s in steps if (rex := condition(chance, s.name, kinds)) is not None]
        after = chance.choice([("PAST LAST ROW",), ("PAST LAST ROW",), ("NEXT ROW",), ("LAST", steps[-1].name)])
        within = chance.choice([None, None, None, 40])
        compared = Compared(steps, define, after, within, chance.random() < 0.2)
        compared.run.kernel._width.value = width
        # With few others most of the rows are alike, so that loops are long.
        values = [None, *range(7), *range(7), *[chance.randrange(7)] * chance.choice([0, 0, 90])]
        time, keys = 0, "xyz"[: chance.randint(1, 3)]
        for _ in range(chance.randint(1, 6)):
            rows, time = [], time + 1
            for _ in range(chance.choice([0, 1, 3, 20, 60])):
                time += chance.choice([0, 1, 5, 30])
                rows.append((chance.choice(keys), chance.choice(values), time))
            found, expected = compared.give(rows, time)
            if found is None:
                assert expected is None
                break
            assert by_key(found) == by_key(expected), (seed, steps, define, after, within)
            # Which partition comes first is open where time has decided.
            assert within is not None or found == expected, (seed, steps, define, after, within)
            matched += len(found)
            if chance.random() < 0.3:
                compared.run.restore()
                # In another job the watermark begins anew, so rows of earlier times may come.
                time -= chance.choice([0, 0, 20, 60])
    assert matched > 50


def test_long_searches_look_ahead_with_running_values():
    matched = 0
    for seed in range(examples(40)):
        chance = random.Random(seed)
        steps = [Step("A", 1, None, chance.random() < 0.5), Step("B", 0, None, True), Step("C", 1, 1, True)]
        define = [(name, condition(chance, name, ["total"])) for name in "AB"]
        define.append(("C", compare(">", aggregate("SUM", chance.choice("ABU*")), number(chance.randrange(100)))))
        compared, time = Compared(steps, define, ("PAST LAST ROW",), None), 0
        for _ in range(3):
            rows = [("x", chance.randrange(7), time + n + 1) for n in range(chance.choice([10, 40]))]
            time += len(rows)
            found, expected = compared.give(rows, time)
            assert found == expected, (seed, steps, define)
            matched += len(found)
    assert matched > 10


def test_a_match_ends_at_the_first_row_that_is_too_late_also_if_earlier_times_follow():
    """The watermark begins anew in each job that goes on from a savepoint, so rows of earlier times are not late."""
    steps, matched = [Step("A", 1, 1, True), Step("B", 0, None, True), Step("C", 1, 1, True)], 0
    for seed in range(examples(200)):
        chance = random.Random(seed)
        define = [("B", compare("<", of("B"), number(8))), ("C", compare(">", of("C"), number(7)))]
        compared = Compared(steps, define, ("NEXT ROW",), 60)
        for until in [200, 180, 180, 300]:
            times = sorted(chance.sample(range(until - 100, until + 1), 4))
            found, expected = compared.give([("x", chance.randrange(9), time) for time in times], until)
            assert found == expected, seed
            matched += len(found)
            compared.run.restore()
    assert matched > 100


@pytest.fixture
def taken(monkeypatch):
    """How many threads have taken a row in each step."""
    counts, follow = [], Steps.follow
    monkeypatch.setattr(
        Steps,
        "follow",
        lambda self, rows, threads, *more: counts.append(len(threads)) or follow(self, rows, threads, *more),
    )
    return counts


def test_long_searches_in_vain_are_given_up(taken):
    """Half of those that begin in short matches, and all of those in a long one, would go on to the end of all rows."""
    steps = [Step("A", 1, 1, True), Step("B", 0, None, True), Step("C", 1, 1, True)]
    define = [("B", compare("<=", of("B"), of("A"))), ("C", compare(">", of("C"), of("A")))]
    values = [0, 1] * 5000 + [2] * 3000
    run = KernelRun(plan_of(steps, define, measures=(of("A"), of("C"))).make)
    run.kernel.process(0, batch([("x", value, time) for time, value in enumerate(values)]))
    run.kernel.watermark(len(values))
    assert sum(part.length for part in run.emitted) == 5000
    assert len(taken) < 1000
    assert sum(taken) < 200 * len(values)


@pytest.mark.parametrize("at_once", [1, 7, 500])
@pytest.mark.parametrize(
    ("kind", "result", "factor"),
    [(DoubleType(), DoubleType(), 0.1), (DecimalType(18, 2), DecimalType(38, 2), Decimal(10**15))],
    ids=["float", "decimal"],
)
def test_running_sums_are_those_of_adding_row_by_row(at_once, kind, result, factor):
    """Adding floating-point numbers in another order would give another last digit, of which the condition tells."""
    none, factors = NullType(), Literal(factor, kind)
    product = Call("CAST", (Call("*", (Call("CAST", (of("A"),), kind), factors), result),), kind)
    total = Call("AGGREGATE SUM", (Literal("A", none), product), result)
    values = [n * n % 7 + 1 for n in range(500)]
    limit = Literal(reduce(lambda total, value: total + value * factor, values[:401], 0 * factor), result)
    steps, define = [Step("A", 1, None, True), Step("B", 1, 1, True)], [("A", compare("<>", total, limit))]
    run = KernelRun(plan_of(steps, define, ("NEXT ROW",), measures=(aggregate("COUNT", "*"),)).make)
    for start in range(0, 500, at_once):
        run.kernel.process(0, batch([("x", value, start + n) for n, value in enumerate(values[start:][:at_once])]))
        run.kernel.watermark(start + at_once - 1)
    assert [row for part in run.emitted for row in rows_of(part)] == [("x", 401)]


@pytest.mark.parametrize("within", [None, 1_000_000])
@pytest.mark.parametrize(
    "total", [of("B"), aggregate("SUM", "B"), aggregate("MAX", "*")], ids=["row", "sum", "maximum"]
)
def test_what_new_rows_cost_does_not_depend_on_how_many_wait(monkeypatch, taken, within, total):
    counts, take = [], ColumnBatch.take
    monkeypatch.setattr(ColumnBatch, "take", lambda self, places: counts.append(len(places)) or take(self, places))
    steps = [Step("A", 1, 1, True), Step("B", 0, None, True), Step("C", 1, 1, True)]
    define = [("B", compare("<", total, number(10**6))), ("C", compare(">", of("C"), of("A")))]
    run = KernelRun(plan_of(steps, define, measures=(of("A"), last("B"), of("C")), within=within).make)
    for start in range(0, 20_000, 200):
        values = [9 if not start and not n else 5 for n in range(200)]
        run.kernel.process(0, batch([("x", value, start + n) for n, value in enumerate(values)]))
        run.kernel.watermark(start + 200)
    run.kernel.process(0, batch([("x", 10**6, 20_001)]))
    run.kernel.watermark(20_001)
    assert [row for part in run.emitted for row in rows_of(part)] == [("x", 9, 5, 10**6)]
    assert sum(counts) < 20 * 20_000
    assert len(taken) < 2 * 100  # A search that was long before looks at all new rows at once.


def test_each_row_is_taken_a_few_times_however_long_the_search(taken):
    """A row that fits nothing ends a thousand ways to begin."""
    steps = [Step("A", 1, None, False), Step("B", 0, None, False), Step("C", 1, 1, True)]
    define = [
        ("A", compare("<", of("A"), number(5))),
        ("B", compare("<", of("B"), number(5))),
        ("C", compare("=", of("C"), number(7))),
    ]
    run = KernelRun(plan_of(steps, define, measures=(of("A"), of("B"))).make)
    values = ([1] * 1000 + [9]) * 5 + ([2] * 200 + [7]) * 2
    for start in range(0, len(values), 1500):
        run.kernel.process(0, batch([("x", value, start + n) for n, value in enumerate(values[start : start + 1500])]))
        run.kernel.watermark(start + 1500)
    assert [row[1:] for part in run.emitted for row in rows_of(part)] == [(2, None), (2, None)]
    assert sum(taken) < 20 * len(values)


def test_a_condition_that_may_fail_is_not_asked_in_vain():
    """In Flink no match starts at a row that another one has taken."""
    inverse = Call("/", (number(1), Call("-", (of("B"), of("A")), NUMBER)), NUMBER)
    steps = [Step("A", 1, 1, True), Step("B", 1, 1, True)]
    compared = Compared(steps, [], ("PAST LAST ROW",), None)
    compared.run = KernelRun(plan_of(steps, [("B", compare("<", number(0), inverse))]).make)
    found, _ = compared.give([("x", 1, 1), ("x", 2, 2), ("x", 2, 3)], 10)
    assert [row[1] for row in found] == [1]
    with pytest.raises(Exception, match="/ by zero"):
        compared.give([("x", 2, 12)], 20)


def test_aggregates_take_a_limited_number_of_rows_at_once(monkeypatch):
    """Matches that overlap have more rows than there are."""
    sizes, all_places = [], Taken.all_places

    def places(taken, steps):
        found = all_places(taken, steps)
        sizes.append(len(found[1]))
        return found

    monkeypatch.setattr(Taken, "all_places", places)
    monkeypatch.setattr(match, "_AT_ONCE", 1000)
    steps, define = [Step("A", 1, None, True), Step("B", 1, 1, True)], [("A", compare("<", of("A"), number(9)))]
    run = KernelRun(plan_of(steps, define, ("NEXT ROW",), measures=(aggregate("SUM", "A"),)).make)
    run.kernel.process(0, batch([("x", 9 if time == 400 else 1, time) for time in range(401)]))
    run.kernel.watermark(500)
    assert [row[1] for part in run.emitted for row in rows_of(part)] == list(range(400, 0, -1))
    assert max(sizes) <= 1000 + 400


def test_arguments_of_aggregates_that_may_fail_are_not_asked_in_vain():
    none = NullType()
    inverses = Call(
        "AGGREGATE SUM",
        (Literal("B", none), Call("/", (number(1), of("B")), NUMBER)),
        NUMBER,
    )
    steps = [Step("A", 1, 1, True), Step("B", 1, 1, True), Step("C", 1, 1, True)]
    run = KernelRun(plan_of(steps, [("B", compare("<", number(-1), inverses))], measures=(of("B"), of("C"))).make)
    run.kernel.process(0, batch([("x", value, time) for time, value in enumerate([5, 2, 0, 4])]))
    run.kernel.watermark(10)
    assert [row for part in run.emitted for row in rows_of(part)] == [("x", 2, 0)]


@pytest.mark.parametrize("partition", [(), (3,), (4, 3)])
def test_partitions_by_any_columns_go_on_after_a_restore(partition):
    """Of which rows are gone is told by the values of the columns, wherever these are."""
    steps, define = [Step("A", 1, 1, True), Step("B", 1, 1, True)], [("B", compare(">", of("B"), of("A")))]
    key_types = (TEXT, ArrayType(TEXT))
    plan = replace(
        plan_of(steps, define, measures=(of("A"), of("B"))),
        partition=partition,
        types=(*TYPES, *key_types),
        output_types=(*(key_types[column - 3] for column in partition), NUMBER, NUMBER),
    )
    run = KernelRun(plan.make)
    for time, value in enumerate([5, 4, 3, 7, 2, 8]):
        for place, key in enumerate([None, "y", "z"]):
            rows = batch([(key, value + place, 10 * time + place)])
            keys = rows.columns[0]
            nested = pa.array([[key] for key in keys.to_pylist()], arrow_type(key_types[1]))
            run.kernel.process(0, rows.with_columns([*rows.columns, keys, nested]))
        run.kernel.watermark(10 * time + 5)
        run.restore()
    found = [row[-2:] for part in run.emitted for row in rows_of(part)]
    if partition:
        assert found == [(3, 7), (4, 8), (5, 9), (2, 8), (3, 9), (4, 10)]
    else:
        assert found == [(5, 6), (4, 5), (3, 4), (5, 7), (8, 9), (2, 3), (4, 8), (9, 10)]


@pytest.mark.parametrize("restores", [False, True])
def test_a_match_is_released_when_the_time_of_an_earlier_one_is_over(restores):
    """In processing time no watermark tells, and no other row may come."""
    steps = [Step("A", 1, 1, True), Step("C", 0, None, False), Step("B", 1, 1, True)]
    define = [
        ("A", compare("<", of("A"), number(3))),
        ("B", compare("=", of("B"), Call("+", (of("A"), number(8)), NUMBER))),
    ]
    run = KernelRun(plan_of(steps, define, within=1_000, measures=(of("A"), of("B")), is_rowtime=False).make)
    assert run.kernel.next_processing_time() is None
    found = run.give(batch([("x", 1, 0)]))
    run.now = 10
    found += run.give(batch([("x", 2, 0), ("x", 10, 0)]))
    assert not found
    if restores:
        run.restore()
    run.now = run.kernel.next_processing_time()
    assert run.now == 1_001
    run.kernel.advance_processing_time(run.now)
    assert [row for part in run.emitted for row in rows_of(part)] == [("x", 2, 10)]


def test_rows_that_earlier_releases_kept_are_taken_over():
    """They had a list of rows with their times for each key, of which the first ones might be passed."""
    steps, define = [Step("A", 1, 1, True), Step("B", 1, 1, True)], [("B", compare(">", of("B"), of("A")))]
    run = KernelRun(plan_of(steps, define, measures=(of("A"), of("B"))).make)

    def row(key, value, time):
        return key, value, datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=time)

    for name, key, value in [
        ("rows", (3, "x"), [(1, row("x", 1, 1)), (2, row("x", 9, 2)), (3, row("x", 5, 3))]),
        ("starts", (3, "x"), 2),
        ("rows", (4, "y"), [(2, row("y", 7, 2))]),
        ("waiting", (4, "y"), [(20, row("y", 8, 20))]),
    ]:
        run.backend.table(name).put(key, value)
    run.start(list(run.backend.full()))
    run.give(batch([("x", 6, 15)]))
    run.kernel.watermark(30)
    assert [row for part in run.emitted for row in rows_of(part)] == [("x", 5, 6), ("y", 7, 8)]
    run.emitted.clear()
    run.restore()
    assert not [name for name in ("rows", "starts", "waiting") if run.backend.table(name).data]
