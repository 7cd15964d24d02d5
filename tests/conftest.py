from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.loop_watchdog import LoopWatchdog

if TYPE_CHECKING:
    from tests.objects.server import Bucket, S3Server

# An example that is slow on a busy machine is not wrong. Continuous integration takes the same examples each time, so
# that what a change breaks is told apart from what chance has found.
settings.register_profile("firesteel", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("firesteel")

SLOW = {
    "benchmarks",
    "cli",
    "columns/test_joins.py",
    "columns/test_vectorised.py",
    "compat/test_alias.py",
    "compat/test_exposed_names.py",
    "coordinator/test_batch_sizes.py",
    "coordinator/test_restore.py",
    "datastream/connectors/test_jdbc.py",
    "datastream/connectors/test_jdbc_source.py",
    "datastream/test_joins.py",
    "deploy",
    "differential",
    "docs/test_options.py",
    "elasticsearch",
    "golden_programs",
    "kafka",
    "kinesis",
    "migration",
    "objects",
    "operators/test_sorted_input.py",
    "plan/test_plan.py",
    "rest/test_connections.py",
    "rest/test_dashboard.py",
    "rest/test_free_loop.py",
    "rest/test_openapi.py",
    "rest/test_task_manager_logs.py",
    "runtime/dispatcher/test_retention.py",
    "runtime/highavailability",
    "runtime/recovery",
    "runtime/taskexecutor/test_task_manager_process.py",
    "simulation",
    "table/test_against_sqlite.py",
    "table/test_faults.py",
    "table/test_jdbc_catalog.py",
    "table/test_kafka_tables.py",
    "table/test_queries.py",
    "table/test_row_kinds.py",
    "task/test_python_environment.py",
    "task/test_slot_tasks.py",
    "task/test_source_ends.py",
    "test_loop_watchdog.py",
    "test_scenarios.py",
    "testing/test_state_ttl_job.py",
    "typing",
}
"""Directories and modules of tests that take seconds each, or need servers: `make check` leaves them out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests; run the fast ones first, so that most mistakes show within a minute."""
    root = Path(__file__).parent
    for item in items:
        module = item.path.relative_to(root)
        if not SLOW.isdisjoint(str(part) for part in (module, *module.parents)):
            item.add_marker("slow")
    items.sort(key=lambda item: [item.get_closest_marker(name) is not None for name in ("spark", "slow")])


@pytest.fixture
def loop_watchdog() -> Iterator[LoopWatchdog]:
    """Fails the test if callbacks kept an event loop for more than 50 ms."""
    with LoopWatchdog().watching() as watchdog:
        yield watchdog
    assert watchdog.complaints() == []


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One S3 server for all tests."""
    from tests.objects.server import S3Server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with S3Server().running() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server) -> Bucket:
    """A bucket for a test."""
    return s3_server.bucket()
