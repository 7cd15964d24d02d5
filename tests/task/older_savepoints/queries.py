"""Queries with state of each operator: `python -m tests.task.older_savepoints.queries DIRECTORY` writes savepoints.

Those in `queries_lmdb` were written by the first release with state on disk in LMDB, those in `layouts` by the first
one that says what operators keep.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from firesteel.common import Row, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import Schema, StreamTableEnvironment
from firesteel.testing import run_local
from tests.task.older_savepoints.program import KEYS, begun

_LATEST = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY t DESC) AS place FROM s"
_TUMBLE = "TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '4' SECOND))"
_HOP = "TABLE(HOP(TABLE s, DESCRIPTOR(t), INTERVAL '1' SECOND, INTERVAL '3' SECOND))"

QUERIES = {
    "group": "SELECT k, COUNT(*), SUM(v), AVG(v), MIN(txt), MAX(v) FROM s GROUP BY k",
    "distinct": "SELECT k, COUNT(DISTINCT v), COUNT(DISTINCT txt) FILTER (WHERE v > 9) FROM s GROUP BY k",
    "retracted": "SELECT n, COUNT(*), MAX(k) FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) GROUP BY n",
    "listagg": "SELECT k, LISTAGG(txt), FIRST_VALUE(v), LAST_VALUE(v) FROM s GROUP BY k",
    "tumble": f"SELECT k, window_end, SUM(v) FROM {_TUMBLE} GROUP BY k, window_start, window_end",
    "hop": f"SELECT window_end, COUNT(*) FROM {_HOP} GROUP BY window_start, window_end",
    "session": "SELECT k, SESSION_START(t, INTERVAL '1' SECOND), COUNT(*), MAX(txt) FROM s WHERE v % 4 < 2 "
    "GROUP BY k, SESSION(t, INTERVAL '1' SECOND)",
    "over": "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM s",
    "lag": "SELECT k, v, LAG(v, 2) OVER (PARTITION BY k ORDER BY t) FROM s",
    "top": "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY txt) AS place FROM s) "
    "WHERE place <= 3",
    "latest": f"SELECT k, v FROM (SELECT *, {_LATEST}) WHERE place = 1",
    "join": "SELECT a.k, a.v, b.v FROM s AS a JOIN s AS b ON a.k = b.k AND a.v = b.v + 14",
    "left join": "SELECT a.v, b.n FROM s AS a "
    "LEFT JOIN (SELECT v % 30 AS r, COUNT(*) AS n FROM s GROUP BY v % 30) AS b ON a.v = b.r",
    "semi join": "SELECT v FROM s WHERE v IN (SELECT v * 2 FROM s)",
    "interval join": "SELECT a.v, b.v FROM s AS a JOIN s AS b ON a.k = b.k "
    "AND a.t BETWEEN b.t - INTERVAL '1' SECOND AND b.t",
    "pattern": "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.v AS x, LAST(B.v) AS y "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{2}) DEFINE B AS B.v > A.v)",
}


def environment(
    query: str, backend: str, restore: Path | None = None, prunes: bool = True
) -> StreamExecutionEnvironment:
    """Return a job that prints the changes of a query; releases before `layouts` pruned no columns of a Top-N."""
    options = {"state.backend.type": backend, "state.backend.rocksdb.memory.fixed-per-slot": "1kb"}
    env, numbers = begun(restore, options)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.optimizer.prune-top-n-enabled", str(prunes))
    kind = Types.ROW_NAMED(["k", "v", "txt"], [Types.LONG(), Types.LONG(), Types.STRING()])
    rows = numbers.map(lambda n: Row(n % KEYS, n, f"t{n * 37 % 100:02}"), kind).uid("rows")
    schema = Schema.new_builder().column_by_expression("t", "TO_TIMESTAMP_LTZ(v * 100, 3)").watermark("t", "t").build()
    t_env.create_temporary_view("s", t_env.from_data_stream(rows, schema))
    changes: Any = t_env.to_changelog_stream(t_env.sql_query(query))
    changes.map(lambda row: f"{row.get_row_kind()} {row}", Types.STRING()).uid("text").print().uid("print")
    return env


def main(directory: Path) -> None:
    """Run the first half of each job, and write its savepoint and the lines that it printed."""
    for name, query in QUERIES.items():
        with tempfile.TemporaryDirectory() as written:
            result = run_local(environment(query, "rocksdb"), batch_elements=5, batches=4, savepoint=Path(written))
            [made] = Path(written).iterdir()
            shutil.move(made, directory / name)
        (directory / name / "printed.txt").write_text("".join(f"{line}\n" for line in result.lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
