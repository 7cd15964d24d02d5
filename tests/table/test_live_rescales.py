"""Random queries whose job gets another parallelism while it runs, twice, have the results of DuckDB."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from click.testing import CliRunner

from firesteel.cli.rescale import rescale
from firesteel.client.job_client import EmbeddedJobClient
from firesteel.client.progress import progress_reporter, set_progress_reporter
from firesteel.client.progress_reporter import RestartLines
from firesteel.common import Configuration, JobStatus
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.runtime.dispatcher.job_submission import submittable
from firesteel.table import StreamTableEnvironment
from tests.table.environments import MINI_BATCH
from tests.table.grown_tables import PARTS, let_grow, write_rows
from tests.table.test_against_duckdb import PER_TABLES, STATES, folded, in_duckdb, plain, view_of
from tests.table.typed_queries import TABLES, TypedQuery, declare_sources, random_tables
from tests.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

SLOTS = 3
OPTIONS = {
    "execution.checkpointing.interval": "1 h",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 ms",
    "rest.port": "0",
    "taskmanager.numberOfTaskSlots": str(SLOTS),
}


class Address(RestartLines):
    """Keeps where the REST API of the last job is."""

    def serves(self, address):
        self.last = address


@pytest.fixture
def address():
    before, reporter = progress_reporter(), Address()
    set_progress_reporter(reporter)
    yield reporter
    set_progress_reporter(before)


def test_random_queries_give_what_duckdb_gives_while_their_job_is_rescaled(tmp_path, address):
    seed = os.environ.get("FIRESTEEL_RANDOM_SEED", "1")
    count = int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", 2))
    for number in range(max(1, count // PER_TABLES)):
        tables = random_tables(random.Random(f"{seed} live {number}"))
        database = in_duckdb(tables, "live")
        for place in range(min(count, PER_TABLES)):
            one = f"{seed} live {number} {place}"
            query, other = (TypedQuery(one, dialect, "streaming").query() for dialect in ("flink", "duckdb"))
            expected = Counter(map(plain, database.execute(other).fetchall()))
            directory = tmp_path / f"{number}-{place}"
            directory.mkdir()
            assert folded(changes(tables, query, random.Random(one), directory, address)) == expected, (one, query)
        database.close()


def changes(tables, query, choose, directory, address):
    """Return the changes of a query whose job has another parallelism for each part of its tables."""
    first, *others = steps_of_parallelism(choose)
    collect_id, job = program(tables, query, choose, directory, first)
    sources = [table for table in TABLES if any(f"{table}_rows" in vertex.name for vertex in job.vertices)]
    client = EmbeddedJobClient(job, serves_rest=True)
    try:
        wait_for(lambda: client.get_job_status().result() is not JobStatus.CREATED)
        let_grow(directory, sources)
        for parallelism in others if sources else ():
            arguments = ["-m", address.last, job.job_id, str(parallelism)]
            done = CliRunner().invoke(rescale, arguments, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            let_grow(directory, sources)
        return list(client.collected(collect_id))
    finally:
        client.cancel_and_wait()


def steps_of_parallelism(choose):
    """Return a parallelism for each part, of which each differs from the one before."""
    found = [choose.randrange(1, SLOTS + 1)]
    while len(found) < PARTS:
        found.append(choose.choice([number for number in range(1, SLOTS + 1) if number != found[-1]]))
    return found


def program(tables, query, choose, directory, parallelism):
    """Return the id of the collecting sink, and the job."""
    options = {**OPTIONS, **choose.choice([{}, MINI_BATCH]), "state.backend.type": choose.choice(STATES)}
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    t_env = StreamTableEnvironment.create(env)
    declare_sources(t_env, directory)
    for table, rows in tables.items():
        write_rows(directory, table, rows)
        columns = ", ".join(f"{column} {kind}" for column, kind in {"id": "INT", **TABLES[table]}.items())
        more = f"'options.directory' = '{directory}', 'options.table' = '{table}'"
        source = f"'connector' = 'python', 'source' = 'tests.table.grown_tables:grown_rows', {more}"
        t_env.execute_sql(f"CREATE TEMPORARY TABLE {table}_rows ({columns}) WITH ({source})")
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {table} AS {view_of('live', table)}")
    collect_id = t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return collect_id, submittable(env.get_stream_graph(), options)
