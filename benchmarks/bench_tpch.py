"""Seconds of TPC-H's queries over Parquet files, as batch jobs of firesteel and of Spark SQL.

python benchmarks/bench_tpch.py [--orders N] [--runs K] [--query N ...]

1,500,000 orders are scale factor 1. The tables have the columns that the queries use.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import harness

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.table.environments import environment
from tests.table.parquet_tables import declare, write_halves
from tests.table.tpch.data import tables
from tests.table.tpch.queries import QUERIES


def files(orders: int) -> Path:
    """Return a directory with the tables; created once per machine."""
    path = Path(tempfile.gettempdir()) / f"bench_tpch_{orders}"
    if not path.is_dir():
        directory = Path(tempfile.mkdtemp(dir=path.parent))
        for name, table in tables(orders).items():
            write_halves(table, directory / name)
        directory.rename(path)
    return path


def seconds(engine: str, orders: int, runs: int, numbers: list[int]) -> dict[str, float]:
    """Return the median of the runs of each query after one to warm up."""
    run = (_firesteel if engine == "firesteel" else _spark)(files(orders))
    found = {}
    for number in numbers:
        run(QUERIES[number])
        found[str(number)] = statistics.median(_timed(run, QUERIES[number]) for _ in range(runs))
        print(number, found[str(number)], file=sys.stderr, flush=True)
    return found


def _timed(run: Callable[[str], object], query: str) -> float:
    begin = time.perf_counter()
    run(query)
    return time.perf_counter() - begin


def _firesteel(directory: Path) -> Callable[[str], object]:
    t_env = environment("batch")
    t_env.get_config().set("parallelism.default", str(harness.PARALLELISM))
    declare(t_env, directory)

    def run(query: str) -> list[object]:
        with t_env.sql_query(query).execute().collect() as rows:
            return list(rows)

    return run


def _spark(directory: Path) -> Callable[[str], object]:
    from baselines import session

    spark = session({"spark.driver.memory": "4g"})  # for the tables that it broadcasts
    for path in directory.iterdir():
        spark.read.parquet(str(path)).createOrReplaceTempView(path.name)
    return lambda query: spark.sql(query).collect()


def main() -> None:
    """Compare both engines, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--query", type=int, nargs="+", choices=list(QUERIES), default=list(QUERIES))
    options = parser.parse_args()
    ours, theirs = (
        harness.apart("seconds", engine, options.orders, options.runs, options.query)
        for engine in ("firesteel", "spark")
    )
    lines = harness.header("query", "firesteel, s", "Spark SQL, s", "times as long")
    ratios = {number: ours[number] / theirs[number] for number in ours}
    for number, ratio in ratios.items():
        lines.append(harness.row(f"Q{number}", f"{ours[number]:.2f}", f"{theirs[number]:.2f}", f"{ratio:.2f}"))
    mean = math.exp(statistics.mean(map(math.log, ratios.values())))
    conditions = f"{options.orders:,} orders, median of {options.runs} run(s) after a warm-up"
    text = f"{conditions}. Geometric mean: {mean:.2f} times as long."
    title = f"TPC-H {options.orders}"
    harness.write_report(title, "\n".join([f"# {title}", "", f"{harness.environment_line()}. {text}", "", *lines, ""]))


if __name__ == "__main__" and not harness.answer_call({"seconds": seconds}):
    main()
