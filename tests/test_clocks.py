"""The wall clock tells dates. Durations, timeouts and deadlines come from clocks that nobody can set.

Processing time leaves the wall clock by milliseconds in a process that runs for minutes: a test that compares the two
fails once in a while.
"""

from __future__ import annotations

import ast
from pathlib import Path

import firesteel

SOURCE = Path(firesteel.__file__).parent
WALL = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("date", "today")}

DATES = {
    "client/rest_connection.py": "the date of a signed request, which the server compares with its own clock",
    "cli/result_screen.py": "the time at which a screen was refreshed, for its user",
    "columns/evaluation_context.py": "CURRENT_TIMESTAMP and its like",
    "coordinator/checkpoint_files.py": "the date of a checkpoint, for its metadata and the REST API",
    "coordinator/checkpoints.py": "the date of a restore, for the REST API",
    "gateway/session_context.py": "the date at which a job was started, for SHOW JOBS",
    "operators/chain/clock.py": "the date at which processing time begins",
    "connectors/kinesis/splits.py": "the date from which a stream is read, an option of the user's",
    "rest/cluster.py": "dates in answers of the REST API",
    "rest/proofs.py": "the date of a signed request: those of other dates are refused",
    "runtime/clock.py": "the dates of events, beside the monotonic time for durations",
    "spark/class_archive.py": "the ages of files, whose dates are of the wall clock; both signs count",
    "state_processor/savepoint_writer.py": "the date of a savepoint",
    "connectors/datagen/table.py": "a seed, and the date at which a source began, before its process did",
    "connectors/datagen/fields.py": "random dates before the present",
    "connectors/delta/writer.py": "the date of a data file, in the log of its table",
    "connectors/elasticsearch/index_names.py": "the date in the name of an index",
    "connectors/faker/expressions.py": "random dates before and after the present",
    "table/planner/translate/planner.py": "the date of a query, for its constants",
}
"""Files that read the wall clock, and what for. A duration measured by it is wrong once somebody sets it."""

DATES_OF_TESTS = {
    "cli/cluster_soak.py": "the date of a run, for its page",
    "kafka/test_kafka_source.py": "the dates of records, which a broker of this machine sets",
    "kinesis/test_kinesis_consumer.py": "the dates of records, which a server of this machine sets",
    "kinesis/test_kinesis_tables.py": "the dates of records, to ten minutes",
    "operators/test_clock.py": "the date at which processing time begins, to a minute",
    "rest/test_proofs.py": "the dates of signed requests, to ten seconds",
    "simulation/data_plane/simulation.py": "the dates of checkpoints, which nothing compares",
    "spark/test_class_archive.py": "the ages of files, which the test sets",
    "table/test_faker_tables.py": "random dates before the present, to ten minutes",
    "table/test_inference.py": "any date",
    "table/test_postgres_cdc.py": "this year",
    "table/test_time_zones.py": "the date of a query, to five minutes",
}
"""Tests that read the wall clock, and what they compare it with."""


def wall_clocks(path: Path) -> bool:
    """Return whether a file refers to the wall clock."""
    names = (
        (node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", None), node.attr)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    )
    return any(name in WALL for name in names)


def readers_of_wall_clocks(folder: Path) -> set[str]:
    """Return the files that read the wall clock, by their paths within a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if wall_clocks(path)}


def test_the_wall_clock_is_read_for_dates_only() -> None:
    assert readers_of_wall_clocks(SOURCE) == set(DATES)
    assert readers_of_wall_clocks(Path(__file__).parent) == set(DATES_OF_TESTS)


def test_the_wall_clock_is_found_however_it_is_named(tmp_path: Path) -> None:
    for number, (text, expected) in enumerate(
        [("import time\ntime.time_ns", True), ("datetime.datetime.now(UTC)", True), ("time.monotonic()", False)]
    ):
        path = tmp_path / f"{number}.py"
        path.write_text(text)
        assert wall_clocks(path) == expected
