from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.loop_watchdog import LoopWatchdog


@pytest.fixture
def loop_watchdog() -> Iterator[LoopWatchdog]:
    """Fails the test if callbacks kept an event loop for more than 50 ms."""
    with LoopWatchdog().watching() as watchdog:
        yield watchdog
    assert watchdog.complaints() == []
