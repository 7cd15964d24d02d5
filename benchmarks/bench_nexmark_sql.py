"""Events per second of the Nexmark queries in SQL over JSON files, on firesteel, PyFlink (Flink SQL) and Spark SQL.

python benchmarks/bench_nexmark_sql.py [--case q0 q1 ...] [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

from functools import cache
from typing import Any

import harness
import pipelines
from nexmark.sql import QUERIES, SOURCE, VIEWS, files


def runs(query: str) -> harness.Runs:
    """Flink's SQL, by firesteel or PyFlink."""
    from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

    @cache
    def environment(records: int) -> Any:
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", str(harness.PARALLELISM))
        for statement in (SOURCE.format(path=files(records)), *VIEWS):
            t_env.execute_sql(statement)
        return t_env

    def run(records: int) -> None:
        table = environment(records).sql_query(QUERIES[query][1])
        table.execute_insert(TableDescriptor.for_connector("blackhole").build()).wait()

    return harness.timed_runs(run)


def case(name: str) -> harness.Case:
    """The engines of a query."""
    title, text = QUERIES[name]
    return harness.Case(
        f"{name}: {title.lower()}",
        f"```sql\n{text}\n```",
        {
            "firesteel": harness.Engine("firesteel, STREAMING", lambda: runs(name)),
            "pyflink": harness.Engine("PyFlink (Flink SQL), STREAMING", lambda: runs(name)),
        },
    )


TEXT = """\
The queries of the Nexmark benchmark for Flink, over files of JSON lines into `blackhole`: of 50 events one is a new
person, three are new auctions and 46 are bids; 1,000 events per second of event time. firesteel and PyFlink run the
very same statements in STREAMING mode. Times are those of whole jobs on a warm session: the start of the job counts,
that of the JVM does not. Without `--pyflink-python` PyFlink is left out."""

if __name__ == "__main__":
    pipelines.pickle_by_value()
    harness.main("Nexmark in SQL", TEXT, {name: case(name) for name in QUERIES})
