"""A SQL gateway in the background, as its users start and stop it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.session import RUN_DIRECTORY, JobManager, firesteel


@contextmanager
def gateway_of(cluster: JobManager, directory: Path) -> Iterator[str]:
    """Start a gateway in front of a cluster and yield its URL."""
    port = ("-D", "sql-gateway.endpoint.rest.port=0", "-D", "parallelism.default=1")
    said = firesteel("sql-gateway", "start", "-m", cluster.address, *port, "--output", "json").stdout
    yield json.loads(said)["address"]
    done = firesteel("sql-gateway", "stop", **{RUN_DIRECTORY: str(directory)})
    assert "was stopped" in done.stdout
