from __future__ import annotations

import logging
import os
from collections.abc import Iterator
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

# Tests kill processes, not machines: what a process wrote outlives it without a sync, which takes milliseconds each.
os.fsync = lambda descriptor: None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of continuous integration that splits the tests over machines."""
    parser.addoption("--shard", default="1/1", help="run each N-th module of tests, beginning with the K-th: K/N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard; run the fast ones first, so that most mistakes show within a minute."""
    number, shards = map(int, config.getoption("shard").split("/"))
    modules = sorted({item.path for item in items})[number - 1 :: shards]
    config.hook.pytest_deselected(items=[item for item in items if item.path not in modules])
    items[:] = [item for item in items if item.path in modules]
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
