"""A result that does not fit what a Python function declares: one message for all kinds of functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas
import pytest

from firesteel.common import Row
from firesteel.errors import TypeMismatchError
from firesteel.table import DataTypes, Table
from firesteel.table.expressions import col
from firesteel.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf, udtf
from firesteel.testing import run_local
from tests.table.local_runs import environments

BIGINT = DataTypes.BIGINT()
PAIR = DataTypes.ROW([DataTypes.FIELD("x", BIGINT), DataTypes.FIELD("y", DataTypes.STRING())])
ONE = DataTypes.ROW([DataTypes.FIELD("x", BIGINT)])


class _Fixed:
    """The accumulator of a function that does not look at its rows."""

    def __init__(self, result: Any, kind: Any) -> None:
        self._result, self._kind = result, kind

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        """Nothing depends on the rows."""

    def get_result_type(self) -> Any:
        return self._kind

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(BIGINT)


class _Aggregate(_Fixed, AggregateFunction[Any, list[int]]):
    def get_value(self, accumulator: list[int]) -> Any:
        return self._result


class _TableAggregate(_Fixed, TableAggregateFunction[Any, list[int]]):
    def emit_value(self, accumulator: list[int]) -> Any:
        return self._result


def _row(kind: Any) -> Any:
    return kind if kind is PAIR else ONE


def _scalar(result: Any, kind: Any, table: Table) -> Table:
    return table.select(udf(lambda a: result, result_type=kind, name="f")(col("a")).alias("r"))


def _pandas(result: Any, kind: Any, table: Table) -> Table:
    return table.select(udf(lambda a: result, result_type=kind, name="f", func_type="pandas")(col("a")).alias("r"))


def _mapped(result: Any, kind: Any, table: Table) -> Table:
    return table.map(udf(lambda row: result, result_type=_row(kind), name="f"))


def _pandas_mapped(result: Any, kind: Any, table: Table) -> Table:
    return table.map(udf(lambda rows: result, result_type=_row(kind), name="f", func_type="pandas"))


def _rows(result: Any, kind: Any, table: Table) -> Table:
    names = ("r",) if kind is not PAIR else ("r", "s")
    return table.join_lateral(udtf(lambda a: result, result_types=_row(kind), name="f")(col("a")).alias(*names))


def _flat_mapped(result: Any, kind: Any, table: Table) -> Table:
    return table.flat_map(udtf(lambda row: result, result_types=_row(kind), name="f"))


def _aggregated(result: Any, kind: Any, table: Table) -> Table:
    return table.group_by(col("a")).select(udaf(_Aggregate(result, kind), name="f")(col("a")).alias("r"))


def _pandas_aggregated(result: Any, kind: Any, table: Table) -> Table:
    function = udaf(lambda a: result, result_type=kind, name="f", func_type="pandas")
    return table.group_by(col("a")).select(function(col("a")).alias("r"))


def _aggregated_rows(result: Any, kind: Any, table: Table) -> Table:
    return table.group_by(col("a")).aggregate(udaf(_Aggregate(result, _row(kind)), name="f")).select(col("*"))


def _pandas_aggregated_rows(result: Any, kind: Any, table: Table) -> Table:
    function = udaf(lambda rows: result, result_type=_row(kind), name="f", func_type="pandas")
    return table.group_by(col("a")).aggregate(function).select(col("*"))


def _flat_aggregated(result: Any, kind: Any, table: Table) -> Table:
    function = udtaf(_TableAggregate(result, _row(kind)), name="f")
    return table.group_by(col("a")).flat_aggregate(function).select(col("*"))


def _listed(use: Callable[[Any, Any, Table], Table]) -> Callable[[Any, Any, Table], Table]:
    return lambda result, kind, table: use([result], kind, table)


def _in_series(use: Callable[[Any, Any, Table], Table]) -> Callable[[Any, Any, Table], Table]:
    return lambda result, kind, table: use(pandas.Series([result]), kind, table)


KINDS: dict[str, Callable[[Any, Any, Table], Table]] = {
    "udf": _scalar,
    "pandas udf": _pandas,
    "value of a pandas udf": _in_series(_pandas),
    "map": _mapped,
    "pandas map": _pandas_mapped,
    "udtf": _rows,
    "row of a udtf": _listed(_rows),
    "flat_map": _flat_mapped,
    "row of flat_map": _listed(_flat_mapped),
    "udaf": _aggregated,
    "pandas udaf": _pandas_aggregated,
    "aggregate": _aggregated_rows,
    "pandas aggregate": _pandas_aggregated_rows,
    "flat_aggregate": _flat_aggregated,
    "row of flat_aggregate": _listed(_flat_aggregated),
}
"""What a program does with a function that returns a result for a declared type."""

FOR_VALUES: dict[str, Any] = {
    "text": "a",
    "large": 2**70,
    "row": Row(1, "a"),
    "dict": {"x": "a"},
    "set": {1},
    "object": object,
    "frame": pandas.DataFrame({"a": ["a"]}),
    "two rows": pandas.DataFrame({"a": [1, 2]}),
    "two values": pandas.Series([1, 2]),
}
"""Results that are no BIGINT, and no row of one."""

FOR_ROWS: dict[str, Any] = {
    "short": Row(1),
    "short tuple": (1,),
    "long": Row(1, "a", 2),
    "number": 1,
    "text": "ab",
    "swapped": Row("a", 1),
    "dict": {"z": 1},
    "object": object,
    "one column": pandas.DataFrame({"a": [1]}),
    "three columns": pandas.DataFrame({"a": [1], "b": ["a"], "c": [1]}),
    "two rows": pandas.DataFrame({"a": [1, 2], "b": ["a", "b"]}),
    "series": pandas.Series([1]),
}
"""Results that are no row of a BIGINT and a STRING."""


def _result_of(use: Callable[[Any, Any, Table], Table], result: Any, kind: Any) -> list[Any]:
    env, t_env = environments()
    table = t_env.from_elements([(1,)], DataTypes.ROW([DataTypes.FIELD("a", BIGINT)]))
    t_env.to_changelog_stream(use(result, kind, table)).collect_async()
    return list(run_local(env).elements)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", [BIGINT, PAIR], ids=["value", "row"])
def test_a_wrong_result_names_function_type_and_what_was_found(name: str, kind: Any) -> None:
    form = re.compile(r"result of function 'f'(, field \w+)?: declared as .+, found \w+ .+")
    for shape, result in (FOR_ROWS if kind is PAIR else FOR_VALUES).items():
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the test tells which
            _result_of(KINDS[name], result, kind)
        error: BaseException | None = caught.value
        while error is not None and not isinstance(error, TypeMismatchError):
            error = error.__cause__
        assert error is not None, (shape, caught.value)
        assert form.fullmatch(str(error)), (shape, str(error))


def test_wrong_results_of_pandas_functions_are_shown_by_their_shape() -> None:
    with pytest.raises(Exception, match=r"BIGINT as a pandas\.Series of length 1, found DataFrame of shape"):
        _result_of(_pandas, pandas.DataFrame({"a": [1]}), BIGINT)
    with pytest.raises(Exception, match="declared as BIGINT, found float64"):
        _result_of(_pandas, pandas.Series([1.5]), BIGINT)


def _declared(result: Any, kind: Any, table: Table) -> Table:
    return table.join_lateral(udtf(lambda a: result, result_types=[kind], name="f")(col("a")).alias("r"))


SEVERAL: dict[str, tuple[Any, Any, list[Any]]] = {
    "list": ([1, 2], BIGINT, [1, 2]),
    "range": (range(2), BIGINT, [0, 1]),
    "map": ({"a": 1}, DataTypes.MAP(DataTypes.STRING(), BIGINT), [{"a": 1}]),
    "series": (pandas.Series([1, 2]), DataTypes.ARRAY(BIGINT), [[1, 2]]),
    "bytes": (bytearray(b"ab"), DataTypes.BYTES(), [b"ab"]),
    "nothing": (None, BIGINT, []),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_only_lists_ranges_and_iterators_are_several_rows(name: str) -> None:
    result, kind, values = SEVERAL[name]
    assert [row[-1] for row in _result_of(_declared, result, kind)] == values
