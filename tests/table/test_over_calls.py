"""Arguments of functions that only OVER has, as Flink 2.3 takes or refuses them."""

from __future__ import annotations

import pytest

from firesteel.common.table_errors import ValidationException
from firesteel.errors import JobExecutionError
from firesteel.table import DataTypes
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
