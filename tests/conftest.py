from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.loop_watchdog import LoopWatchdog
from tests.seeds import examples

if TYPE_CHECKING:
    from tests.objects.server import Bucket, S3Server

# An example that is slow on a busy machine is not wrong. Continuous integration takes the same examples each time, so
# that what a change breaks is told apart from what chance has found.
settings.register_profile("firesteel", deadline=None, max_examples=examples(100), derandomize="CI" in os.environ)
settings.load_profile("firesteel")

# Tests kill processes, not machines: what a process wrote outlives it without a sync, which takes milliseconds each.
os.fsync = lambda descriptor: None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of continuous integration that splits the tests over machines."""
    parser.addoption("--shard", default="1/1", help="run each N-th module of tests, beginning with the K-th: K/N")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave modules without tests for Spark unread if only those run: to import all modules takes a worker a minute."""
    if config.option.markexpr != "spark" or collection_path.suffix != ".py":
        return None
    return not may_need_spark(collection_path) or None


def may_need_spark(path: Path) -> bool:
    """Return whether the text of a module has the mark; a module that gets it otherwise is refused."""
    return "mark.spark" in path.read_text()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard; run the fast ones first, so that most mistakes show within a minute."""
    number, shards = map(int, config.getoption("shard").split("/"))
    if shards > 1:
        modules = set(sorted({item.path for item in items})[number - 1 :: shards])
        config.hook.pytest_deselected(items=[item for item in items if item.path not in modules])
        items[:] = [item for item in items if item.path in modules]
    for path in {item.path for item in items if item.get_closest_marker("spark") is not None}:
        assert may_need_spark(path), f"{path} has tests with the mark `spark`, but its text does not say mark.spark"
    items.sort(key=lambda item: [item.get_closest_marker(name) is not None for name in ("spark", "slow")])


@pytest.fixture
def loop_watchdog() -> Iterator[LoopWatchdog]:
    """Fails the test if callbacks kept an event loop for more than 50 ms."""
    with LoopWatchdog().watching() as watchdog:
        yield watchdog
    assert watchdog.complaints() == []


@pytest.fixture
def without_spark() -> Iterator[None]:
    """Let jobs run in this process with the code of slots, as it starts them in a tenth of Spark's time."""
    from tests.end_to_end.local_executor import local_execution

    with local_execution():
        yield


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
