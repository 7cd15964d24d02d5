"""Functions get arguments of the types that they declare, and no others. Expected: what PyFlink 2.3 does."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.table import DataTypes, StreamTableEnvironment, Table
from firesteel.table.errors import ValidationException
from firesteel.table.expressions import col
from firesteel.table.udf import AggregateFunction, udaf, udf, udtf
from firesteel.testing import run_local
from tests.table.local_runs import environments

BIGINT, DOUBLE, STRING = DataTypes.BIGINT(), DataTypes.DOUBLE(), DataTypes.STRING()
FIELDS = DataTypes.ROW([DataTypes.FIELD("n", BIGINT), DataTypes.FIELD("s", STRING)])


class _Shown(AggregateFunction[str, list[str]]):
    def create_accumulator(self) -> list[str]:
        return [""]

    def accumulate(self, accumulator: list[str], *args: Any) -> None:
        accumulator[0] = repr(args)

    def get_value(self, accumulator: list[str]) -> str:
        return accumulator[0]


def _table(env: StreamTableEnvironment) -> Table:
    table = env.from_elements([(1, "a")], FIELDS)
    env.create_temporary_view("t", table)
    return table


@pytest.mark.parametrize(
    ("declared", "arguments", "shown"),
    [
        ([BIGINT], "n", "(1,)"),
        ([BIGINT], "1", "(1,)"),
        ([BIGINT], "NULL", "(None,)"),
        ([DOUBLE], "n", "(1.0,)"),
        ([DOUBLE], "1.5", "(1.5,)"),
        ([DOUBLE, STRING], "n, s", "(1.0, 'a')"),
        (None, "n, s, s", "(1, 'a', 'a')"),
    ],
)
def test_arguments_are_converted(declared: object, arguments: str, shown: str) -> None:
    env, t_env = environments()
    _table(t_env)
    scalar = udf(lambda *values: repr(values), input_types=declared, result_type=STRING)
    t_env.create_temporary_function("scalar", scalar)
    rows = udtf(lambda *values: [repr(values)], input_types=declared, result_types=[STRING])
    t_env.create_temporary_function("several", rows)
    aggregate = udaf(
        _Shown(), input_types=declared, result_type=STRING, accumulator_type=DataTypes.ARRAY(STRING), name="aggregate"
    )
    t_env.create_temporary_function("aggregate", aggregate)
    for query in (
        f"SELECT scalar({arguments}) FROM t",
        f"SELECT x FROM t, LATERAL TABLE(several({arguments})) AS r (x)",
        f"SELECT aggregate({arguments}) FROM t GROUP BY n",
    ):
        t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    assert [tuple(row) for row in run_local(env).elements] == [(shown,)] * 3


@pytest.mark.parametrize(
    ("declared", "arguments", "message"),
    [
        ([BIGINT], "s", r"Invalid function call: f\(STRING\); expected f\(BIGINT\)"),
        ([STRING], "n", r"Invalid function call: f\(BIGINT\); expected f\(STRING\)"),
        ([DataTypes.INT()], "n", r"f\(BIGINT\); expected f\(INT\)"),
        ([BIGINT.not_null()], "n", r"f\(BIGINT\); expected f\(BIGINT NOT NULL\)"),
        ([BIGINT, BIGINT], "n", r"f\(BIGINT\); expected f\(BIGINT, BIGINT\)"),
        ([BIGINT], "n, n", r"f\(BIGINT, BIGINT\); expected f\(BIGINT\)"),
        ([], "n", r"f\(BIGINT\); expected f\(\)"),
    ],
)
def test_other_arguments_are_refused(declared: object, arguments: str, message: str) -> None:
    _, t_env = environments()
    table = _table(t_env)
    function = udf(lambda *values: 1, input_types=declared, result_type=BIGINT, name="f")
    t_env.create_temporary_function("f", function)
    aggregate = udaf(
        _Shown(), input_types=declared, result_type=STRING, accumulator_type=DataTypes.ARRAY(STRING), name="f"
    )
    t_env.create_temporary_function("g", aggregate)
    for name in ("f", "g"):
        with pytest.raises(ValidationException, match=message.replace("f\\(", f"{name}\\(")):
            t_env.sql_query(f"SELECT {name}({arguments}) FROM t")
    with pytest.raises(ValidationException, match=message):
        table.select(function(*(col(name) for name in arguments.split(", "))))


def test_a_function_of_rows_declares_the_row() -> None:
    env, t_env = environments()
    counted = udf(lambda row: (row.n + 1,), input_types=[FIELDS], result_type=DataTypes.ROW([FIELDS.fields[0]]))
    t_env.to_changelog_stream(_table(t_env).map(counted)).collect_async()
    assert [tuple(row) for row in run_local(env).elements] == [(2,)]
