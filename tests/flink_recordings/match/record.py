"""Records what Flink finds for random patterns. It runs with PyFlink's Python.

A row may be one of several variables, so patterns have several ways through the same rows.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROWS = 120
LOOPS = ("*", "+", "{1,2}", "{2,3}", "{2,}", "{0,2}")
QUANTIFIERS = ("", "", "?", *LOOPS, "{2}", "*?", "+?", "{1,2}?", "{2,3}?")
CONDITIONS = {
    "A": ("MOD(A.x, 2) = 1", "A.x > 2", "A.x < 6"),
    "B": ("MOD(B.x / 2, 2) = 1", "B.x >= LAST(B.x, 1) OR LAST(B.x, 1) IS NULL", "SUM(B.x) < 9"),
    "C": ("MOD(C.x / 4, 2) = 1", "C.x > 3"),
    "D": ("D.x = 0 OR D.x > 5", "D.x > 1"),
}
MEASURES = "COUNT({0}.id) AS c{0}, FIRST({0}.id) AS f{0}, LAST({0}.id) AS l{0}"
AFTER = ("PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST {}", "TO LAST {}")


def numbers() -> list[int]:
    """The column `x` of the rows."""
    chosen = random.Random(3)
    return [chosen.choice((1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 0)) for _ in range(ROWS)]


def queries(count: int) -> Iterator[str]:
    chosen = random.Random(5)
    for _ in range(count):
        names = chosen.sample("ABCD", chosen.choice((2, 3, 3, 4)))
        parts = [name + chosen.choice(QUANTIFIERS) for name in names]
        if parts[-1][1:] in LOOPS:
            parts[-1] = names[-1]
        defined = ", ".join(f"{name} AS {chosen.choice(CONDITIONS[name])}" for name in sorted(names))
        after = chosen.choice(AFTER).format(names[-1])
        within = chosen.choice(("", "", " WITHIN INTERVAL '4' SECOND"))
        measures = ", ".join(MEASURES.format(name) for name in sorted(names))
        yield (
            f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {measures} ONE ROW PER MATCH "
            f"AFTER MATCH SKIP {after} PATTERN ({' '.join(parts)}){within} DEFINE {defined})"
        )


def declare(t_env: Any, directory: Path) -> None:
    """Write the rows, and declare their table."""
    path = directory / "rows.csv"
    lines = (f"{i},{x},2026-01-01 00:{i // 60:02d}:{i % 60:02d}.000\n" for i, x in enumerate(numbers()))
    path.write_text("".join(lines))
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        "CREATE TABLE t (id INT, x INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )


def found(t_env: Any, query: str) -> list[list[int | None]] | str:
    """Return the matches in their order, or the name of the error."""
    try:
        with t_env.execute_sql(query).collect() as rows:
            return [list(row) for row in rows]
    except Exception as error:
        return next((line for line in str(error).splitlines() if "Optional pattern" in line), "refused")


def main() -> None:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with tempfile.TemporaryDirectory() as directory:
        declare(t_env, Path(directory))
        recorded = {}
        for query in queries(150):
            recorded[query] = found(t_env, query)
            print(
                len(recorded), recorded[query] if isinstance(recorded[query], str) else len(recorded[query]), flush=True
            )
    lines = (f" {json.dumps(query)}: {json.dumps(rows)}" for query, rows in recorded.items())
    Path(__file__).with_name("recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
