"""Table aggregate functions of the Table API."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment, TableAggregateFunction
from firesteel.table.errors import ValidationException
from firesteel.table.expressions import call, col, lit, row_interval
from firesteel.table.udf import udaf, udtaf
from firesteel.table.window import Session, Slide, Tumble
from firesteel.testing import run_local
from tests.table.local_runs import left_of

ROWS = [("a", 1, 0), ("b", 5, 1), ("a", 4, 4), ("a", 3, 11), ("b", 8, 12), ("a", 9, 14)]


class Top2(TableAggregateFunction):
    """The two greatest numbers with their ranks."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], number: int) -> None:
        accumulator[:] = sorted([*accumulator, number], reverse=True)[:2]

    def merge(self, accumulator: list[int], others: Any) -> None:
        for other in others:
            accumulator[:] = sorted([*accumulator, *other], reverse=True)[:2]

    def emit_value(self, accumulator: list[int]) -> Iterator[Row]:
        for rank, number in enumerate(accumulator):
            yield Row(number, rank + 1)

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("x", DataTypes.BIGINT()), DataTypes.FIELD("rank", DataTypes.INT())])

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


TOP2 = udtaf(Top2())


def second(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=number)


def rows_of(build: Callable[[Any], Any]) -> list[tuple[Any, ...]]:
    """The rows that remain of a table over `ROWS`."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    schema = (
        Schema.new_builder()
        .column("k", DataTypes.STRING())
        .column("x", DataTypes.BIGINT())
        .column("ts", DataTypes.TIMESTAMP(3))
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    types = Types.ROW_NAMED(["k", "x", "ts"], [Types.STRING(), Types.LONG(), Types.SQL_TIMESTAMP()])
    stream = env.from_collection([Row(k, x, second(at)) for k, x, at in ROWS], types)
    t_env.to_changelog_stream(build(t_env.from_data_stream(stream, schema))).collect_async()
    return sorted(left_of(run_local(env).elements).elements())


def by_key(table: Any) -> Any:
    return table.group_by(col("k")).flat_aggregate(TOP2(col("x")).alias("v", "n"))


SELECTED = {
    "columns in another order": (
        lambda t: by_key(t).select(col("n"), col("k")),
        {(1, "a"), (2, "a"), (1, "b"), (2, "b")},
    ),
    "expressions": (
        lambda t: by_key(t).select((col("v") * 10 + col("n")).alias("m"), col("k").upper_case),
        {(91, "A"), (42, "A"), (81, "B"), (52, "B")},
    ),
    "all": (lambda t: by_key(t).select(col("*")), {("a", 9, 1), ("a", 4, 2), ("b", 8, 1), ("b", 5, 2)}),
    "the function's names": (
        lambda t: t.group_by(col("k")).flat_aggregate(TOP2(col("x"))).select(col("rank"), col("x")),
        {(1, 9), (2, 4), (1, 8), (2, 5)},
    ),
    "a key with an alias": (
        lambda t: t.group_by((col("x") % 2).alias("odd")).flat_aggregate(TOP2(col("x"))).select(col("x"), col("odd")),
        {(9, 1), (5, 1), (8, 0), (4, 0)},
    ),
    "no key": (lambda t: t.flat_aggregate(TOP2(col("x"))).select(col("x")), {(9,), (8,)}),
}


@pytest.mark.parametrize("name", SELECTED)
def test_select_computes_its_arguments(name: str) -> None:
    build, expected = SELECTED[name]
    assert set(rows_of(build)) == expected


def test_names_of_selected_columns() -> None:
    names: list[str] = []

    def build(table: Any) -> Any:
        found = by_key(table).select(col("v").alias("best"), col("n") + 1)
        names.extend(found.get_schema().get_field_names())
        return found

    rows_of(build)
    assert names == ["best", "_c1"]


WINDOWS = {
    "tumble": (
        Tumble.over(lit(10).seconds),
        [("a", 1, 0), ("a", 3, 10), ("a", 4, 0), ("a", 9, 10), ("b", 5, 0), ("b", 8, 10)],
    ),
    "slide": (
        Slide.over(lit(10).seconds).every(lit(5).seconds),
        [
            *(("a", 1, -5), ("a", 1, 0), ("a", 3, 5), ("a", 3, 10), ("a", 4, -5), ("a", 4, 0), ("a", 9, 5)),
            *(("a", 9, 10), ("b", 5, -5), ("b", 5, 0), ("b", 8, 5), ("b", 8, 10)),
        ],
    ),
    "session": (
        Session.with_gap(lit(5).seconds),
        [("a", 1, 0), ("a", 3, 11), ("a", 4, 0), ("a", 9, 11), ("b", 5, 1), ("b", 8, 12)],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_table_aggregate_functions(name: str) -> None:
    window, expected = WINDOWS[name]

    def build(table: Any) -> Any:
        grouped = table.window(window.on(col("ts")).alias("w")).group_by(col("w"), col("k"))
        return grouped.flat_aggregate(TOP2(col("x")).alias("v", "n")).select(col("k"), col("v"), col("w").start)

    assert rows_of(build) == [(k, v, second(start)) for k, v, start in expected]


def test_windows_of_rows() -> None:
    def build(table: Any) -> Any:
        window = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
        grouped = table.window(window).group_by(col("w"), col("k"))
        return grouped.flat_aggregate(TOP2(col("x"))).select(col("k"), col("x"), col("rank"))

    assert rows_of(build) == [("a", 1, 2), ("a", 3, 2), ("a", 4, 1), ("a", 9, 1), ("b", 5, 2), ("b", 8, 1)]


def test_properties_of_windows_beside_an_aggregate() -> None:
    kind = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("m", DataTypes.BIGINT())])
    ends = udaf(lambda column: Row(int(column.min()), int(column.max())), result_type=kind, func_type="pandas")

    def build(table: Any) -> Any:
        grouped = table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(col("w"), col("k"))
        return grouped.aggregate(ends(col("x")).alias("low", "high")).select(col("high"), col("w").end, col("k"))

    assert rows_of(build) == [(4, second(10), "a"), (5, second(10), "b"), (8, second(20), "b"), (9, second(20), "a")]


def test_an_alias_has_a_name_per_column() -> None:
    with pytest.raises(ValidationException, match="table of function 'Top2' has 2 columns, whereas alias list has 1"):
        rows_of(lambda t: t.group_by(col("k")).flat_aggregate(TOP2(col("x")).alias("top")).select(col("k")))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda t: by_key(t).select(col("v").sum), "Aggregate functions are not supported in the select right after"),
        (lambda t: t.group_by(col("k")).flat_aggregate(TOP2(col("x")).alias("k", "r")).select(col("r")), "Ambiguous"),
        (lambda t: t.group_by(col("k")).flat_aggregate(col("x").sum).select(col("k")), "A flatAggregate only accepts"),
        (
            lambda t: t.group_by(col("k")).aggregate(col("x").sum.alias("k")).select(col("k")),
            "Ambiguous column name: k",
        ),
        (
            lambda t: t.group_by(col("k")).aggregate(col("x").sum.alias("s")).select(col("s").max + 1),
            "Aggregate functions are not supported in the select right after",
        ),
    ],
)
def test_what_flink_refuses(build: Any, message: str) -> None:
    with pytest.raises(ValidationException, match=message):
        rows_of(build)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(ValidationException, match="'ts' not found"):
        rows_of(lambda t: by_key(t).select(col("ts"), call("ABS", col("v"))))
