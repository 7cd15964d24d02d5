from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.session import JobManager


@pytest.fixture
def jobmanagers(tmp_path: Path) -> Iterator[Callable[..., JobManager]]:
    started: list[JobManager] = []

    def start(**options: str) -> JobManager:
        started.append(JobManager(tmp_path, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)
