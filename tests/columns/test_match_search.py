"""The search for matches takes each row a few times, and finds what a search finds that remembers nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns import column_types as t
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernels.match.match import MatchFactory
from firesteel.columns.kernels.match.match_expressions import Matched, Running
from firesteel.columns.kernels.match.match_pattern import Step
from firesteel.columns.kernels.match.match_search import DeadEnds, Search
from firesteel.columns.rex import Call, InputRef, Literal
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.settings import QuerySettings
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.columns.kernel_runs import KernelRun
from tests.seeds import examples

TEXTS_AND_NUMBERS = (parse_type("STRING"), parse_type("INT"))

STEPS = st.lists(
    st.builds(
        lambda name, counts, greedy: Step(name, *counts, greedy),
        st.sampled_from("ABC"),
        st.sampled_from([(1, 1), (0, 1), (0, None), (1, None), (2, None), (2, 2), (1, 3)]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
ROWS = st.lists(st.sampled_from(["", "A", "B", "C", "AB", "BC", "AC", "ABC"]), max_size=14)


class Matches:
    """The matches in rows, each of which is the variables that it may be; they come in parts."""

    def __init__(self, steps, remembers, skips_to_next=False):
        self._steps, self._remembers, self._skips_to_next = tuple(steps), remembers, skips_to_next
        self._rows, self._search, self._removed = [], None, 0
        self.found, self.taken = [], 0

    def add(self, rows):
        self._rows += [(0, row) for row in rows]
        start, dead_ends = 0, self._new()
        while start < len(self._rows):
            groups = {step.name: () for step in self._steps}
            search = self._search or Search(self._steps, self._take, groups, None, start, dead_ends)
            found, self._search = search.run(self._rows, 0), None
            if search.waits:
                self._search = search
                break
            dead_ends = search.dead_ends if found is None else self._new()
            length = len(found.labels) if found else 0
            if found:
                self.found.append((self._removed + start, "".join(found.labels)))
            start += 1 if found is None or self._skips_to_next else length
        if self._search is not None:
            self._search.remove_rows(start)
        self._removed += start
        self._rows = self._rows[start:]

    def _new(self):
        return DeadEnds() if self._remembers else None

    def _take(self, name, matched):
        self.taken += 1
        fits = name in matched.rows[matched.start + len(matched.labels)][1]
        if fits:
            matched.take(name)
        return fits


@settings(max_examples=examples(400), deadline=None)
@given(STEPS, st.lists(ROWS, max_size=4), st.booleans())
def test_dead_ends_change_no_match(steps, parts, skips_to_next):
    found = []
    for remembers in (True, False):
        matches = Matches(steps, remembers, skips_to_next)
        for rows in parts:
            matches.add(rows)
        found.append(matches.found)
    assert found[0] == found[1]


def test_each_row_is_taken_a_few_times_however_long_the_search():
    """A row that fits nothing ends a thousand ways to begin."""
    steps = [Step("A", 1, None, False), Step("B", 0, None, False), Step("C", 1, 1, True)]
    matches = Matches(steps, True)
    for _ in range(5):
        matches.add(["AB"] * 1000 + [""])
    assert matches.found == []
    assert matches.taken < 4 * 5005


class Sum:
    """A call of SUM over the rows of `A`."""

    name, is_distinct = "A", False

    def __init__(self):
        self.arguments = [lambda row: row[0]]
        self.accumulator = find_aggregate("SUM").create([t.IntType()], t.IntType(), False)


@given(st.lists(st.sampled_from(["A", "B", "back", "value"]), max_size=40))
def test_aggregates_follow_the_match(calls):
    matched, aggregate = Matched(0, {"A": ["A"], "B": []}), Sum()
    matched.rows = [(0, (number * number,)) for number in range(40)]
    for call in calls:
        if call in ("A", "B"):
            matched.take(call)
        elif call == "back" and matched.labels:
            matched.back_to(len(matched.labels) - 1)
        else:
            squares = [place * place for place, label in enumerate(matched.labels) if label == "A"]
            assert matched.running(aggregate) == (sum(squares) if squares else None)


def test_rows_are_added_to_an_aggregate_once():
    running = Running(Sum())
    for count in range(1, 5):
        running.add([(count,)])
        assert (running.count, running.value()) == (count, count * (count + 1) // 2)


@pytest.mark.parametrize("restores", [False, True])
def test_a_match_is_released_when_the_time_of_an_earlier_one_is_over(restores):
    """In processing time no watermark tells, and no other row may come."""
    kind, number = TEXTS_AND_NUMBERS

    def of(variable, index):
        return Call(
            "MATCH_REF", (Literal(variable, kind), InputRef(index, (kind, number)[index])), (kind, number)[index]
        )

    def is_kind(variable):
        return Call("=", (of(variable, 0), Literal(variable, kind)), t.BooleanType())

    same = Call("=", (of("B", 1), of("A", 1)), t.BooleanType())
    plan = MatchFactory(
        (),
        (),
        ("concat", (("var", "A"), ("repeat", ("var", "C"), 0, None, False), ("var", "B"))),
        (("A", is_kind("A")), ("B", Call("AND", (is_kind("B"), same), t.BooleanType()))),
        (of("A", 1), of("B", 1)),
        ("PAST LAST ROW",),
        1_000,
        (),
        TEXTS_AND_NUMBERS,
        (number, number),
        False,
        QuerySettings(),
    )
    run = KernelRun(plan.make)
    assert run.kernel.next_processing_time() is None
    found = run.give(batch_of([("A", 1)], list(map(arrow_type, TEXTS_AND_NUMBERS))))
    run.now = 10
    found += run.give(batch_of([("A", 2), ("B", 2)], list(map(arrow_type, TEXTS_AND_NUMBERS))))
    assert not found
    if restores:
        run.restore()
    run.now = run.kernel.next_processing_time()
    assert run.now == 1_001
    run.kernel.advance_processing_time(run.now)
    assert [row for batch in run.emitted for row in rows_of(batch)] == [(2, 2)]
