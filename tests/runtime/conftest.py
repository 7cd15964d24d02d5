from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from firesteel.runtime.clock import ManualClock
from tests.loop_watchdog import LoopWatchdog
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer
from tests.runtime.simulated import Cluster


@pytest.fixture(autouse=True)
def _loop_is_free(loop_watchdog: LoopWatchdog) -> None:
    """No callback may keep the loop from others."""


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock()


@pytest.fixture
async def cluster(clock: ManualClock) -> AsyncIterator[Cluster]:
    """A cluster with one TaskExecutor, `tm`, of two slots."""
    cluster = Cluster(clock)
    await cluster.start(tm=2)
    yield cluster
    await cluster.stop()


@pytest.fixture(scope="session")
def zookeeper_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """One real server for all tests; each test has a path of its own."""
    server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.kill()
