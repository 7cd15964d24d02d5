from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.loop_watchdog import LoopWatchdog
from tests.rest.rest_cluster import Rest, serving


@pytest.fixture(autouse=True)
def _loop_is_free(loop_watchdog: LoopWatchdog) -> None:
    """No callback may keep the loop from others."""


@pytest.fixture
async def make_rest(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts clusters with a REST server each."""
    async with AsyncExitStack() as started:

        async def make(**options: str) -> Rest:
            return await started.enter_async_context(serving(tmp_path, **options))

        yield make


@pytest.fixture
async def rest(make_rest: Callable[..., Any]) -> Rest:
    """One of them, with the defaults."""
    return await make_rest()
