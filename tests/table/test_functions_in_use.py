"""A function of tables is copied when it is used first: PyFlink pickles it then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from firesteel.table import DataTypes, StreamTableEnvironment, Table
from firesteel.table.expressions import col
from firesteel.table.udf import AggregateFunction, ScalarFunction, TableFunction, udaf, udf, udtf
from firesteel.testing import run_local
from tests.table.local_runs import environments

BIGINT = DataTypes.BIGINT()
ROW = DataTypes.ROW([DataTypes.FIELD("n", BIGINT)])
Number = Callable[[], int]


class _Last(AggregateFunction[int, list[int]]):
    def __init__(self, added: Number) -> None:
        self._added = added

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] = args[0] + self._added()

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> object:
        return BIGINT

    def get_accumulator_type(self) -> object:
        return DataTypes.ARRAY(BIGINT)


def _by_name(table: Table, t_env: StreamTableEnvironment, number: int, function: object) -> Table:
    t_env.create_temporary_function(f"f{number}", function)
    return t_env.sql_query(f"SELECT f{number}(n) AS n FROM t")


USES: dict[str, Callable[[Table, StreamTableEnvironment, int, Number], Table]] = {
    "call": lambda table, t_env, number, chosen: table.select(
        udf(lambda n: n + chosen(), result_type=BIGINT)(col("n")).alias("n")
    ),
    "name": lambda table, t_env, number, chosen: _by_name(
        table, t_env, number, udf(lambda n: n + chosen(), result_type=BIGINT)
    ),
    "aggregate of a name": lambda table, t_env, number, chosen: _by_name(table, t_env, number, _Last(chosen)),
    "map": lambda table, t_env, number, chosen: table.map(udf(lambda row: (row.n + chosen(),), result_type=ROW)),
    "flat_map": lambda table, t_env, number, chosen: table.flat_map(
        udtf(lambda row: [(row.n + chosen(),)], result_types=[BIGINT]).alias("n")
    ),
    "aggregate": lambda table, t_env, number, chosen: table.group_by(col("n")).select(
        udaf(_Last(chosen))(col("n")).alias("n")
    ),
}


def _values(t_env: StreamTableEnvironment, env: Any, tables: Iterable[Table]) -> list[tuple[object, ...]]:
    for table in tables:
        t_env.to_changelog_stream(table).collect_async()
    return sorted(tuple(row) for row in run_local(env).elements)


@pytest.mark.parametrize("use", USES)
def test_a_function_keeps_the_variables_that_it_was_used_with(use: str) -> None:
    env, t_env = environments()
    table = t_env.from_elements([(10,)], ["n"])
    t_env.create_temporary_view("t", table)
    tables = []
    for number in range(3):
        tables.append(USES[use](table, t_env, number, lambda: number))  # noqa: B023 - on purpose
    assert _values(t_env, env, tables) == [(10,), (11,), (12,)]


class _Added(ScalarFunction):
    def __init__(self) -> None:
        self.added = 1

    def eval(self, *args: int) -> int:
        return args[0] + self.added


def test_a_function_may_be_changed_until_it_is_used() -> None:
    env, t_env = environments()
    table, added = t_env.from_elements([(10,)], ["n"]), _Added()
    function = udf(added, result_type=BIGINT)
    added.added = 5
    first = table.select(function(col("n")))
    added.added = 7
    assert _values(t_env, env, [first, table.select(function(col("n")))]) == [(15,), (15,)]


def test_calls_of_a_function_are_calls_of_the_same_one() -> None:
    env, t_env = environments()
    function = udf(lambda n: n % 2, result_type=BIGINT)
    table = t_env.from_elements([(1,), (2,), (3,)], ["n"])
    grouped = table.group_by(function(col("n"))).select(function(col("n")), col("n").sum)
    assert (1, 4) in _values(t_env, env, [grouped])


class _Counting(ScalarFunction):
    """Counts the rows of its calls."""

    def __init__(self) -> None:
        self.count = 0

    def eval(self, *args: Any) -> Any:
        self.count += 1
        return self.count


class _CountingRows(TableFunction):
    def __init__(self) -> None:
        self.count = 0

    def eval(self, *args: Any) -> Iterable[int]:
        self.count += 1
        yield self.count


class _CountingAggregate(_Last):
    def __init__(self) -> None:
        super().__init__(lambda: 0)
        self.count = 0

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        self.count += 1
        accumulator[0] = self.count


class _CountingColumns(_Counting):
    def eval(self, *args: Any) -> Any:
        self.count += len(args[0])
        return args[0] * 0 + self.count


COUNTING: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "two calls": ("SELECT c(a), c(b) FROM t", [(1, 1), (2, 2)]),
    "calls in expressions": ("SELECT c(a) + 1, c(a) + 2 FROM t", [(2, 3), (3, 4)]),
    "a call in a call": ("SELECT c(c(a)), c(b) FROM t", [(1, 1), (2, 2)]),
    "condition": ("SELECT c(a), b FROM t WHERE c(b) > 0", [(1, 2), (2, 4)]),
    "union": ("SELECT c(a) FROM t UNION ALL SELECT c(b) FROM t", [(1,), (1,), (2,), (2,)]),
    "pandas": ("SELECT p(a), p(b) FROM t", [(2, 2), (2, 2)]),
    "table functions": (
        "SELECT x, y FROM t, LATERAL TABLE(r(a)) AS u(x), LATERAL TABLE(r(b)) AS v(y)",
        [(1, 1), (2, 2)],
    ),
    "aggregates": ("SELECT g(a), g(b) FROM t", [(1, 1), (2, 2)]),
    "aggregates over": ("SELECT g(a) OVER w, g(b) OVER w FROM t WINDOW w AS (ORDER BY PROCTIME())", [(1, 1), (2, 2)]),
}
"""A query that calls a function twice, and its rows in PyFlink."""


@pytest.mark.parametrize("name", COUNTING)
def test_each_call_has_a_function_of_its_own(name: str) -> None:
    query, expected = COUNTING[name]
    env, t_env = environments()
    numbers = DataTypes.ROW([DataTypes.FIELD("a", BIGINT), DataTypes.FIELD("b", BIGINT)])
    t_env.create_temporary_view("t", t_env.from_elements([(1, 2), (3, 4)], numbers))
    t_env.create_temporary_function("c", udf(_Counting(), result_type=BIGINT))
    t_env.create_temporary_function("p", udf(_CountingColumns(), result_type=BIGINT, func_type="pandas"))
    t_env.create_temporary_function("r", udtf(_CountingRows(), result_types=[BIGINT]))
    t_env.create_temporary_function("g", udaf(_CountingAggregate()))
    rows = _values(t_env, env, [t_env.sql_query(query)])
    assert set(rows) == set(expected)
