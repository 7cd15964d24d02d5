"""The sign of sums of zeros, as in Flink 2.3: SUM begins with the first value, AVG and OVER with 0."""

from __future__ import annotations

import pytest

from tests.table.environments import environment, remaining

ROWS = (
    "(VALUES (1, CAST('-0.0' AS DOUBLE)), (1, CAST(NULL AS DOUBLE)), (2, 0.0), (2, CAST('-0.0' AS DOUBLE))) AS t (k, x)"
)
SIGNS = {
    "SELECT k, SUM(x) FROM {} GROUP BY k": ["-0.0", "0.0"],
    "SELECT k, SUM(CAST(x AS FLOAT)) FROM {} GROUP BY k": ["-0.0", "0.0"],
    "SELECT k, SUM(DISTINCT x) FROM {} GROUP BY k": ["-0.0", "0.0"],
    "SELECT k, SUM(x) FROM {} GROUP BY GROUPING SETS ((k))": ["-0.0", "0.0"],
    "SELECT k, AVG(x) FROM {} GROUP BY k": ["0.0", "0.0"],
    "SELECT DISTINCT k, SUM(x) OVER (PARTITION BY k) FROM {}": ["0.0", "0.0"],
    "SELECT DISTINCT k, SUM(x) OVER (PARTITION BY k ORDER BY x ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM {}": [
        "0.0",
        "0.0",
    ],
}


CASES = [(query, mode) for query in SIGNS for mode in ("batch", "streaming") if mode == "batch" or "OVER" not in query]


@pytest.mark.parametrize(("query", "mode"), CASES)
def test_the_sign_of_a_sum_of_zeros(query: str, mode: str) -> None:
    rows = remaining(environment(mode).sql_query(query.format(ROWS)))
    assert [repr(value) for _, value in sorted(rows)] == SIGNS[query]
