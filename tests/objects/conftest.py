from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.objects.server import Bucket, S3Server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with S3Server().running() as server:
        yield server


@pytest.fixture
def bucket(s3_server: S3Server) -> Bucket:
    return s3_server.bucket()
