from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.loop_watchdog import LoopWatchdog

if TYPE_CHECKING:
    from tests.objects.server import Bucket, S3Server


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
