"""Arguments of functions that only OVER has, as Flink 2.3 takes or refuses them."""

from __future__ import annotations

import pytest

from firesteel.common.table_errors import ValidationException
from firesteel.errors import JobExecutionError
from firesteel.table import DataTypes
from firesteel.table.udf import udaf
from tests.table.environments import environment, remaining

ROWS = "(VALUES (1, 10), (2, CAST(NULL AS INT)), (3, 30), (4, 40)) AS t (i, x)"
COUNT = "Invalid number of arguments to function '{}'"
LITERAL = "Argument to function 'NTILE' must be a literal"
POSITIVE = "Argument to function 'NTILE' must be a positive integer literal"
REFUSED = {
    **{f"{name}(x)": COUNT.format(name) for name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST")},
    **{call: COUNT.format(call.partition("(")[0]) for call in ("NTILE()", "NTILE(2, 3)", "LAG()", "LEAD(x, 1, 2, 3)")},
    "RANK(*)": "Unknown identifier '*'",
    "LAG(*)": "Unknown identifier '*'",
    "NTILE('x')": "Cannot apply 'NTILE' to arguments of type 'NTILE(<CHAR(1)>)'",
    "NTILE(2.5)": "Cannot apply 'NTILE' to arguments of type 'NTILE(<DECIMAL(2, 1)>)'",
    "NTILE(NULL)": "Illegal use of 'NULL'",
    "NTILE(x)": LITERAL,
    "NTILE(1 + 1)": LITERAL,
    "NTILE(0)": POSITIVE,
    "NTILE(-1)": POSITIVE,
    "LAG(x, 'a')": "Cannot apply 'LAG' to arguments of type 'LAG(<INTEGER>, <CHAR(1)>)'",
    "LAG(x, NULL)": "Illegal use of 'NULL'",
    "LAG(DISTINCT x)": "DISTINCT/ALL not allowed with LAG function",
    "NTILE(DISTINCT 2)": "DISTINCT/ALL not allowed with NTILE function",
    "SUM0(x)": "OVER must be applied to aggregate function, not SUM0",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_a_function_does_not_take(call):
    with pytest.raises(ValidationException) as caught:
        environment("batch").sql_query(f"SELECT {call} OVER (ORDER BY i) FROM {ROWS}")
    assert REFUSED[call] in str(caught.value)


DEFAULTS = {
    "LAG(x, 1, 2.7)": (DataTypes.INT(), [2, 10, None, 30]),
    "LAG(x, 1, CAST(7 AS BIGINT))": (DataTypes.INT(), [7, 10, None, 30]),
    "LEAD(CAST(x AS DOUBLE), 1, 7)": (DataTypes.DOUBLE(), [None, 30.0, 40.0, 7.0]),
    "LAG(x, 1, x + i)": (DataTypes.INT(), [11, 10, None, 30]),
    "LAG(i, 1, 7)": (DataTypes.INT(False), [7, 1, 2, 3]),
    "LAG(i, 1, x)": (DataTypes.INT(), [10, 1, 2, 3]),
}
"""Types and values with a default."""


@pytest.mark.parametrize("call", DEFAULTS)
def test_a_default_has_the_type_of_the_column(call):
    found = environment("batch").sql_query(f"SELECT i, {call} OVER (ORDER BY i) AS v FROM {ROWS}")
    kind, values = DEFAULTS[call]
    assert found.get_schema().get_field_data_types()[1] == kind
    assert [row[1] for row in sorted(remaining(found))] == values


def test_a_value_of_lag_may_be_null_despite_its_default():
    """Flink's type is NOT NULL there, and it finds no such rows."""
    found = environment("batch").sql_query(
        f"SELECT i FROM (SELECT i, LAG(x, 1, 7) OVER (ORDER BY i) AS v FROM {ROWS}) WHERE v IS NULL"
    )
    assert remaining(found) == [(3,)]


@pytest.mark.parametrize("call", ["LAG(i, x)", "LEAD(i, x)", "LAG(i, CAST(NULL AS INT))"])
def test_an_offset_that_is_null_fails_the_job(call):
    with pytest.raises(JobExecutionError, match="The offset of LAG or LEAD is NULL"):
        remaining(environment("batch").sql_query(f"SELECT {call} OVER (ORDER BY i) FROM {ROWS}"))


RANGES = {
    ("INT", "1.5 PRECEDING AND 2.5 FOLLOWING"): [3, 4, 3, 2, 1],
    ("INT", "0.5 PRECEDING AND CURRENT ROW"): [1, 1, 1, 1, 1],
    ("DECIMAL(4, 2)", "1.5 PRECEDING AND 0.25 FOLLOWING"): [1, 2, 2, 2, 1],
    ("DOUBLE", "1.5 PRECEDING AND 0.25 FOLLOWING"): [1, 2, 2, 2, 1],
    ("FLOAT", "0.1 PRECEDING AND 1.5 FOLLOWING"): [2, 2, 2, 1, 1],
}
"""Rows of the frames of 1, 2, 3, 4 and 9."""


@pytest.mark.parametrize(("kind", "frame"), RANGES)
@pytest.mark.parametrize("order", ["", "DESC"])
def test_bounds_of_ranges_may_have_a_point(kind, frame, order):
    values = [1, 2, 3, 4, 9] if not order else [-1, -2, -3, -4, -9]
    rows = ", ".join(f"({i}, CAST({value} AS {kind}))" for i, value in enumerate(values))
    query = f"SELECT i, COUNT(*) OVER (ORDER BY x {order} RANGE BETWEEN {frame}) FROM (VALUES {rows}) AS t (i, x)"
    assert [count for _, count in sorted(remaining(environment("batch").sql_query(query)))] == RANGES[kind, frame]


def test_distances_of_floating_point_numbers_are_their_differences():
    """0.3 - 0.1 is less than 0.2, though 0.1 + 0.2 is more than 0.3; the values are Flink's."""
    rows = "(VALUES (1, 0.1E0), (2, 0.3E0), (3, 0.6E0)) AS t (i, x)"
    query = f"SELECT i, COUNT(*) OVER (ORDER BY x RANGE BETWEEN 0.3 PRECEDING AND 0.2 FOLLOWING) FROM {rows}"
    assert sorted(remaining(environment("batch").sql_query(query))) == [(1, 2), (2, 2), (3, 2)]
    query = query.replace("COUNT(*)", "most(i)")
    t_env = environment("batch")
    t_env.create_temporary_system_function(
        "most", udaf(lambda v: v.max(), result_type=DataTypes.INT(), func_type="pandas")
    )
    assert sorted(remaining(t_env.sql_query(query))) == [(1, 2), (2, 2), (3, 3)]


def test_variances_end_at_the_limits_of_their_type():
    query = "SELECT VAR_POP(x), VAR_SAMP(x) FROM (VALUES (4000000000000000000), (-4000000000000000000)) AS t (x)"
    assert remaining(environment("batch").sql_query(query)) == [(2**63 - 1, 2**63 - 1)]
